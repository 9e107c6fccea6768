"""A report of some estimators and metrics alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from calprobe.analysis.chosen import known_estimators, known_names, only
from calprobe.analysis.results import EstimatorReport, Report, RunReport
from calprobe.confidence import available_estimators
from calprobe.metrics import multiclass_metrics, standard_metrics
from calprobe.runs import Run


def choose(report: Report, estimators: Sequence[str] | None, metrics: Sequence[str] | None) -> Report:
    """The report with these estimators and metrics alone, in this order; None: with all.

    Every format shows each metric that is named. A run shows the estimators that it has. Figures need all of them.

    Raises UsageError for a metric that there is not, and for an estimator that no run has.
    """
    if estimators is None and metrics is None:
        return report
    columns = {metric.name: metric for metric in report.metrics}
    given = dict.fromkeys(estimator.name for run in report.runs for estimator in run.estimators)
    _check(estimators or (), given, metrics or (), columns)
    wanted = tuple(dict.fromkeys(columns if metrics is None else metrics))
    names = tuple(dict.fromkeys(given if estimators is None else estimators))
    shown = [columns[name] for name in wanted]
    if metrics is not None:
        shown = [replace(metric, printed=True, priority=place) for place, metric in enumerate(shown, 1)]
    runs = tuple(_of_run(run, names, wanted) for run in report.runs)
    return replace(report, runs=runs, metrics=tuple(shown), chosen=True, metrics_chosen=metrics is not None)


def check_choice(runs: Iterable[Run], estimators: Sequence[str] | None, metrics: Sequence[str] | None) -> None:
    """Raise UsageError for names that a report of these runs will not have, before its numbers are computed."""
    found = [available_estimators(run.manifest.templates) for run in runs]
    given = dict.fromkeys(estimator.name for own in found for estimator in own)
    _check(estimators or (), given, metrics or (), [own.name for own in (*standard_metrics(), *multiclass_metrics())])


def _check(estimators: Sequence[str], given: Iterable[str], metrics: Sequence[str], columns: Iterable[str]) -> None:
    known_estimators("the report", estimators, given)
    known_names("--metric", metrics, columns, "in this report")


def _of_run(run: RunReport, estimators: Sequence[str], metrics: Sequence[str]) -> RunReport:
    own = {estimator.name: estimator for estimator in run.estimators}
    after, intervals = run.recalibrated, run.intervals
    if after is not None:
        after = replace(after, estimators=only(after.estimators, estimators), maps=only(after.maps, estimators))
    if intervals is not None:
        intervals = {
            kind: replace(found, estimators=only(found.estimators, estimators)) for kind, found in intervals.items()
        }
    shown = tuple(_of_estimator(own[name], metrics) for name in estimators if name in own)
    return replace(run, estimators=shown, recalibrated=after, intervals=intervals)


def _of_estimator(estimator: EstimatorReport, metrics: Sequence[str]) -> EstimatorReport:
    return replace(estimator, metrics=only(estimator.metrics, metrics), answered=only(estimator.answered, metrics))
