"""The tables of a report: each run's estimators and metrics; of several runs, a summary in the form of the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from calprobe.analysis.prose import (
    accuracies,
    cluster_notes,
    heading,
    left_out,
    remarks,
    report_notes,
    score_notes,
    sentence,
    size_and_state,
    templates_named,
    templates_read,
    wording_facts,
)
from calprobe.analysis.results import Report, RunReport
from calprobe.analysis.scored_run import RunFacts
from calprobe.analysis.tables.against import against_table
from calprobe.analysis.tables.labels import about, short_names, table_labels
from calprobe.analysis.tables.slices import slices_table
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.confidence import Headline, headline

# Of the answers, which many estimators share, and no merit of a confidence: no estimator is marked for it.
UNMARKED = "accuracy"
# Kissling et al. 2026, Tables 1 and 3.
SUMMARY_METRICS = ("ace", "brier")
SUMMARY_ESTIMATORS = headline(Headline.PAPER)


def report_tables(report: Report) -> tuple[Table, ...]:
    """The tables of a paper: one a run, estimators by metrics; before them, of several runs, one with a row a run.

    The best of a column is marked in the estimators' tables for everything but accuracy, which is that of the answers
    and the same for many estimators. Between runs it is marked only where they answer the same probe: other answer
    spaces make other errors.
    """
    tables = [table for run, label in _labelled(report) for table in _run_tables(run, report, label)]
    return (*([_summary(report)] if len(report.runs) > 1 else []), *tables)


def report_sections(report: Report) -> tuple[Table, ...]:
    """The tables that a terminal shows: each run's estimators, effects of wording, slices, numbers of the paper."""
    return tuple(table for run, label in _labelled(report) for table in _sections(run, report, label))


def _labelled(report: Report) -> Iterator[tuple[RunReport, str]]:
    labels = table_labels("calibration", [run.label for run in report.runs])
    return zip(report.runs, labels, strict=True)


def _run_tables(run: RunReport, report: Report, label: str) -> Iterator[Table]:
    yield estimators_table(run, report, label)
    if run.slices is not None:
        yield slices_table(run.facts, run.slices, report.options, label)
    if run.against is not None:
        yield against_table(run.facts, run.against, label)


def _sections(run: RunReport, report: Report, label: str) -> Iterator[Table]:
    estimators, *others = _run_tables(run, report, label)
    yield estimators
    yield from _wording_tables(run)
    yield from others


def estimators_table(run: RunReport, report: Report, label: str) -> Table:
    """A row an estimator, a column a metric."""
    model, probe, size = run.manifest.model.name, run.manifest.probe.name, size_and_state(run.facts)
    return Table(
        caption=f"Accuracy and calibration of {model} on {probe}, by estimator of confidence: {size}.",
        label=label,
        stub="estimator",
        columns=tuple(Column.of(metric, ranked=metric.name != UNMARKED) for metric in report.metrics),
        rows=tuple(_estimator_rows(run, report)),
        heading=(*heading(run.facts), *accuracies(run)),
        lead=tuple(map(sentence, (*remarks(run), *cluster_notes(run.facts.relations, report.options)))),
        general=tuple(report_notes(report)),
        directions=True,
        best_of=" (not of accuracy, which is of the answers)",
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


def _wording_tables(run: RunReport) -> Iterator[Table]:
    """What the paraphrases change, a row a fact, where the run has paraphrases."""
    if run.sensitivity is not None and run.uncertainty is not None:
        title = f"wording: {templates_named(run.sensitivity.templates)}"
        facts = wording_facts(run.sensitivity, run.uncertainty)
        yield Table(
            caption=f"What the wording changes for {run.manifest.model.name}: {size_and_state(run.facts)}.",
            label="wording",
            stub="",
            columns=(Column(""),),
            rows=tuple(Row(name, (said,), group=title) for name, said in facts),
            best_within=None,
            tidy=False,
        )


def _summary(report: Report) -> Table:
    """A row a run: accuracy, BEAR score, ACE and Brier score of four estimators, as in the paper's Table 1."""
    titles = {metric.name: metric for metric in report.metrics if metric.name in SUMMARY_METRICS}
    estimators = [
        Column(name, metric.better, heading=metric.title) for metric in titles.values() for name in SUMMARY_ESTIMATORS
    ]
    names = short_names([run.label for run in report.runs])
    alike = _same_instances([run.facts for run in report.runs])
    return Table(
        caption="Accuracy and calibration by run.",
        label="calibration-summary",
        stub="run",
        columns=(Column("accuracy", "larger"), Column("BEAR score", "larger"), *estimators),
        rows=tuple(Row(names[run.label], tuple(_summary_cells(run, list(titles)))) for run in report.runs),
        heading=tuple(heading(run.facts)[0] for run in report.runs),
        notes=(
            *(f"{names[run.label]}: {found}." for run in report.runs if (found := left_out(run.facts))),
            next(iter(score_notes(report.options.reduction, report.options))),
            *(["The tables of the runs have the intervals."] if report.options.resampling.n_resamples else []),
            *([] if alike else ["No best is marked: not all runs have the same instances."]),
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
