"""The tables of a report: each run's estimators and metrics; of several runs, first a summary as in the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from calprobe.metrics import Metric
from calprobe.metrics.error_shown import chance_shown, columns_shown
from calprobe.show.prose import (
    cluster_notes,
    cost_of_templates,
    heading,
    sentence,
    size_and_state,
    templates_named,
    wording_facts,
)
from calprobe.show.tables.labels import TableName, of_run, table_names
from calprobe.show.tables.layout import UNRANKED, Cells, Layout, Numbers, cells, metrics
from calprobe.show.tables.slice_table import gaps_table, slices_table, trend_table
from calprobe.show.tables.types import Column, Row, Table
from calprobe.studies.scored.against_table import against_table
from calprobe.studies.scored.averages_table import averages_table, models_table
from calprobe.studies.scored.more_numbers import intervals_table, maps_table, recalibration_table
from calprobe.studies.scored.notes import (
    accuracies,
    calibration_sentences,
    estimator_notes,
    group_title,
    remarks,
    report_notes,
)
from calprobe.studies.scored.results import Report, RunReport
from calprobe.studies.scored.summary_table import summary_table

# Of the answers, which many estimators share, and no merit of a confidence: no estimator is marked for it.
UNMARKED = "accuracy"


COVERAGE: Cells[Numbers] = cells("coverage", "coverage", lambda row: row.cells.get("coverage"), priority=1)


def report_tables(report: Report) -> tuple[Table, ...]:
    """The tables of a paper: one a run, estimators by metrics; before them, of several runs, one with a row a run.

    The best of a column is marked in the estimators' tables for everything but accuracy, which is that of the answers
    and the same for many estimators. Between runs it is marked only where they answer the same probe: other answer
    spaces make other errors.
    """
    names = table_names("calibration", [run.facts for run in report.runs])
    tables = [table for run in report.runs for table in _run_tables(run, report, names[run.label])]
    return (*_across_runs(report), *tables)


def report_sections(report: Report) -> tuple[Table, ...]:
    """The tables that a terminal shows: those of a paper, and what the wording changes in each run."""
    names = table_names("calibration", [run.facts for run in report.runs])
    sections = [table for run in report.runs for table in _sections(run, report, names[run.label])]
    across = tuple(_across_runs(report))
    # The lines that say how a run was scored stand before its own tables.
    return (*(replace(table, heading=(table.caption,)) for table in across), *sections)


def _across_runs(report: Report) -> Iterator[Table]:
    """Of several runs: a row each, then of three or more the models and the averages."""
    if len(report.runs) > 1:
        summary = summary_table(report)
        yield summary
        yield from filter(None, (models_table(report), averages_table(report, summary.columns)))


def _run_tables(run: RunReport, report: Report, name: TableName) -> Iterator[Table]:
    yield estimators_table(run, report, name)
    yield from filter(None, (intervals_table(run, name), recalibration_table(run, name), maps_table(run, name)))
    if run.slices is not None:
        yield slices_table(run.facts, run.slices, report.options, name)
        more = gaps_table(run.facts, run.slices, name), trend_table(run.facts, run.slices, name)
        yield from filter(None, more)
    if run.against is not None:
        yield against_table(run.facts, run.against, name)


def _sections(run: RunReport, report: Report, name: TableName) -> Iterator[Table]:
    estimators, *tables = _run_tables(run, report, name)
    yield estimators
    if run.instances:
        yield from _wording_tables(run, name)
        yield from tables


def estimators_table(run: RunReport, report: Report, name: TableName) -> Table:
    """A row an estimator, a column a metric.

    An estimator that fails on some instances has a second row, over those that it answers. Where there is one, a column
    has the coverage of each.
    """
    columns: list[Cells[Numbers]] = [*metrics(metrics_shown(run, report), lambda row: row.cells, unranked=(UNMARKED,))]
    if any(estimator.failed for estimator in run.estimators):
        columns.insert(1, COVERAGE)
    return Layout[Numbers](
        f"Accuracy and calibration of {name.of} on {run.manifest.probe.name}, by estimator of confidence: "
        f"{size_and_state(run.facts)}.",
        name.label,
        "estimator",
        lambda row: row.head,
        columns,
        kind="runs",
    ).table(
        _estimator_rows(run) if run.instances else (),
        heading=(*heading(run.facts), *accuracies(run), *calibration_sentences(run), *cost_of_templates(run.facts)),
        lead=tuple(map(sentence, (*remarks(run), *cluster_notes(run.facts.relations, report.options)))),
        general=tuple(report_notes(report)),
        directions=True,
        best_of=" (not accuracy: it is of the answers, which estimators share)",
        totals={} if run.bear_score is None else {"bear_score": run.bear_score},
        **of_run(run.facts),
    )


def metrics_shown(run: RunReport, report: Report) -> tuple[Metric, ...]:
    """The metrics in the order of a table's columns; confidences of scores have many values, so their error is ACE."""
    if report.metrics_chosen:
        return report.metrics
    return columns_shown(
        report.metrics, few_values=False, chance=chance_shown(run.instances, report.options.resampling)
    )


def _estimator_rows(run: RunReport) -> Iterator[Numbers]:
    """Each estimator over all instances and, where it failed on some, over those that it answered."""
    for group, members in groupby(run.estimators, key=lambda estimator: estimator.group):
        estimators = list(members)
        title = group_title(group, estimators)
        for estimator in estimators:
            name, coverage = estimator.name, estimator.coverage
            note = ", ".join(estimator_notes(estimator))
            head = Row(name, group=title, note=note, keys={"estimator": name}, coverage=(coverage.value,))
            yield Numbers(head, {**estimator.metrics, "coverage": coverage})
            if estimator.failed:
                label = f"of {estimator.instances - estimator.failed:,} answered"
                keys = {"estimator": f"{name}:answered"}  # so that no line of a file is there twice
                yield Numbers(Row(label, group=title, keys=keys, of=name, ranked=False), estimator.answered)


def _wording_tables(run: RunReport, name: TableName) -> Iterator[Table]:
    """What the paraphrases change, a row a fact, where the run has paraphrases."""
    if run.sensitivity is not None and run.uncertainty is not None:
        title = f"wording: {templates_named(run.sensitivity.templates)}"
        yield Layout[tuple[str, str]](
            f"What the wording changes for {name.of}: {size_and_state(run.facts)}.",
            "wording",
            "",
            lambda fact: Row(fact[0], group=title),
            (Cells(Column(""), lambda fact: fact[1]),),
            kind="wording",
            more={**UNRANKED, "tidy": False},
        ).table(wording_facts(run.sensitivity, run.uncertainty))
