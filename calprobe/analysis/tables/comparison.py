"""The tables of a comparison, in two forms: a row a number for terminals and pages, a row a run for papers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from calprobe.analysis.compare_numbers import Comparison, Contrast, PairComparison, Scope
from calprobe.analysis.prose import (
    agreement_shares,
    compared_templates,
    comparison_notes,
    heading,
    pair_notes,
    scope_name,
    scope_title,
    score_notes,
    size,
    unpaired_notes,
)
from calprobe.analysis.run_names import short_names
from calprobe.analysis.tables.labels import about
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.messages import counted
from calprobe.metrics import Metric

Key = tuple[str | None, str]  # estimator and metric of a contrast
ACCURACY: Key = (None, "accuracy")
ACCURACY_NAMES = {"bear_score": "BEAR score", "base": "accuracy of base"}
P_VALUES = {"p": "p", "p_holm": "Holm p"}


def pair_tables(comparison: Comparison) -> tuple[Table, ...]:
    """A table for each pair, as on a terminal: a row a number, with columns for both runs, difference and p-values."""
    return tuple(_pair_table(pair, comparison) for pair in comparison.pairs)


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Two tables in the form of the paper's Tables 2 and 5: of all relations, and of the domains if there are any.

    A pair has four rows: both runs, their difference, and its p-value corrected for all of the comparison's.
    """
    everything = [(pair, pair.everything) for pair in comparison.pairs]
    domains = [(pair, scope) for pair in comparison.pairs for scope in pair.domains]
    tables = [_table(comparison, everything, "Differences between runs.", "differences")]
    if domains:
        tables.append(_table(comparison, domains, "Differences between runs, by domain.", "differences-by-domain"))
    return tuple(tables)


def quantities(contrast: Contrast) -> dict[str, Cell]:
    """What a table says of one number of two runs."""
    return {
        "first": contrast.first,
        "second": contrast.second,
        "difference": contrast.difference,
        "p": contrast.difference.p_value,
        "p_holm": contrast.p_holm,
    }


# A row a number.


def _pair_table(pair: PairComparison, comparison: Comparison) -> Table:
    titles = {metric.name: metric.title for metric in comparison.metrics}
    contrasts = [contrast for scope in pair.scopes for contrast in scope.contrasts]
    named = {"first": "A", "second": "B", "difference": "A - B", **(P_VALUES if _have_p(contrasts) else {})}
    return Table(
        caption=f"Accuracy, Brier score and ACE of {pair.first} (A) and {pair.second} (B)",
        label="differences",
        stub="number",
        columns=tuple(
            Column(title, "smaller" if name in P_VALUES else None, keys={"quantity": name})
            for name, title in named.items()
        ),
        rows=tuple(
            Row(
                label=_number_name(contrast, pair, titles),
                cells=tuple(_defined(quantities(contrast)[name], name) for name in named),
                group=scope_title(scope, pair),
                keys={"metric": "bear_score" if _is_bear_score(contrast, pair) else contrast.metric},
                significant=contrast.significant,
            )
            for scope in pair.scopes
            for contrast in scope.contrasts
        ),
        heading=(*(line for run in comparison.runs for line in heading(run)), f"A {pair.first}, B {pair.second}"),
        lead=tuple(pair_notes(pair)),
        notes=tuple(
            f"{scope_name(scope)}: {agreement_shares(scope.agreement)}"
            for scope in pair.scopes
            if scope.agreement is not None
        ),
        general=(*unpaired_notes(comparison), *comparison_notes(comparison)),
        keys={"first": pair.first, "second": pair.second},
        best_within=None,
    )


def _is_bear_score(contrast: Contrast, pair: PairComparison) -> bool:
    return contrast.estimator is None and pair.accuracy_of == "bear_score"


def _have_p(contrasts: Iterable[Contrast]) -> bool:
    return any(not math.isnan(contrast.difference.p_value) for contrast in contrasts)


def _defined(cell: Cell, name: str) -> Cell:
    return None if name in P_VALUES and isinstance(cell, float) and math.isnan(cell) else cell


def _number_name(contrast: Contrast, pair: PairComparison, titles: dict[str, str]) -> str:
    if contrast.estimator is None:
        return ACCURACY_NAMES[pair.accuracy_of or "base"]
    return f"{contrast.estimator} {titles[contrast.metric]}"


# A row a run.


def _table(comparison: Comparison, scopes: list[tuple[PairComparison, Scope]], caption: str, label: str) -> Table:
    found = {_key(contrast) for _, scope in scopes for contrast in scope.contrasts}
    order = dict.fromkeys(_key(contrast) for _, scope in scopes for contrast in scope.contrasts)
    keys = [*([ACCURACY] if ACCURACY in found else []), *(key for key in order if key != ACCURACY)]
    metrics = {metric.name: metric for metric in comparison.metrics}
    names = short_names([run.label for run in comparison.runs])
    return Table(
        caption=caption,
        label=label,
        stub="run",
        columns=tuple(_column(key, comparison, metrics) for key in keys),
        rows=tuple(
            replace(row, about=_about(pair, comparison))
            for pair, scope in scopes
            for row in _rows(pair, scope, keys, names)
        ),
        heading=tuple(line for run in comparison.runs for line in heading(run)),
        notes=tuple(_notes(comparison)),
        best_within="group",
        best_of=" of the two runs, significant or not",
    )


def _key(contrast: Contrast) -> Key:
    return contrast.estimator, contrast.metric


def _column(key: Key, comparison: Comparison, metrics: dict[str, Metric]) -> Column:
    estimator, metric = key
    if estimator is None:
        of_all = {pair.accuracy_of for pair in comparison.pairs}
        title = "BEAR score" if of_all == {"bear_score"} else "accuracy"
        return Column(title, "larger", keys={"metric": metric})
    keys = {"estimator": estimator, "metric": metric}
    return Column(metrics[metric].title, metrics[metric].better, heading=estimator, keys=keys)


def _rows(pair: PairComparison, scope: Scope, keys: list[Key], names: dict[str, str]) -> Iterator[Row]:
    first, second = names[pair.first], names[pair.second]
    contrasts = {_key(contrast): quantities(contrast) for contrast in scope.contrasts}
    pair_keys = {"first": pair.first, "second": pair.second, "domain": scope.domain or ""}
    labels = {"first": first, "second": second, "difference": "difference"}
    labels |= P_VALUES if _have_p(scope.contrasts) else {}
    for quantity, label in labels.items():
        yield Row(
            label=label,
            cells=tuple(contrasts[key][quantity] if key in contrasts else None for key in keys),
            group=f"{first} and {second}, {scope_name(scope)}: {size(scope)}",
            keys={**pair_keys, "quantity": quantity},
            ranked=quantity in ("first", "second"),
        )


def _about(pair: PairComparison, comparison: Comparison) -> dict[str, str]:
    """How both runs of a pair were made."""
    made = {run.label: about(run) for run in comparison.runs}
    sides = {"first": made[pair.first], "second": made[pair.second]}
    return {f"{side}_{name}": text for side, found in sides.items() for name, text in found.items()}


def _notes(comparison: Comparison) -> Iterator[str]:
    scores = comparison.options.scores
    for pair in comparison.pairs:
        yield from (f"{pair.first} and {pair.second}: {note}." for note in pair_notes(pair))
    yield from unpaired_notes(comparison)
    yield compared_templates(comparison)
    yield from score_notes(scores.reduction, scores)
    if scores.resampling.n_resamples:
        tests = counted(comparison.tests, "p-value")
        yield (
            "Difference: the first run minus the second, on the same resamples, with a two-sided p-value of no "
            f"difference; Holm p: corrected for {tests}."
        )
