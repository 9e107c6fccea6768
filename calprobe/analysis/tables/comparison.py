"""The tables of a comparison, in the form of the paper's Tables 2 and 5: over all relations, and over domains."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from calprobe.analysis.compare_results import Comparison, Contrast, PairComparison, Scope
from calprobe.analysis.compare_terminal import pair_notes
from calprobe.analysis.figures import ranges
from calprobe.analysis.tables.state import about, best_note, heading_lines, short_names
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.analysis.terminal import score_notes
from calprobe.metrics import Estimate, Metric
from calprobe.wording import counted

Key = tuple[str | None, str]  # estimator and metric of a contrast
ACCURACY: Key = (None, "accuracy")


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Two tables: of all relations, and of the domains where there are any.

    A pair has four rows: both runs, their difference, and its p-value corrected for all of the comparison's.
    """
    everything = [(pair, pair.everything) for pair in comparison.pairs]
    domains = [(pair, scope) for pair in comparison.pairs for scope in pair.domains]
    tables = [_table(comparison, everything, "Differences between runs.", "differences")]
    if domains:
        tables.append(_table(comparison, domains, "Differences between runs, by domain.", "differences-by-domain"))
    return tuple(tables)


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
        heading=tuple(line for run in comparison.runs for line in heading_lines(run)),
        notes=tuple(_notes(comparison)),
        best_within="group",
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
    size = f"{counted(scope.instances, 'instance')} in {counted(scope.relations, 'relation')}"
    first, second = names[pair.first], names[pair.second]
    group = f"{first} and {second}, {scope.domain or 'all relations'}: {size}"
    contrasts = {_key(contrast): contrast for contrast in scope.contrasts}
    found = [contrasts.get(key) for key in keys]
    differences = [None if c is None else c.difference for c in found]
    quantities: dict[str, tuple[str, list[Cell]]] = {
        "first": (first, [None if c is None else c.first for c in found]),
        "second": (second, [None if c is None else c.second for c in found]),
        "difference": ("difference", [None if d is None else Estimate(d.value, d.low, d.high) for d in differences]),
    }
    if any(d is not None and not math.isnan(d.p_value) for d in differences):
        quantities["p"] = "p", [None if d is None else d.p_value for d in differences]
        quantities["p_holm"] = "Holm p", [None if c is None else c.p_holm for c in found]
    pair_keys = {"first": pair.first, "second": pair.second, "domain": scope.domain or ""}
    for quantity, (label, cells) in quantities.items():
        yield Row(
            label=label,
            cells=tuple(cells),
            group=group,
            keys={**pair_keys, "quantity": quantity},
            ranked=quantity in ("first", "second"),
            signed=quantity == "difference",
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
    yield from (f"Unpaired: {label}, {reason}." for label, reason in comparison.unpaired.items())
    yield f"Templates: {'; '.join(ranges(numbers) for numbers in sorted({p.templates for p in comparison.pairs}))}."
    yield from score_notes(scores.reduction, scores)
    if scores.resampling.n_resamples:
        tests = counted(comparison.tests, "p-value")
        yield (
            "Difference: the first run less the second, on the same resamples, with a two-sided p-value of no "
            f"difference; Holm p: corrected for {tests}."
        )
    yield best_note(" of the two runs, significant or not")
