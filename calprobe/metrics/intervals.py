"""From a metric's draws to its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calprobe.arrays import Floats
from calprobe.metrics.draws import Draws

LEVEL = 0.95  # of every interval


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric's value with its 95 % interval. NaN where undefined; the interval also where no resampling was asked."""

    value: float
    low: float = float("nan")
    high: float = float("nan")


@dataclass(frozen=True, slots=True)
class Excess:
    """By how much an error that cannot be negative is too large, because chance alone makes errors."""

    bias: float  # what resampling adds: the mean resampled value less the value
    own: float  # what is in the value itself at most: all of it where perfect calibration could have given it by chance

    @classmethod
    def of(cls, draws: Draws) -> Excess:
        """The excess of a biased metric, whose draws have values by chance; 0 of any other."""
        if draws.by_chance is None:
            return cls(0.0, 0.0)
        bias = float(defined(draws.resampled).mean()) - draws.value
        by_chance = draws.value <= np.quantile(draws.by_chance, LEVEL)
        return cls(bias, draws.value if by_chance else max(bias, 0.0))


def interval(draws: Draws) -> Estimate:
    """The percentiles of the resampled values; of a biased metric shifted, see `bootstrap` and docs/methods.md."""
    values = defined(draws.resampled)
    if np.isnan(draws.value) or not len(values):
        return Estimate(draws.value)
    low, high = percentiles(values)
    if draws.by_chance is None:
        return Estimate(draws.value, low, high)
    excess = Excess.of(draws)
    low, high = low - excess.bias - excess.own, high - excess.bias
    return Estimate(draws.value, max(0.0, min(low, draws.value)), min(1.0, max(high, draws.value)))


def percentiles(values: Floats) -> tuple[float, float]:
    """The two ends of the middle 95 % of some values, [resamples], at least one."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def defined(values: Floats) -> Floats:
    """Those that are not NaN."""
    return values[~np.isnan(values)]
