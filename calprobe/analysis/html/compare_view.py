"""`calprobe compare` as a page: a table of differences for each pair."""

from __future__ import annotations

import math
from collections.abc import Iterator

from calprobe.analysis.compare_results import Comparison, Contrast, PairComparison, Scope
from calprobe.analysis.compare_terminal import ACCURACY_NAMES, agreement_shares, comparison_notes, pair_notes
from calprobe.analysis.figures import interval, number, signed, signed_interval
from calprobe.analysis.html import definitions
from calprobe.analysis.html.page import render
from calprobe.analysis.html.run_view import manifests, options_made, page_title, run_head
from calprobe.analysis.html.views import (
    UNDEFINED,
    CellView,
    ColumnView,
    Definition,
    GroupView,
    PageView,
    PairView,
    RowView,
    TableView,
)
from calprobe.metrics import Estimate
from calprobe.wording import counted

DIFFERENCE = Definition("difference", "A - B", "the first run's value less the second's, on the same resamples")
P_VALUE = Definition("p", "p", "two-sided, of no difference, from the paired bootstrap")
HOLM = Definition("holm", "Holm p", "p corrected for all p-values of the comparison; * below 0.05", "Holm 1979")
COLUMNS = (
    ColumnView("number", text=True),
    ColumnView("A"),
    ColumnView("B"),
    ColumnView("A - B", DIFFERENCE.key),
    ColumnView("p", P_VALUE.key, better="smaller"),
    ColumnView("Holm p", HOLM.key, better="smaller"),
)
SECTIONS = (("runs", "Runs"), ("pairs", "Differences"), ("definitions", "Definitions"), ("made", "How it was made"))


def comparison_page(comparison: Comparison) -> str:
    """The whole page as HTML."""
    titles = {metric.name: metric.title for metric in comparison.metrics}
    page = PageView(
        title=page_title(comparison.runs),
        subtitle="Differences between runs on the same instances. Ranges are 95\u00a0% intervals.",
        contents=SECTIONS,
        runs=tuple(run_head(run, place) for place, run in enumerate(comparison.runs)),
        notes=(
            *(f"Unpaired: {label}, {reason}." for label, reason in comparison.unpaired.items()),
            *comparison_notes(comparison),
        ),
        definitions=(
            *(definitions.of_metric(metric) for metric in comparison.metrics),
            definitions.BEAR_SCORE,
            DIFFERENCE,
            P_VALUE,
            HOLM,
        ),
        made=options_made(comparison.options.scores),
        manifests=manifests(comparison.runs),
        pairs=tuple(_pair(pair, titles) for pair in comparison.pairs),
    )
    return render("compare.html.j2", page)


def _pair(pair: PairComparison, titles: dict[str, str]) -> PairView:
    groups = tuple(GroupView(_title(scope, pair), tuple(_rows(scope, pair, titles))) for scope in pair.scopes)
    agreements = (
        f"{scope.domain or 'all relations'}: {agreement_shares(scope.agreement)}"
        for scope in pair.scopes
        if scope.agreement is not None
    )
    caption = f"Accuracy, Brier score and ACE of {pair.first} (A) and {pair.second} (B)"
    table = TableView(caption, COLUMNS, groups, tuple(agreements), tell_group=True)
    return PairView(pair.first, pair.second, tuple(pair_notes(pair)), table)


def _title(scope: Scope, pair: PairComparison) -> str:
    size = f"{counted(scope.instances, 'instance')} in {counted(scope.relations, 'relation')}"
    nearest = ", nearest accuracies" if scope.domain is not None and scope.domain == pair.nearest_domain else ""
    return f"{scope.domain or 'all relations'}{nearest}: {size}"


def _rows(scope: Scope, pair: PairComparison, titles: dict[str, str]) -> Iterator[RowView]:
    for contrast in scope.contrasts:
        if contrast.estimator is None:
            name = ACCURACY_NAMES[pair.accuracy_of or "base"]
            key = definitions.BEAR_SCORE.key if pair.accuracy_of == "bear_score" else "m-accuracy"
        else:
            name, key = f"{contrast.estimator} {titles[contrast.metric]}", f"m-{contrast.metric}"
        yield RowView(name, tuple(_cells(contrast)), definition=key)


def _cells(contrast: Contrast) -> Iterator[CellView]:
    difference = contrast.difference
    yield _estimate(contrast.first)
    yield _estimate(contrast.second)
    defined = not math.isnan(difference.value)
    yield CellView(signed(difference.value), signed_interval(difference)) if defined else CellView(UNDEFINED)
    yield _p(difference.p_value)
    found = _p(contrast.p_holm)
    yield CellView(f"{found.text} *") if contrast.significant else found


def _estimate(estimate: Estimate) -> CellView:
    return CellView(UNDEFINED) if math.isnan(estimate.value) else CellView(number(estimate.value), interval(estimate))


def _p(value: float) -> CellView:
    return CellView(UNDEFINED if math.isnan(value) else number(value))
