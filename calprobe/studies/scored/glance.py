"""A report of scored runs at a glance: a verdict on each run, then its first estimators and what the wording does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calprobe.confidence import BASE, Headline, headline
from calprobe.measures.compare_results import Comparison
from calprobe.show.compare_prose import drawn_in, pair_notes, unpaired_notes
from calprobe.show.prose import mean_accuracy_name, size, state
from calprobe.show.tables.shorter import at_a_glance, others_named
from calprobe.show.tables.side_by_side import Sides, comparison_at_a_glance, lettered, sides_of_one
from calprobe.show.tables.types import Table
from calprobe.show.verdict import decimals_of
from calprobe.studies.scored.notes import other_relations, verdict
from calprobe.studies.scored.results import Report, RunReport
from calprobe.words import ClusterKind

# The tables of a first look, by kind: of one run, and of several.
OF_ONE, OF_SEVERAL = ("runs", "wording"), ("summary", "averages")
COLUMNS = ("accuracy", "coverage", "mean_confidence", "ace", "ace_if_calibrated", "auroc")
SHOWN = headline(Headline.PAPER)


def tables_at_a_glance(report: Report, tables: Sequence[Table], wanted: Sequence[str] = ()) -> tuple[Table, ...]:
    """The verdict on each run with two tables at most, for a terminal.

    Args:
        report: of one run or several.
        tables: all that the report has, which the last sentence names.
        wanted: kinds of further tables that options have asked for.
    """
    kinds = OF_ONE if len(report.runs) == 1 else OF_SEVERAL
    digits = decimals_of(max(run.instances for run in report.runs))
    several = len(report.runs) > 1
    by_facts = report.options.cluster in (None, "instance")
    heads = [_head(run, tables, several=several, by_facts=by_facts) for run in report.runs]
    shown = [
        _shorter(table, digits) if table.kind in kinds else table
        for table in tables
        if table.rows and (table.kind in kinds or table.kind in wanted)
    ]
    if len(report.runs) == 1:  # whose tables need not say what they are of
        shown = [_of_the_run(table) for table in shown]
    more = Table("", "more", "", (), (), options=others_named(shown, tables), best_within=None)
    return (*heads, *shown, *([more] if shown else []))


def compared_at_a_glance(comparison: Comparison, tables: Sequence[Table]) -> tuple[Table, ...]:
    """The verdict on each pair of runs, or of estimators or templates of one, and their numbers, for a terminal."""
    pairs = compared_sides(comparison)
    runs = [
        f"{letter}{run.label}: {run.model}, {run.manifest.probe.name} ({size(run)}), {state(run)}"
        for letter, run in lettered(comparison.runs, pairs)
    ]
    notes = [f"{note}." for pair in comparison.pairs for note in pair_notes(pair)] if len(comparison.pairs) == 1 else []
    heading = (*runs, *sides_of_one(comparison.runs, pairs), *notes, *unpaired_notes(comparison))
    return comparison_at_a_glance(comparison, pairs, heading, tables, drawn_in(comparison))


def compared_sides(comparison: Comparison) -> list[Sides]:
    """The pairs of runs, or of estimators or templates of one."""
    if (within := comparison.within) is not None:
        of_run = [pair for pairs in within.kinds.values() for pair in pairs]
        return [
            Sides(pair.first, pair.second, [pair.contrasts], within.run.instances, compared=_drawn(within.unit))
            for pair in of_run
        ]
    whole = [(pair, pair.everything) for pair in comparison.pairs]
    names = {"bear_score": mean_accuracy_name(comparison.runs)}
    return [
        Sides(
            pair.first,
            pair.second,
            [all_of.contrasts],
            all_of.instances,
            compared=f"{_drawn(all_of.unit)} in common",
            accuracy=names.get(pair.accuracy_of or "", "accuracy"),
        )
        for pair, all_of in whole
    ]


def _drawn(unit: ClusterKind) -> str:
    return "relations" if unit == "relation" else "facts"


def _of_the_run(table: Table) -> Table:
    """With a short caption; that of the wording is the group which all its rows are of."""
    if table.kind == "wording":
        rows = tuple(replace(row, group="") for row in table.rows)
        return replace(table, caption=f"What the wording changes, {table.rows[0].group.partition(': ')[2]}", rows=rows)
    if table.kind == "runs":
        return replace(table, caption="Accuracy and calibration by estimator of confidence")
    return table


def _head(run: RunReport, tables: Sequence[Table], *, several: bool, by_facts: bool) -> Table:
    """What was scored, what it lacks, and the verdict, above all tables."""
    whole = next(table for table in tables if table.kind == "runs" and table.keys.get("run") == run.label)
    relations = other_relations(run) if by_facts else ()
    lines = (*whole.heading[:3], *verdict(run, several=several), *relations)
    return Table("", "verdict", "", (), (), heading=lines, lead=whole.lead, keys=whole.keys, best_within=None)


def _shorter(table: Table, digits: int) -> Table:
    """The table without what stands above all; of estimators the first ones, with the columns that have room."""
    bare = replace(table, heading=(), lead=(), general=(), fine_print=())
    if table.kind != "runs" or BASE not in {row.keys.get("estimator") for row in table.rows}:
        return replace(bare, best_within=None, decimals=digits)
    rows = tuple(row for row in bare.rows if row.keys.get("estimator", "").removesuffix(":answered") in SHOWN)
    places = [at for at, column in enumerate(bare.columns) if column.keys.get("metric") in COLUMNS]
    return at_a_glance(replace(bare, rows=rows).with_columns(places), digits)
