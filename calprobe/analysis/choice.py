"""A report of some estimators and metrics alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from calprobe.analysis.results import EstimatorReport, Report, RunReport
from calprobe.errors import UsageError
from calprobe.messages import did_you_mean, no_estimator

T = TypeVar("T")


def choose(report: Report, estimators: Sequence[str] | None, metrics: Sequence[str] | None) -> Report:
    """The report with these estimators and metrics alone, in this order; None: with all.

    Every format shows each metric that is named. A run shows the estimators that it has. Figures need all of them.

    Raises UsageError for a metric that there is not, and for an estimator that no run has.
    """
    if estimators is None and metrics is None:
        return report
    columns = {metric.name: metric for metric in report.metrics}
    given = dict.fromkeys(estimator.name for run in report.runs for estimator in run.estimators)
    wanted = tuple(columns) if metrics is None else _known(metrics, columns)
    names = tuple(given if estimators is None else dict.fromkeys(estimators))
    if lacking := [name for name in names if name not in given]:
        raise UsageError(no_estimator("the report", lacking, given))
    shown = [columns[name] for name in wanted]
    if metrics is not None:
        shown = [replace(metric, printed=True, priority=place) for place, metric in enumerate(shown, 1)]
    runs = tuple(_of_run(run, names, wanted) for run in report.runs)
    return replace(report, runs=runs, metrics=tuple(shown), chosen=True)


def _known(names: Sequence[str], metrics: Iterable[str]) -> tuple[str, ...]:
    """The names, each once. Raises UsageError for one of no metric."""
    there = list(metrics)
    for name in names:
        if name not in there:
            hint = did_you_mean(name, there) or f"; it has {', '.join(there)}"
            raise UsageError(f"--metric: no {name!r} in this report{hint}")
    return tuple(dict.fromkeys(names))


def _of_run(run: RunReport, estimators: Sequence[str], metrics: Sequence[str]) -> RunReport:
    own = {estimator.name: estimator for estimator in run.estimators}
    after, intervals = run.recalibrated, run.intervals
    if after is not None:
        after = replace(after, estimators=_only(after.estimators, estimators))
    if intervals is not None:
        intervals = {
            kind: replace(found, estimators=_only(found.estimators, estimators)) for kind, found in intervals.items()
        }
    shown = tuple(_of_estimator(own[name], metrics) for name in estimators if name in own)
    return replace(run, estimators=shown, recalibrated=after, intervals=intervals)


def _of_estimator(estimator: EstimatorReport, metrics: Sequence[str]) -> EstimatorReport:
    return replace(estimator, metrics=_only(estimator.metrics, metrics), answered=_only(estimator.answered, metrics))


def _only(found: Mapping[str, T], names: Sequence[str]) -> dict[str, T]:
    return {name: found[name] for name in names if name in found}
