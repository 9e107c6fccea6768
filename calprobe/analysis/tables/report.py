"""The tables of a report: each run's estimators and metrics; of several runs, a summary in the form of the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from calprobe.analysis.best import UNMARKED
from calprobe.analysis.results import Report, RunReport
from calprobe.analysis.scored_run import RunFacts
from calprobe.analysis.tables.beside import against_table, slices_table
from calprobe.analysis.tables.state import (
    about,
    best_note,
    heading_lines,
    partial,
    scope,
    sentence,
    short_names,
    table_labels,
)
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.analysis.terminal import accuracies, remarks, report_notes, score_notes, templates_read

PRINTED = ("accuracy", "mean_confidence", "ace", "ece", "brier", "auroc")  # all are in tidy files
# Kissling et al. 2026, Tables 1 and 3.
SUMMARY_METRICS = ("ace", "brier")
SUMMARY_ESTIMATORS = ("base", "margin", "average_vote_2", "average_min")


def report_tables(report: Report) -> tuple[Table, ...]:
    """A table for each run, estimators by metrics; before them, of several runs, one with a row a run.

    The best of a column is marked in the estimators' tables for everything but accuracy, which is that of the answers
    and the same for many estimators. Between runs it is marked only where they answer the same probe: other answer
    spaces make other errors.
    """
    labels = list(table_labels("calibration", [run.label for run in report.runs]))
    tables = [
        table for run, label in zip(report.runs, labels, strict=True) for table in _run_tables(run, report, label)
    ]
    return (*([_summary(report)] if len(report.runs) > 1 else []), *tables)


def _run_tables(run: RunReport, report: Report, label: str) -> Iterator[Table]:
    yield _run_table(run, report, label)
    if run.slices is not None:
        yield slices_table(run.facts, run.slices, report.options, label)
    if run.against is not None:
        yield against_table(run.facts, run.against, label)


def _run_table(run: RunReport, report: Report, label: str) -> Table:
    printed = [metric for metric in report.metrics if metric.name in PRINTED]
    model, probe = run.manifest.model.name, run.manifest.probe.name
    return Table(
        caption=f"Accuracy and calibration of {model} on {probe}, by estimator of confidence: {scope(run.facts)}.",
        label=label,
        stub="estimator",
        columns=tuple(
            Column.of(metric, ranked=metric.name != UNMARKED, printed=metric in printed) for metric in report.metrics
        ),
        rows=tuple(_estimator_rows(run, report)),
        heading=(*heading_lines(run.facts), *(line.plain for line in accuracies(run))),
        notes=(
            *map(sentence, remarks(run)),
            *report_notes(report, printed),
            best_note(" (not of accuracy, which is of the answers)"),
        ),
        keys={"run": run.label, "model": model},
        about=about(run.facts),
        totals={} if run.bear_score is None else {"bear_score": run.bear_score},
    )


def _estimator_rows(run: RunReport, report: Report) -> Iterator[Row]:
    for group, members in groupby(run.estimators, key=lambda estimator: estimator.group):
        estimators = list(members)
        title = f"{group}: {templates_read(estimators)}"
        for estimator in estimators:
            yield Row(
                label=estimator.name,
                cells=tuple(estimator.metrics[metric.name] for metric in report.metrics),
                group=title,
                note=f"{estimator.failed:,} failed" if estimator.failed else "",
                keys={"estimator": estimator.name},
            )


def _summary(report: Report) -> Table:
    """A row a run: accuracy, BEAR score, ACE and Brier score of four estimators, as in the paper's Table 1."""
    titles = {metric.name: metric for metric in report.metrics if metric.name in SUMMARY_METRICS}
    estimators = [
        Column(name, metric.better, heading=metric.title) for metric in titles.values() for name in SUMMARY_ESTIMATORS
    ]
    scores = next(iter(score_notes(report.options.reduction, report.options)))
    names = short_names([run.label for run in report.runs])
    alike = _same_instances([run.facts for run in report.runs])
    return Table(
        caption="Accuracy and calibration by run.",
        label="calibration-summary",
        stub="run",
        columns=(Column("accuracy", "larger"), Column("BEAR score", "larger"), *estimators),
        rows=tuple(Row(names[run.label], tuple(_summary_cells(run, list(titles)))) for run in report.runs),
        heading=tuple(heading_lines(run.facts)[0] for run in report.runs),
        notes=(
            *(f"{names[run.label]}: {partial(run.facts)}." for run in report.runs if run.facts.partial),
            scores,
            *(["The tables of the runs have the intervals."] if report.options.resampling.n_resamples else []),
            best_note("") if alike else "No best is marked: not all runs have the same instances.",
        ),
        best_within="table" if alike else None,
        intervals=False,
        tidy=False,
    )


def _summary_cells(run: RunReport, metrics: Sequence[str]) -> Iterator[Cell]:
    estimators = {estimator.name: estimator.metrics for estimator in run.estimators}
    yield run.accuracy
    yield run.bear_score
    for metric in metrics:
        yield from (estimators[name][metric] if name in estimators else None for name in SUMMARY_ESTIMATORS)


def _same_instances(runs: Sequence[RunFacts]) -> bool:
    """Whether whole runs were asked the same."""
    return len({run.questions for run in runs}) == 1 and not any(run.partial for run in runs)
