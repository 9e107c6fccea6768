"""Some of the estimators and metrics of a report: names that options give, checked, and what has these names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from calprobe.analysis.results import Report, RunReport
from calprobe.confidence import available_estimators
from calprobe.errors import UsageError
from calprobe.messages import no_estimator, no_such
from calprobe.metrics import Metric, multiclass_metrics, standard_metrics
from calprobe.runs import Run

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice:
    """The estimators and the metrics to show, each once and in this order; None: all."""

    estimators: tuple[str, ...] | None
    metrics: tuple[str, ...] | None

    @classmethod
    def of_report(
        cls,
        estimators: Sequence[str] | None,
        given: Iterable[str],
        metrics: Sequence[str] | None,
        columns: Iterable[str],
    ) -> Choice:
        """Those asked for, of what a report has. Raises UsageError for a name that it has not."""
        return cls(
            None if estimators is None else known_estimators("the report", estimators, given),
            None if metrics is None else known_names("--metric", metrics, columns, "in this report"),
        )

    def shows(self, estimator: str) -> bool:
        """Whether the estimator is among the chosen ones."""
        return self.estimators is None or estimator in self.estimators

    def by_estimator(self, found: Mapping[str, T]) -> dict[str, T]:
        """What is of the chosen estimators; of these, those that there are."""
        return _only(found, self.estimators)

    def by_metric(self, found: Mapping[str, T]) -> dict[str, T]:
        """What is of the chosen metrics; of these, those that there are."""
        return _only(found, self.metrics)

    def columns(self, metrics: Iterable[Metric]) -> tuple[Metric, ...]:
        """The metrics in the order of columns; every format has room for those that were chosen."""
        shown = self.by_metric({metric.name: metric for metric in metrics}).values()
        if self.metrics is None:
            return tuple(shown)
        return tuple(replace(metric, printed=True, priority=place) for place, metric in enumerate(shown, 1))


def _only(found: Mapping[str, T], names: Sequence[str] | None) -> dict[str, T]:
    return {name: found[name] for name in (found if names is None else names) if name in found}


def known_estimators(subject: str, asked: Sequence[str], given: Iterable[str]) -> tuple[str, ...]:
    """Those asked for, each once. Raises UsageError for one that is not among the given ones."""
    names = list(given)
    if lacking := [name for name in asked if name not in names]:
        raise UsageError(no_estimator(subject, lacking, names))
    return tuple(dict.fromkeys(asked))


def known_names(option: str, asked: Sequence[str], given: Iterable[str], where: str = "") -> tuple[str, ...]:
    """The names asked for by an option, each once. Raises UsageError for one that is not among the given ones."""
    names = list(given)
    for name in asked:
        if name not in names:
            raise UsageError(f"{option}: {no_such(name, names, where)}")
    return tuple(dict.fromkeys(asked))


def choose(report: Report, estimators: Sequence[str] | None, metrics: Sequence[str] | None) -> Report:
    """The report with these estimators and metrics alone, in this order; None: with all.

    Every format shows each metric that is named. A run shows the estimators that it has. Figures need all of them.

    Raises UsageError for a metric that there is not, and for an estimator that no run has.
    """
    if estimators is None and metrics is None:
        return report
    given = dict.fromkeys(estimator.name for run in report.runs for estimator in run.estimators)
    choice = Choice.of_report(estimators, given, metrics, [metric.name for metric in report.metrics])
    runs = tuple(_of_run(run, choice) for run in report.runs)
    shown = choice.columns(report.metrics)
    return replace(report, runs=runs, metrics=shown, chosen=True, metrics_chosen=metrics is not None)


def check_choice(runs: Iterable[Run], estimators: Sequence[str] | None, metrics: Sequence[str] | None) -> None:
    """Raise UsageError for names that a report of these runs will not have, before its numbers are computed."""
    found = [available_estimators(run.manifest.templates) for run in runs]
    given = dict.fromkeys(estimator.name for own in found for estimator in own)
    columns = [metric.name for metric in (*standard_metrics(), *multiclass_metrics())]
    Choice.of_report(estimators, given, metrics, columns)


def _of_run(run: RunReport, choice: Choice) -> RunReport:
    after, intervals = run.recalibrated, run.intervals
    if after is not None:
        maps = choice.by_estimator(after.maps)
        after = replace(after, estimators=choice.by_estimator(after.estimators), maps=maps)
    if intervals is not None:
        intervals = {
            kind: replace(drawn, estimators=choice.by_estimator(drawn.estimators)) for kind, drawn in intervals.items()
        }
    estimators = choice.by_estimator({estimator.name: estimator for estimator in run.estimators}).values()
    shown = tuple(
        replace(own, metrics=choice.by_metric(own.metrics), answered=choice.by_metric(own.answered))
        for own in estimators
    )
    return replace(run, estimators=shown, recalibrated=after, intervals=intervals)
