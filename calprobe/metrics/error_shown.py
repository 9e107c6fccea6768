"""Which calibration error stands for confidences where one is printed, and what chance alone makes of it beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from calprobe.metrics.bins import bins_for
from calprobe.metrics.calibration import ACE_BINS
from calprobe.metrics.intervals import Draws, Estimate
from calprobe.metrics.metric import Metric, ReferenceMetric
from calprobe.metrics.reference import p_of_calibration
from calprobe.metrics.resamples import Resampling
from calprobe.metrics.scoring_rules import MEAN_CONFIDENCE

ErrorName = Literal["ace", "ece"]
ERRORS: tuple[ErrorName, ErrorName] = ("ace", "ece")
BEHIND = 11  # the first priority of columns that a page shows on request
SMALL = 1_000  # questions; with fewer, chance makes a good part of an error, so that is shown beside it


@dataclass(frozen=True, slots=True)
class ByChance:
    """What chance makes of an error, if the confidences are perfectly calibrated."""

    size: Estimate  # its mean, and 95 % of its draws
    p: float  # how often it is at least as large as the error

    @classmethod
    def of(cls, draws: Draws) -> ByChance | None:
        """By an error's own draws; None without any."""
        if draws.by_chance is None or not len(draws.by_chance) or np.isnan(draws.value):
            return None
        low, high = np.quantile(draws.by_chance, [0.025, 0.975])
        size = Estimate(float(draws.by_chance.mean()), float(low), float(high))
        return cls(size, p_of_calibration(draws.value, draws.by_chance))


def has_few_values(confidence: npt.ArrayLike, n_bins: int | None = ACE_BINS) -> bool:
    """Whether confidences have fewer different values than ACE has bins for them, `min(bins, instances)`.

    Ties then leave quantile bins empty, and a bin of one instance weighs as much in ACE as one of a hundred.

    Args:
        confidence: [instances], without NaN.
        n_bins: quantile bins, those of `ace`; None: by the number of instances, `bins_for`.
    Returns:
        False without instances.

    >>> has_few_values([0.9, 0.9, 0.5, 0.9]), has_few_values([0.9, 0.8, 0.7, 0.6])
    (True, False)
    """
    values = np.asarray(confidence, np.float64)
    return len(np.unique(values)) < min(bins_for(len(values)) if n_bins is None else n_bins, len(values))


def error_shown(*, few_values: bool) -> ErrorName:
    """The error that is printed: ECE of confidences with few values, ACE of others."""
    return "ece" if few_values else "ace"


def chance_shown(questions: int, resampling: Resampling) -> bool:
    """Whether an error of so many questions is printed with what chance makes of it: of fewer than 1,000, if drawn.

    >>> chance_shown(60, Resampling()), chance_shown(7731, Resampling()), chance_shown(60, Resampling(0))
    (True, False, False)
    """
    return questions < SMALL and resampling.n_resamples > 0


def for_chance(questions: int, resampling: Resampling) -> Resampling:
    """The draws of what chance makes of an error of so many questions where that is shown, else none; no intervals.

    >>> for_chance(60, Resampling()), for_chance(7731, Resampling()).n_resamples
    (Resampling(n_resamples=1000, seed=0, intervals=False), 0)
    """
    shown = chance_shown(questions, resampling)
    return replace(resampling, n_resamples=resampling.n_resamples if shown else 0, intervals=False)


def with_chance(error: str) -> tuple[str, str, str]:
    """The names of an error and of what chance makes of it.

    >>> with_chance("ace")
    ('ace', 'ace_if_calibrated', 'ace_p')
    """
    return (error, f"{error}_if_calibrated", f"{error}_p")


def chance_value(name: str, questions: int, metrics: Mapping[str, Estimate] | Mapping[str, float]) -> Estimate | None:
    """What chance makes of an error of so many questions, by the name of that; None of many, and where none was drawn.

    >>> found = {"ace_p": Estimate(0.3)}
    >>> chance_value("ace_p", 60, found), chance_value("ace_p", 7731, found), chance_value("ece_p", 60, found)
    (Estimate(value=0.3, low=nan, high=nan), None, None)
    """
    value = metrics.get(name)
    return value if questions < SMALL and isinstance(value, Estimate) and not np.isnan(value.value) else None


def columns_shown(metrics: Sequence[Metric], *, few_values: bool, chance: bool) -> tuple[Metric, ...]:
    """The metrics in the order of a table's columns, with the room that a table of these confidences gives each.

    The error to be printed takes the room of ACE, and the other one that of ECE. Each error has what chance makes of it
    behind it. Where that is shown, it is printed and gets room with its error, and one error alone is printed.

    Args:
        metrics: those of a report, in the order of its files.
        few_values: whether any of the confidences has few values, see `has_few_values`.
        chance: whether what chance makes of errors is shown, see `chance_shown`.
    """
    shown = error_shown(few_values=few_values)
    by_name = {metric.name: metric for metric in metrics}
    if any(name not in by_name for name in ERRORS):
        return tuple(metrics)
    first, second = (by_name[name].priority for name in ERRORS)
    mean_first = MEAN_CONFIDENCE.priority or 0  # which gets room before p
    room: dict[str, tuple[bool, int | None]] = {}
    for name in ERRORS:
        printed, priority = (True, first) if name == shown else (not chance and not few_values, second)
        room[name] = (printed, priority)
        if chance:
            _, size, p = with_chance(name)
            # The error that is not printed is no column of a page's first view, nor is what chance makes of it.
            priority = priority if printed else max(priority or 0, BEHIND)
            room |= {name: (printed, priority), size: (printed, priority), p: (printed, max(priority or 0, mean_first))}
    placed = (
        replace(metric, printed=room[metric.name][0], priority=room[metric.name][1]) if metric.name in room else metric
        for metric in metrics
    )
    return tuple(beside_their_errors(list(placed)))


def beside_their_errors(metrics: Sequence[Metric]) -> Iterator[Metric]:
    """The metrics, each followed by its references."""
    of: dict[str, list[Metric]] = {}
    for metric in metrics:
        if isinstance(metric, ReferenceMetric):
            of.setdefault(metric.of, []).append(metric)
    names = {metric.name for metric in metrics}
    for metric in metrics:
        if not isinstance(metric, ReferenceMetric) or metric.of not in names:
            yield metric
            yield from of.get(metric.name, ()) if not isinstance(metric, ReferenceMetric) else ()
