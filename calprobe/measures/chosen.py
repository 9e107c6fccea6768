"""What options name, among what there is: estimators and metrics, checked, and what has these names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from calprobe.errors import UsageError
from calprobe.messages import no_estimator, no_such
from calprobe.metrics import Metric, standard_metrics
from calprobe.metrics.metric import is_resampled

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
        columns = self.by_metric({metric.name: metric for metric in metrics}).values()
        if self.metrics is None:
            return tuple(columns)
        return tuple(replace(metric, printed=True, priority=place) for place, metric in enumerate(columns, 1))


def _only(by_name: Mapping[str, T], names: Sequence[str] | None) -> dict[str, T]:
    return {name: by_name[name] for name in (by_name if names is None else names) if name in by_name}


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


def known_metrics(names: Sequence[str], ace_bins: int | None, *, resampled: bool = True) -> tuple[Metric, ...]:
    """The metrics of `--metric`; `resampled`: those alone that differences can be taken of.

    Raises UsageError for a name of none.
    """
    metrics = standard_metrics(ace_bins)
    by_name = {metric.name: metric for metric in metrics if not resampled or is_resampled(metric)}
    return tuple(by_name[name] for name in known_names("--metric", names, by_name))
