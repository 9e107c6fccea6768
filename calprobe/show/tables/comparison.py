"""The tables of a comparison, in two forms: a row a number for terminals and pages, a row a run for papers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from calprobe.measures.compare_results import (
    Comparison,
    Contrast,
    Grounding,
    PairComparison,
    Scope,
    WithinPair,
)
from calprobe.measures.options import CompareOptions
from calprobe.measures.run_names import last_names
from calprobe.show.compare_prose import (
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
from calprobe.show.prose import heading, listed, mean_accuracy_name, sentence, size
from calprobe.show.tables.labels import about
from calprobe.show.tables.layout import UNRANKED, Cells, Layout, Numbers, cells, quantity
from calprobe.show.tables.types import Cell, Column, Row, Table

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


def numbers_of(head: Row, contrast: Contrast) -> Iterator[Numbers]:
    """The row of a number and, of a calibration error of few questions, what chance makes of it on both sides."""
    yield Numbers(replace(head, significant=contrast.significant, ranked=contrast.alike), quantities(contrast))
    if contrast.by_chance is None:
        return
    first, second = contrast.by_chance
    rows: tuple[tuple[str, str, Cell, Cell], ...] = (
        ("if cal.", "if_calibrated", first.size, second.size),
        ("p", "p", first.p, second.p),
    )
    for title, name, of_first, of_second in rows:
        keys = {**head.keys, "metric": f"{contrast.metric}_{name}"}
        chance = replace(head, label=f"{head.label} {title}", note="", keys=keys)
        yield Numbers(chance, {"first": of_first, "second": of_second})


def numbers_layout(caption: str, label: str, named: Mapping[str, str]) -> Layout[Numbers]:
    """A row a number of two sides; its columns are those of `sides_named`."""
    columns = tuple(_side(name, title) for name, title in named.items())
    return Layout(caption, label, "number", lambda row: row.head, columns, more=UNRANKED)


def _side(name: str, title: str) -> Cells[Numbers]:
    """A column of a side, of the difference or of a p-value; nothing for a p-value that there is not."""

    def cell(row: Numbers) -> Cell:
        value = row.cells.get(name)
        return None if name in P_VALUES and isinstance(value, float) and math.isnan(value) else value

    return quantity(title, cell, "smaller" if name in P_VALUES else None, name=name)


def p_value_names(options: CompareOptions) -> dict[str, str]:
    """The names of the p-values that a table shows, by quantity; the corrected one last."""
    by = options.correction or "holm"
    corrected = "p_holm" if by == "holm" else "p_max_t"
    equivalence = {} if options.margin is None else {"p_equivalence": within_name(options.margin)}
    return {**equivalence, "p": "p", corrected: CORRECTED[by]}


# A row a number.


def _pair_table(pair: PairComparison, comparison: Comparison) -> Table:
    contrasts = [contrast for scope in pair.scopes for contrast in scope.contrasts]
    named = sides_named(contrasts, comparison.options)
    layout = numbers_layout(f"{measured(comparison)} of {pair.first} (A) and {pair.second} (B)", "differences", named)
    return layout.table(
        (
            row
            for scope in pair.scopes
            for contrast in scope.contrasts
            for row in numbers_of(_pair_head(pair, scope, contrast, comparison), contrast)
        ),
        *(
            f"{scope_name(scope)}: {agreement_shares(scope.agreement)}"
            for scope in pair.scopes
            if scope.agreement is not None
        ),
        heading=(*(line for run in comparison.runs for line in heading(run)), f"A {pair.first}, B {pair.second}"),
        lead=tuple(pair_notes(pair)),
        general=(*unpaired_notes(comparison), *comparison_notes(comparison)),
        keys={"first": pair.first, "second": pair.second},
    )


def _pair_head(pair: PairComparison, scope: Scope, contrast: Contrast, comparison: Comparison) -> Row:
    metric = contrast.metric
    if contrast.estimator is not None:
        label = f"{contrast.estimator} {comparison.titles[metric]}"
    elif pair.accuracy_of == "bear_score":
        label, metric = mean_accuracy_name(comparison.runs), "bear_score"
    else:
        label = "accuracy of base"
    return Row(label, group=scope_title(scope, pair) + scope_unit(scope, comparison), keys={"metric": metric})


def measured(comparison: Comparison) -> str:
    """What a comparison is of, for captions: Accuracy, Brier score and ACE."""
    titles = ["Brier score" if metric.title == "Brier" else metric.title for metric in comparison.metrics]
    text = listed(titles if "accuracy" in titles else ["accuracy", *titles])
    return text[:1].upper() + text[1:]


def sides_named(contrasts: Iterable[Contrast], options: CompareOptions) -> dict[str, str]:
    """The heads of the columns of both sides, their difference and its p-values, by quantity."""
    p_values = p_value_names(options) if _have_p(contrasts) else {}
    return {"first": "A", "second": "B", "difference": "A - B", **p_values}


def within_table(comparison: Comparison) -> Table:
    """A single run's estimators, markers or templates against each other, a row a number."""
    within = comparison.within
    assert within is not None
    pairs = [pair for pairs in within.kinds.values() for pair in pairs]
    named = sides_named([contrast for pair in pairs for contrast in pair.contrasts], comparison.options)
    rows = [
        row
        for pair in pairs
        for contrast in pair.contrasts
        for row in numbers_of(_within_head(pair, contrast, comparison), contrast)
    ]
    if within.grounding is not None:
        rows.append(_grounding_row(within.grounding))
    layout = numbers_layout(f"{measured(comparison)} within {within.run.label}: differences", "differences", named)
    return layout.table(
        rows,
        *(
            f"{pair.first} (A), {pair.second} (B): {agreement_shares(pair.agreement)}"
            for pair in pairs
            if pair.agreement is not None
        ),
        heading=heading(within.run),
        lead=tuple(map(sentence, within_notes(within))),
        general=tuple(comparison_notes(comparison)),
        keys={"run": within.run.label},
        about=about(within.run),
    )


def _within_head(pair: WithinPair, contrast: Contrast, comparison: Comparison) -> Row:
    keys = {"first": pair.first, "second": pair.second, "metric": contrast.metric}
    title, group = comparison.titles[contrast.metric], f"A {pair.first}, B {pair.second}"
    if contrast.estimator is None:
        return Row(title, group=group, keys=keys)
    return Row(f"{contrast.estimator} {title}", group=group, keys={**keys, "estimator": contrast.estimator})


def _grounding_row(grounding: Grounding) -> Numbers:
    """The slope of mean confidence on the percentage that is stated."""
    percentages = grounding.percentages
    head = Row(
        "slope",
        group=f"mean confidence by stated percentage, {percentages[0]} to {percentages[-1]} %: 1 follows it",
        keys={"metric": "grounding"},
        significant=grounding.contrast.significant,
    )
    cells = quantities(grounding.contrast)
    return Numbers(head, {name: cells[name] for name in ("difference", "p", "p_holm", "p_max_t")})


def _have_p(contrasts: Iterable[Contrast]) -> bool:
    return any(not math.isnan(contrast.difference.p_value) for contrast in contrasts)


# A row a run.


def _table(comparison: Comparison, scopes: list[tuple[PairComparison, Scope]], caption: str, label: str) -> Table:
    contrasts = {_key(contrast): contrast for _, scope in scopes for contrast in scope.contrasts}
    ordered = sorted(contrasts.values(), key=lambda contrast: contrast.estimator is not None)  # accuracy first
    layout = Layout[Numbers](
        caption,
        label,
        "run",
        lambda row: row.head,
        tuple(_contrast_column(contrast, comparison) for contrast in ordered),
        tuple(_notes(comparison)),
        more={"best_within": "group", "best_of": " of the two runs, significant or not"},
    )
    names = last_names([run.label for run in comparison.runs])
    return layout.table(
        (row for pair, scope in scopes for row in _rows(pair, scope, names, comparison, ordered)),
        heading=tuple(line for run in comparison.runs for line in heading(run)),
    )


def _key(contrast: Contrast) -> str:
    return f"{contrast.estimator} {contrast.metric}"


def _contrast_column(contrast: Contrast, comparison: Comparison) -> Cells[Numbers]:
    """The column of an estimator's metric, or of the accuracy that pairs are matched by."""
    metric, key = contrast.metric, _key(contrast)
    if contrast.estimator is None:
        of_all = {pair.accuracy_of for pair in comparison.pairs}
        title = mean_accuracy_name(comparison.runs) if of_all == {"bear_score"} else "accuracy"
        return cells(title, metric, lambda row: row.cells.get(key), "larger")
    better = next(listed.better for listed in comparison.metrics if listed.name == metric)
    keys = {"estimator": contrast.estimator, "metric": metric}
    column = Column(comparison.titles[metric], better, heading=contrast.estimator, keys=keys)
    return Cells(column, lambda row: row.cells.get(key))


def _rows(
    pair: PairComparison,
    scope: Scope,
    names: dict[str, str],
    comparison: Comparison,
    columns: Sequence[Contrast],
) -> Iterator[Numbers]:
    first, second = names[pair.first], names[pair.second]
    labels = {"first": first, "second": second, "difference": "difference"}
    labels |= p_value_names(comparison.options) if _have_p(scope.contrasts) else {}
    by_key = {_key(contrast): contrast for contrast in scope.contrasts}
    answered = {
        side: tuple(
            1 - by_key[key].failed[place] / scope.instances if (key := _key(column)) in by_key else 1.0
            for column in columns
        )
        for place, side in enumerate(("first", "second") if scope.instances else ())
    }
    for name, label in labels.items():
        head = Row(
            label,
            group=f"{first} and {second}, {scope_name(scope)}: {size(scope)}{scope_unit(scope, comparison)}",
            keys={"first": pair.first, "second": pair.second, "domain": scope.domain or "", "quantity": name},
            about=_about(pair, comparison),
            ranked=name in ("first", "second"),
            coverage=answered.get(name, ()),
        )
        yield Numbers(head, {_key(contrast): quantities(contrast)[name] for contrast in scope.contrasts})


def _about(pair: PairComparison, comparison: Comparison) -> dict[str, str]:
    """How both runs of a pair were made."""
    abouts = {run.label: about(run) for run in comparison.runs}
    sides = {"first": abouts[pair.first], "second": abouts[pair.second]}
    return {f"{side}_{name}": text for side, texts in sides.items() for name, text in texts.items()}


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
