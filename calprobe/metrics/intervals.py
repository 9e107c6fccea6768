"""From a metric's resampled values to its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calprobe.arrays import Floats, Ints
from calprobe.metrics.metric import Metric, ReferenceMetric

LEVEL = 0.95  # of every interval
SAME = 1e-12  # spread of resampled values that is rounding


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric's value with its 95 % interval. NaN where undefined; the interval also where no resampling was asked.

    Two with the same numbers are equal, also where both are undefined:

    >>> Estimate(0.5) == Estimate(0.5, float("nan"), float("nan"))
    True
    """

    value: float
    low: float = float("nan")
    high: float = float("nan")

    # As generated, it would go by which NaN it is until Python 3.12, and call no two of them equal from 3.13 on.
    def __eq__(self, other: object) -> bool:
        return self._numbers() == other._numbers() if isinstance(other, Estimate) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._numbers())

    def _numbers(self) -> tuple[float | None, ...]:
        return tuple(None if number != number else number for number in (self.value, self.low, self.high))


@dataclass(frozen=True, slots=True)
class Draws:
    """A metric's value, and those that it takes by resampling. NaN where it is undefined."""

    value: float
    resampled: Floats  # [n_resamples]; none without instances
    by_chance: Floats | None = None  # of a biased metric: [n_resamples], what perfect calibration gives
    few: int = 0  # instances or clusters, where a difference needs more, see `too_few`


@dataclass(frozen=True, slots=True)
class Excess:
    """By how much an error that cannot be negative is too large, because chance alone makes errors."""

    bias: float  # what resampling adds: the mean resampled value minus the value
    own: float  # what is in the value itself at most: all of it where perfect calibration could have given it by chance

    @classmethod
    def of(cls, draws: Draws, overfit: bool = False) -> Excess:
        """The excess of a biased metric (its draws have values by chance) or of an overfit one; 0 of any other."""
        if draws.by_chance is None and not overfit:
            return cls(0.0, 0.0)
        bias = float(defined(draws.resampled).mean()) - draws.value
        if draws.by_chance is None:
            return cls(bias, max(bias, 0.0))
        if draws.value <= _quantile(np.sort(draws.by_chance), LEVEL):
            return cls(bias, draws.value)
        # What a fit gains from noise it gains of any model, and resampling does not show all of it.
        return cls(bias, max(bias, float(draws.by_chance.mean()) if overfit else 0.0))


def interval(draws: Draws, metric: Metric | None = None, trials: int = 0) -> Estimate:
    """The percentiles of the resampled values; of a biased metric shifted, see `bootstrap`.

    Those of an overfit metric are shifted likewise; one that is not biased has no values by chance to be held against.
    Where all resamples agree there are none. A proportion of 0 or 1 of that many trials then has the exact interval of
    Clopper and Pearson 1934, anything else no interval.
    """
    values = defined(draws.resampled)
    if np.isnan(draws.value) or not len(values):
        return Estimate(draws.value)
    if len(values) > 1 and np.ptp(values) < SAME:
        return _without_spread(draws.value, trials)
    low, high = percentiles(values)
    overfit, most = (False, 1.0) if metric is None else (metric.overfit, metric.bounds[1])
    if draws.by_chance is None and not overfit:
        return Estimate(draws.value, low, high)
    excess = Excess.of(draws, overfit)
    low, high = low - excess.bias - excess.own, high - excess.bias
    return Estimate(draws.value, max(0.0, min(low, draws.value)), min(most, max(high, draws.value)))


def reference(draws: Draws | None, metric: ReferenceMetric) -> Estimate:
    """What perfect calibration shows of an error by its draws; NaN without any by chance."""
    if draws is None or draws.by_chance is None or not len(draws.by_chance):
        return Estimate(float("nan"))
    return Estimate(*metric.compute(draws.value, draws.by_chance))


def less_accuracy(draws: Draws, accuracy: float, trials: int) -> Estimate:
    """The interval of what an accuracy is taken away from.

    Where all answers are right, or all wrong, so are those of each resample: the accuracy seems to be known. It then
    counts with the ends of its exact interval, that of so many trials.
    """
    found = interval(draws)
    known = _without_spread(accuracy, trials)
    if np.isnan(known.low) or len(defined(draws.resampled)) < 2:
        return found
    low, high = (found.value, found.value) if np.isnan(found.low) else (found.low, found.high)
    return Estimate(found.value, low + accuracy - known.high, high + accuracy - known.low)


def _without_spread(value: float, trials: int) -> Estimate:
    """The interval of a value that no resample moves."""
    if not trials or value not in (0.0, 1.0):
        return Estimate(value)
    low, high = without_spread(np.array([value]), np.array([trials]), LEVEL)
    return Estimate(value, float(low[0]), float(high[0]))


def without_spread(values: Floats, trials: Ints, level: float) -> tuple[Floats, Floats]:
    """Clopper and Pearson's exact intervals of accuracies of 0 or 1, up to rounding, of so many trials, one at least.

    >>> [ends.round(3).tolist() for ends in without_spread(np.array([1.0, 0.0]), np.array([42, 1]), 0.95)]
    [[0.916, 0.0], [1.0, 0.975]]
    """
    reach = 1 - ((1 - level) / 2) ** (1 / trials)
    right = values > 0.5
    return np.where(right, 1 - reach, 0.0), np.where(right, 1.0, reach)


def percentiles(values: Floats) -> tuple[float, float]:
    """The two ends of the middle 95 % of some values, [resamples], at least one."""
    ascending = np.sort(values)
    return _quantile(ascending, (1 - LEVEL) / 2), _quantile(ascending, (1 + LEVEL) / 2)


def _quantile(ascending: Floats, share: float) -> float:
    """As np.quantile, to the last bit, without its checks: a report has hundreds of them."""
    if not len(ascending) or np.isnan(ascending[-1]):
        return float("nan")
    place = (len(ascending) - 1) * share
    before = int(place)
    beyond = place - before
    low, high = float(ascending[before]), float(ascending[min(before + 1, len(ascending) - 1)])
    return low + (high - low) * beyond if beyond < 0.5 else high - (high - low) * (1 - beyond)


def defined(values: Floats) -> Floats:
    """Those that are not NaN."""
    return values[~np.isnan(values)]
