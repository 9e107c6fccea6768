"""Which numbers of a column are the best: the same rule on a terminal and in every file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from calprobe.analysis.results import RunReport
from calprobe.metrics import Metric

DECIMALS = 4  # as numbers are printed
# Of the answers, which many estimators share, and no merit of a confidence: no estimator is marked for it.
UNMARKED = "accuracy"


def best_places(values: Sequence[float | None], better: Literal["smaller", "larger"] | None) -> frozenset[int]:
    """The places of the best numbers, going by what is printed: four decimals.

    Numbers that are printed alike are equally good, and all of them are the best. None is where all are printed alike,
    where only one is defined, or where there is no direction. NaN is undefined, None no number: neither is ever the
    best.

    >>> sorted(best_places([0.25, 0.12341, float("nan"), 0.12339], "smaller"))
    [1, 3]
    >>> sorted(best_places([0.5, 0.5], "larger"))
    []
    """
    printed = {place: round(v, DECIMALS) for place, v in enumerate(values) if v is not None and not math.isnan(v)}
    if better is None or len(set(printed.values())) < 2:
        return frozenset()
    best = min(printed.values()) if better == "smaller" else max(printed.values())
    return frozenset(place for place, value in printed.items() if value == best)


def best_estimators(run: RunReport, metric: Metric) -> frozenset[str]:
    """The names of a run's estimators that are best by a metric; none by accuracy, see `UNMARKED`."""
    if metric.name == UNMARKED:
        return frozenset()
    values = [estimator.metrics[metric.name].value for estimator in run.estimators]
    return frozenset(run.estimators[place].name for place in best_places(values, metric.better))
