"""Some of the estimators and metrics of a report: names that options give, checked, and what has these names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from calprobe.confidence import available_estimators
from calprobe.measures.chosen import Choice
from calprobe.metrics import multiclass_metrics, standard_metrics
from calprobe.runs import Run
from calprobe.studies.scored.results import Report, RunReport


def choose(report: Report, estimators: Sequence[str] | None, metrics: Sequence[str] | None) -> Report:
    """The report with these estimators and metrics alone, in this order; None: with all.

    Every format shows each metric that is named. A run shows the estimators that it has. Figures need all of them.

    Raises UsageError for a metric that there is not, and for an estimator that no run has.
    """
    if estimators is None and metrics is None:
        return report
    names = dict.fromkeys(estimator.name for run in report.runs for estimator in run.estimators)
    choice = Choice.of_report(estimators, names, metrics, [metric.name for metric in report.metrics])
    runs = tuple(_of_run(run, choice) for run in report.runs)
    columns = choice.columns(report.metrics)
    return replace(report, runs=runs, metrics=columns, chosen=True, metrics_chosen=metrics is not None)


def check_choice(runs: Iterable[Run], estimators: Sequence[str] | None, metrics: Sequence[str] | None) -> None:
    """Raise UsageError for names that a report of these runs will not have, before its numbers are computed."""
    available = [available_estimators(run.manifest.templates) for run in runs]
    names = dict.fromkeys(estimator.name for run_estimators in available for estimator in run_estimators)
    columns = [metric.name for metric in (*standard_metrics(), *multiclass_metrics())]
    Choice.of_report(estimators, names, metrics, columns)


def _of_run(run: RunReport, choice: Choice) -> RunReport:
    after, intervals = run.recalibrated, run.intervals
    if after is not None:
        after = after.only(choice)
    if intervals is not None:
        intervals = {
            kind: replace(drawn, estimators=choice.by_estimator(drawn.estimators)) for kind, drawn in intervals.items()
        }
    estimators = choice.by_estimator({estimator.name: estimator for estimator in run.estimators}).values()
    reports = tuple(
        replace(report, metrics=choice.by_metric(report.metrics), answered=choice.by_metric(report.answered))
        for report in estimators
    )
    return replace(run, estimators=reports, recalibrated=after, intervals=intervals)
