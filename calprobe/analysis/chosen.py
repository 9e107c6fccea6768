"""What options name, among what there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from calprobe.errors import UsageError
from calprobe.messages import no_estimator, no_such
from calprobe.metrics import Metric, standard_metrics
from calprobe.metrics.metric import is_resampled

T = TypeVar("T")


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
    every = standard_metrics(ace_bins)
    by_name = {metric.name: metric for metric in every if not resampled or is_resampled(metric)}
    return tuple(by_name[name] for name in known_names("--metric", names, by_name))


def only(found: Mapping[str, T], names: Iterable[str]) -> dict[str, T]:
    """What there is under these names, in their order."""
    return {name: found[name] for name in names if name in found}
