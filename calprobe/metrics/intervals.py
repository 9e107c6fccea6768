"""From a metric's resampled values to its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from calprobe.arrays import Floats, Ints
from calprobe.metrics.metric import Metric, RankMetric, ReferenceMetric

LEVEL = 0.95  # of every interval
SIGNIFICANT = 0.05  # p-values below it tell a difference from none
FEW = 10  # right answers, or wrong ones: of fewer, resamples do not show how sure an order is
SAME = 1e-6  # spread of resampled values that is rounding, also of confidences that a model gives in float32


class Numbers:
    """A record of numbers: two with the same are equal, also where both are undefined."""

    __slots__: tuple[str, ...] = ()

    # As generated, it would go by which NaN it is until Python 3.12, and call no two of them equal from 3.13 on.
    def __eq__(self, other: object) -> bool:
        return self._numbers() == other._numbers() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._numbers())

    def _numbers(self) -> tuple[float | None, ...]:
        numbers = (getattr(self, name) for name in self.__slots__)
        return tuple(None if number != number else number for number in numbers)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(Numbers):
    """A metric's value with its 95 % interval. NaN where undefined; the interval also where no resampling was asked.

    >>> Estimate(0.5) == Estimate(0.5, float("nan"), float("nan"))
    True
    """

    value: float
    low: float = float("nan")
    high: float = float("nan")


UNDEFINED = Estimate(float("nan"))  # of no instances, or not computed


@dataclass(frozen=True, slots=True)
class Draws:
    """A metric's value, and those that it takes by resampling. NaN where it is undefined."""

    value: float
    resampled: Floats  # [n_resamples]; none without instances
    by_chance: Floats | None = None  # of a biased metric: [n_resamples], what perfect calibration gives
    few: int = 0  # instances or clusters, where a difference needs more, see `too_few`
    beyond: tuple[float, float] = (0.0, 0.0)  # how far the interval reaches below and above them, see `exact_reach`
    trials: int = 0  # answers, or clusters of them, that the accuracy in it is of; 0: there is none in it
    # The ends of its own interval where so few answers are right, or wrong, that resamples do not show them; NaN: none.
    ends: tuple[float, float] | None = None

    @property
    def is_withheld(self) -> bool:
        """Whether its order rests on too few answers for an interval, and for tests of its differences."""
        return self.ends is not None and math.isnan(self.ends[0])


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How many of the answers, or of the clusters that are drawn together, are right and wrong; of a cluster both."""

    trials: int
    right: int
    wrong: int
    single: bool  # each trial is one answer

    @classmethod
    def of(cls, correct: Ints, units: Ints, *, single: bool) -> Outcomes:
        """Those of instances [instances], each 0 or 1, that are drawn as units [instances]."""
        right, wrong = (np.unique(units[correct == outcome]) for outcome in (1, 0))
        return cls(len(np.union1d(right, wrong)), len(right), len(wrong), single)

    @property
    def alike(self) -> float:
        """The accuracy where all answers are right, or all wrong; NaN where they differ."""
        return 0.0 if not self.right else 1.0 if not self.wrong else float("nan")

    @property
    def few(self) -> bool:
        """Whether an order of right answers against wrong ones rests on few of either."""
        return min(self.right, self.wrong) < FEW

    def exact(self) -> tuple[float, float] | None:
        """The ends of the accuracy's exact interval; None where resamples show them, or clusters are drawn."""
        return clopper_pearson(self.right, self.trials) if self.single and self.trials and self.few else None


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


def interval(draws: Draws, metric: Metric | None = None) -> Estimate:
    """The percentiles of the resampled values; of a biased metric shifted, see `bootstrap`.

    Those of an overfit metric are shifted likewise; one that is not biased has no values by chance to be held against.
    Where an accuracy is 0 or 1 the ends lie as far out as its exact interval, and where few single answers are right,
    or wrong, they are that interval's; a metric of the order has none then. Where all resamples agree on any other
    number, it has no interval.
    """
    values = defined(draws.resampled)
    if np.isnan(draws.value) or not len(values):
        return Estimate(draws.value)
    if draws.ends is not None:
        return Estimate(draws.value, *draws.ends)
    if agree(values) and not any(draws.beyond):
        return Estimate(draws.value)
    low, high = percentiles(values)
    overfit, most = (False, 1.0) if metric is None else (metric.overfit, metric.bounds[1])
    if draws.by_chance is None and not overfit:
        return Estimate(draws.value, low - draws.beyond[0], high + draws.beyond[1])
    excess = Excess.of(draws, overfit)
    low, high = low - excess.bias - excess.own, high - excess.bias
    return Estimate(draws.value, max(0.0, min(low, draws.value)), min(most, max(high, draws.value)))


def reference(draws: Draws | None, metric: ReferenceMetric) -> Estimate:
    """What perfect calibration shows of an error by its draws; NaN without any by chance."""
    if draws is None or draws.by_chance is None or not len(draws.by_chance):
        return UNDEFINED
    return Estimate(*metric.compute(draws.value, draws.by_chance))


def agree(values: Floats) -> bool:
    """Whether several resamples have the same value, but for rounding."""
    return len(values) > 1 and bool(np.ptp(values) < SAME)


def exact_reach(share: float, trials: int) -> tuple[float, float]:
    """How far the exact interval of Clopper and Pearson 1934 reaches below and above a share of 0 or 1.

    Where all answers are right, or all wrong, so are those of each resample: the accuracy seems to be known, as does
    what it is taken away from. 0 and 0 of any other share, whose resamples differ.

    >>> exact_reach(1.0, 1)
    (0.975, 0.0)
    """
    reach = _farthest([trials])
    return (0.0, reach) if share == 0 else (reach, 0.0) if share == 1 else (0.0, 0.0)


def clopper_pearson(right: int, trials: int) -> tuple[float, float]:
    """The exact interval of Clopper and Pearson 1934 of a share of single trials, few of them right or few wrong.

    >>> [round(end, 4) for end in clopper_pearson(1, 60)]
    [0.0004, 0.0894]
    """
    if right > trials - right:
        low, high = clopper_pearson(trials - right, trials)
        return 1 - high, 1 - low
    tail = (1 - LEVEL) / 2
    return _share_with(right - 1, trials, 1 - tail), _share_with(right, trials, tail)


@cache
def _share_with(most: int, trials: int, probability: float) -> float:
    """The share with which at most so many of the trials come out right with this probability, 0 if most is -1.

    As SciPy's `betaincinv`, which takes longer to import than these few terms to add.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        terms = (math.comb(trials, n) * share**n * (1 - share) ** (trials - n) for n in range(most + 1))
        low, high = (share, high) if sum(terms) > probability else (low, share)
    return low


def as_share(draws: Draws, trials: int) -> Draws:
    """The draws of a share of so many trials, of which 0 and 1 have an exact interval."""
    return replace(draws, beyond=exact_reach(draws.value, trials), trials=trials)


def with_exact_ends(draws: Mapping[str, Draws], metrics: Iterable[Metric], outcomes: Outcomes) -> dict[str, Draws]:
    """A sample's draws by metric, where few right or wrong answers count by the accuracy's exact interval.

    Metrics of their order have no interval then.
    """
    below, above = exact_reach(outcomes.alike, outcomes.trials)
    changed = dict(draws)
    for metric in metrics:
        own = draws[metric.name]
        if metric.proportion:
            own = replace(own, beyond=(below, above), trials=outcomes.trials, ends=outcomes.exact())
        elif metric.less_accuracy:
            own = replace(own, beyond=(above, below), trials=outcomes.trials)
        elif isinstance(metric, RankMetric) and outcomes.few:
            own = replace(own, ends=(math.nan, math.nan))
        changed[metric.name] = own
    return changed


def mean_beyond(several: Sequence[Draws]) -> tuple[float, float]:
    """How far the interval of a mean over independent groups reaches beyond its resamples.

    Of the groups whose answers are all right, or all wrong, together: ten with three right answers each say more than
    one with three.
    """
    below, above = (_farthest([draws.trials for draws in several if draws.beyond[side]]) for side in (0, 1))
    return below / max(len(several), 1), above / max(len(several), 1)


def least_beyond(several: Sequence[Draws]) -> tuple[float, float]:
    """The same of a mean over confidences in the same answers: as far as that of the one that is known best."""
    below, above = (min((draws.beyond[side] for draws in several), default=0.0) for side in (0, 1))
    return below, above


def _farthest(trials: Sequence[int]) -> float:
    """The largest sum of 1 - p over groups that have only right answers in 2.5 % of samples, so many answers each.

    The largest sum with the product of p^n at 0.025 has p in proportion to n, and 1 in groups too large for that.
    """
    n = np.sort([number for number in trials if number]).astype(np.float64)
    if not len(n):
        return 0.0
    unit = np.exp((math.log((1 - LEVEL) / 2) - np.cumsum(n * np.log(n))) / np.cumsum(n))  # p / n of the first groups
    used = int(np.flatnonzero(unit * n < 1)[-1])
    return float((1 - unit[used] * n[: used + 1]).sum())


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
