"""The tables of a comparison, in two forms: a row a number for terminals and pages, a row a run for papers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from calprobe.analysis.compare_prose import (
    CORRECTED,
    agreement_shares,
    basis_notes,
    comparison_notes,
    correction_notes,
    pair_notes,
    scope_name,
    scope_title,
    scope_unit,
    unpaired_notes,
    within_name,
    within_notes,
)
from calprobe.analysis.compare_results import (
    SIGNIFICANT,
    Comparison,
    Contrast,
    Grounding,
    PairComparison,
    Scope,
)
from calprobe.analysis.options import CompareOptions
from calprobe.analysis.prose import heading, mean_accuracy_name, sentence, size
from calprobe.analysis.run_names import last_names
from calprobe.analysis.tables.labels import about
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.metrics import Metric

Key = tuple[str | None, str]  # estimator and metric of a contrast
ACCURACY: Key = (None, "accuracy")
P_VALUES = ("p_equivalence", "p", "p_holm", "p_max_t")


def pair_tables(comparison: Comparison) -> tuple[Table, ...]:
    """A table for each pair, as on a terminal: a row a number, with columns for both runs, difference and p-values."""
    if comparison.within is not None:
        return (within_table(comparison),)
    return tuple(_pair_table(pair, comparison) for pair in comparison.pairs)


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Two tables in the form of the paper's Tables 2 and 5: of all relations, and of the domains if there are any.

    A pair has five rows: both runs, their difference, its p-value, and that corrected for all of the comparison's. Of a
    single run, the one table of `within_table`.
    """
    if comparison.within is not None:
        return (within_table(comparison),)
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
        "p_equivalence": contrast.equivalence.p_holm if contrast.equivalence else None,
        "p": contrast.difference.p_value,
        "p_holm": contrast.p_holm,
        "p_max_t": contrast.p_max_t,
    }


def rows_of(row: Row, contrast: Contrast, named: Mapping[str, str]) -> Iterator[Row]:
    """The row of a number and, of a calibration error of few questions, what chance makes of it on both sides."""
    yield row
    if contrast.by_chance is None:
        return
    first, second = contrast.by_chance
    parts: tuple[tuple[str, str, Cell, Cell], ...] = (
        ("if cal.", "if_calibrated", first.size, second.size),
        ("p", "p", first.p, second.p),
    )
    for title, name, one, other in parts:
        cells = {"first": one, "second": other}
        yield replace(
            row,
            label=f"{row.label} {title}",
            cells=tuple(cells.get(quantity) for quantity in named),
            note="",
            keys={**row.keys, "metric": f"{contrast.metric}_{name}"},
            significant=False,
        )


def p_value_names(options: CompareOptions) -> dict[str, str]:
    """The names of the p-values that a table shows, by quantity; the corrected one last."""
    by = options.correction or "holm"
    corrected = "p_holm" if by == "holm" else "p_max_t"
    equivalence = {} if options.margin is None else {"p_equivalence": within_name(options.margin)}
    return {**equivalence, "p": "p", corrected: CORRECTED[by]}


# A row a number.


def _pair_table(pair: PairComparison, comparison: Comparison) -> Table:
    titles = {metric.name: metric.title for metric in comparison.metrics}
    contrasts = [contrast for scope in pair.scopes for contrast in scope.contrasts]
    named = sides_named(contrasts, comparison.options)
    return Table(
        caption=f"{measured(comparison)} of {pair.first} (A) and {pair.second} (B)",
        label="differences",
        stub="number",
        columns=number_columns(named),
        rows=tuple(
            row
            for scope in pair.scopes
            for contrast in scope.contrasts
            for row in rows_of(
                Row(
                    label=_number_name(contrast, pair, titles, mean_accuracy_name(comparison.runs)),
                    cells=number_cells(quantities(contrast), named),
                    group=scope_title(scope, pair) + scope_unit(scope, comparison),
                    keys={"metric": "bear_score" if _is_bear_score(contrast, pair) else contrast.metric},
                    significant=contrast.significant,
                ),
                contrast,
                named,
            )
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


def measured(comparison: Comparison) -> str:
    """What a comparison is of, for captions: Accuracy, Brier score and ACE."""
    titles = ["Brier score" if metric.title == "Brier" else metric.title for metric in comparison.metrics]
    *most, last = titles if "accuracy" in titles else ["accuracy", *titles]
    text = f"{', '.join(most)} and {last}" if most else last
    return text[:1].upper() + text[1:]


def sides_named(contrasts: Iterable[Contrast], options: CompareOptions) -> dict[str, str]:
    """The heads of the columns of both sides, their difference and its p-values, by quantity."""
    p_values = p_value_names(options) if _have_p(contrasts) else {}
    return {"first": "A", "second": "B", "difference": "A - B", **p_values}


def number_columns(named: dict[str, str]) -> tuple[Column, ...]:
    """The columns of a table with a row a number."""
    return tuple(
        Column(title, "smaller" if name in P_VALUES else None, keys={"quantity": name}) for name, title in named.items()
    )


def number_cells(found: Mapping[str, Cell], named: dict[str, str]) -> tuple[Cell, ...]:
    """The cells of a row a number; a p-value that there is not has none."""
    return tuple(_defined(found[name], name) for name in named)


def within_table(comparison: Comparison) -> Table:
    """A single run's estimators, markers or templates against each other, a row a number."""
    within = comparison.within
    assert within is not None
    titles = {metric.name: metric.title for metric in comparison.metrics}
    pairs = [pair for pairs in within.kinds.values() for pair in pairs]
    named = sides_named([contrast for pair in pairs for contrast in pair.contrasts], comparison.options)
    rows = [
        row
        for pair in pairs
        for contrast in pair.contrasts
        for row in rows_of(
            Row(
                label=" ".join([*([contrast.estimator] if contrast.estimator else []), titles[contrast.metric]]),
                cells=number_cells(quantities(contrast), named),
                group=f"A {pair.first}, B {pair.second}",
                keys={
                    "first": pair.first,
                    "second": pair.second,
                    "metric": contrast.metric,
                    **({"estimator": contrast.estimator} if contrast.estimator else {}),
                },
                significant=contrast.significant,
            ),
            contrast,
            named,
        )
    ]
    if within.grounding is not None:
        rows.append(_grounding_row(within.grounding, named))
    return Table(
        caption=f"{measured(comparison)} within {within.run.label}: differences",
        label="differences",
        stub="number",
        columns=number_columns(named),
        rows=tuple(rows),
        heading=heading(within.run),
        lead=tuple(map(sentence, within_notes(within))),
        notes=tuple(
            f"{pair.first} (A), {pair.second} (B): {agreement_shares(pair.agreement)}"
            for pair in pairs
            if pair.agreement is not None
        ),
        general=tuple(comparison_notes(comparison)),
        keys={"run": within.run.label},
        about=about(within.run),
        best_within=None,
    )


def _grounding_row(grounding: Grounding, named: dict[str, str]) -> Row:
    """The slope of mean confidence on the percentage that is stated."""
    percentages = grounding.percentages
    found: dict[str, Cell] = {"difference": grounding.slope, "p": grounding.slope.p_value}
    found |= {"p_holm": grounding.p_holm, "p_max_t": grounding.p_max_t}
    return Row(
        label="slope",
        cells=tuple(_defined(found.get(name), name) for name in named),
        group=f"mean confidence by stated percentage, {percentages[0]} to {percentages[-1]} %: 1 follows it",
        keys={"metric": "grounding"},
        significant=grounding.p_corrected < SIGNIFICANT,
    )


def _is_bear_score(contrast: Contrast, pair: PairComparison) -> bool:
    return contrast.estimator is None and pair.accuracy_of == "bear_score"


def _have_p(contrasts: Iterable[Contrast]) -> bool:
    return any(not math.isnan(contrast.difference.p_value) for contrast in contrasts)


def _defined(cell: Cell, name: str) -> Cell:
    return None if name in P_VALUES and isinstance(cell, float) and math.isnan(cell) else cell


def _number_name(contrast: Contrast, pair: PairComparison, titles: dict[str, str], mean_accuracy: str) -> str:
    if contrast.estimator is None:
        return mean_accuracy if pair.accuracy_of == "bear_score" else "accuracy of base"
    return f"{contrast.estimator} {titles[contrast.metric]}"


# A row a run.


def _table(comparison: Comparison, scopes: list[tuple[PairComparison, Scope]], caption: str, label: str) -> Table:
    found = {_key(contrast) for _, scope in scopes for contrast in scope.contrasts}
    order = dict.fromkeys(_key(contrast) for _, scope in scopes for contrast in scope.contrasts)
    keys = [*([ACCURACY] if ACCURACY in found else []), *(key for key in order if key != ACCURACY)]
    metrics = {metric.name: metric for metric in comparison.metrics}
    names = last_names([run.label for run in comparison.runs])
    return Table(
        caption=caption,
        label=label,
        stub="run",
        columns=tuple(_column(key, comparison, metrics) for key in keys),
        rows=tuple(
            replace(row, about=_about(pair, comparison))
            for pair, scope in scopes
            for row in _rows(pair, scope, keys, names, comparison)
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
        title = mean_accuracy_name(comparison.runs) if of_all == {"bear_score"} else "accuracy"
        return Column(title, "larger", keys={"metric": metric})
    keys = {"estimator": estimator, "metric": metric}
    return Column(metrics[metric].title, metrics[metric].better, heading=estimator, keys=keys)


def _rows(
    pair: PairComparison, scope: Scope, keys: list[Key], names: dict[str, str], comparison: Comparison
) -> Iterator[Row]:
    first, second = names[pair.first], names[pair.second]
    contrasts = {_key(contrast): quantities(contrast) for contrast in scope.contrasts}
    pair_keys = {"first": pair.first, "second": pair.second, "domain": scope.domain or ""}
    labels = {"first": first, "second": second, "difference": "difference"}
    labels |= p_value_names(comparison.options) if _have_p(scope.contrasts) else {}
    for quantity, label in labels.items():
        yield Row(
            label=label,
            cells=tuple(contrasts[key][quantity] if key in contrasts else None for key in keys),
            group=f"{first} and {second}, {scope_name(scope)}: {size(scope)}{scope_unit(scope, comparison)}",
            keys={**pair_keys, "quantity": quantity},
            ranked=quantity in ("first", "second"),
        )


def _about(pair: PairComparison, comparison: Comparison) -> dict[str, str]:
    """How both runs of a pair were made."""
    made = {run.label: about(run) for run in comparison.runs}
    sides = {"first": made[pair.first], "second": made[pair.second]}
    return {f"{side}_{name}": text for side, found in sides.items() for name, text in found.items()}


def _notes(comparison: Comparison) -> Iterator[str]:
    for pair in comparison.pairs:
        yield from (f"{pair.first} and {pair.second}: {note}." for note in pair_notes(pair))
    yield from unpaired_notes(comparison)
    yield from basis_notes(comparison)
    if comparison.options.scores.resampling.n_resamples:
        yield from (
            note.replace("A - B: difference", "Difference: the first run minus the second,", 1)
            for note in correction_notes(comparison)
        )
