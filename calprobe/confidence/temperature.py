"""Base after the scores were divided by a temperature, fitted on other instances to all candidates or to the top."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.confidence.distributions import Distributions, softmax
from calprobe.confidence.types import Confidence

FOLDS = 5
SEED = 0
LIMIT = math.log(1000)  # of |log temperature|: where all predictions are right, or all wrong, there is no best one
CLOSE = 1e-10  # in log temperature: a Newton step of that size leaves an error far below rounding
MAX_STEPS = 100  # bisection alone would need 37
GRID = 41  # log temperatures at which the loss of the largest probability is tried: a factor of 1.41 apart
CLOSE_TOP = 1e-7  # in log temperature: a loss is flat at its minimum, and shows no more
FLAT = 1e-14  # difference of losses that is rounding
LEAST_PROBABILITY = 1e-12  # of right and of wrong; `metrics` has the same for NLL, and stages do not import it

Fit = Callable[[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike], float]  # scores, offsets, answer_idx -> temperature


def is_at_limit(temperature: float) -> bool:
    """Whether a fitted temperature is at an end of the search, within a step of its grid: the best one is beyond it.

    >>> [is_at_limit(temperature) for temperature in (0.0012, 1.3, 1000.0)]
    [True, False, True]
    """
    return abs(math.log(temperature)) > LIMIT - 2 * LIMIT / (GRID - 1)


def temperature_confidence(
    distributions: Distributions, row: int = 0, n_folds: int = FOLDS, seed: int = SEED
) -> Confidence:
    """The largest of `softmax(scores / temperature)` under one template, the temperature fitted without the instance.

    docs/methods/estimators.md, "Confidence estimators", beyond the paper; Guo et al. 2017, section 4.2. The instances
    are divided into folds, and each fold gets the temperature that `fit_temperature` finds on the others. Predictions
    are those of base. Higher is surer; within [1/K, 1] for K candidates.

    Folds go by `distributions.rank`, not by the order of the instances: the ranks are permuted (seeded) and assigned
    in turn, so folds differ by one instance at most in size. A run's instances are ranked by relation and line number,
    so all models scored on the same instances have the same folds.

    Args:
        distributions: of any number of instances. With fewer than folds, each is a fold.
        row: the row of `distributions.scores` to read, that of one template.
        n_folds: at least 2.
        seed: of the folds.
    Returns:
        Arrays [instances], with the scaled probabilities. An instance with NaN probabilities fails (confidence 0,
        incorrect) and has no part in the fit. A fold that leaves nothing to fit on keeps temperature 1.
    Raises:
        ValueError: fewer than two folds.

    >>> scores, offsets = [[2.0, 0.0] * 6], range(0, 14, 2)  # always as sure; right four times, then wrong twice
    >>> spaces = Distributions.from_scores(scores, offsets, answer_idx=[0, 0, 0, 0, 1, 1])
    >>> temperature_confidence(spaces, n_folds=6).confidence.round(3).tolist()  # the shares right among the others
    [0.6, 0.6, 0.6, 0.6, 0.8, 0.8]
    """
    return _scaled(distributions, row, fit_temperature, n_folds, seed)


def top_temperature_confidence(
    distributions: Distributions, row: int = 0, n_folds: int = FOLDS, seed: int = SEED
) -> Confidence:
    """As `temperature_confidence`, with the temperature of `fit_top_temperature`: fitted to the confidence itself.

    docs/methods/estimators.md, "Confidence estimators", beyond the paper. Arguments, result and errors are those of
    `temperature_confidence`.

    >>> scores, offsets = [[2.0, 0.0, 0.0] * 6], range(0, 21, 3)
    >>> spaces = Distributions.from_scores(scores, offsets, answer_idx=[0, 0, 0, 0, 1, 1])
    >>> top_temperature_confidence(spaces, n_folds=6).confidence.round(3).tolist()
    [0.6, 0.6, 0.6, 0.6, 0.8, 0.8]
    """
    return _scaled(distributions, row, fit_top_temperature, n_folds, seed)


def _scaled(distributions: Distributions, row: int, fit: Fit, n_folds: int, seed: int) -> Confidence:
    if n_folds < 2:
        raise ValueError(f"n_folds must be 2 or more; got {n_folds}")
    scores, widths = distributions.scores[row], distributions.widths
    n_parts = max(1, min(n_folds, distributions.n_instances))
    fold = np.random.default_rng(seed).permutation(distributions.n_instances)[distributions.rank] % n_parts
    fitted = []
    for held in range(n_parts):
        fitting = fold != held
        offsets = np.concatenate([[0], np.cumsum(widths[fitting])])
        fitted.append(fit(scores[np.repeat(fitting, widths)], offsets, distributions.answer_idx[fitting]))
    temperatures = np.array(fitted)[fold]
    scaled = softmax((scores / np.repeat(temperatures, widths))[None], distributions.offsets)[0]
    largest = np.maximum.reduceat(scaled, distributions.offsets[:-1])
    prediction = distributions.peak([row]).prediction[0]
    return Confidence.of(prediction, largest, distributions.answer_idx, scaled, tuple(fitted))


def fit_temperature(scores: npt.ArrayLike, offsets: npt.ArrayLike, answer_idx: npt.ArrayLike) -> float:
    """The temperature that minimises the negative log-likelihood of the right answers, `softmax(scores / temperature)`.

    Guo et al. 2017, section 4.2. Above 1 it makes less sure, below 1 surer. The likelihood has one minimum, since it is
    convex in 1 / temperature; Newton's method, held within brackets, finds it to about 1e-10.

    Args:
        scores: [candidates], nats, flat over ragged answer spaces.
        offsets: [instances + 1], instance `i` owns `offsets[i]:offsets[i + 1]`.
        answer_idx: [instances], place of the right candidate within the instance's own.
    Returns:
        A number within [0.001, 1000]: at a limit where the best temperature is beyond it, as where every prediction is
        right. 1 where all are equally good: no instance, answer spaces of one, or equal scores. Instances with a NaN or
        +inf score, and those with -inf for the right answer, which no temperature changes, are left out.
    Raises:
        ValueError: as `Distributions.from_scores`.

    >>> from math import log
    >>> round(fit_temperature([log(9), 0.0] * 4, [0, 2, 4, 6, 8], [0, 0, 0, 1]), 6)  # 90 % sure, 75 % right
    2.0
    """
    spaces = Distributions.from_scores(np.asarray(scores, dtype=np.float64)[None], offsets, answer_idx)
    return math.exp(_root(_slope_of_loss(spaces.scores[0], spaces.offsets, spaces.answer_idx)))


def fit_top_temperature(scores: npt.ArrayLike, offsets: npt.ArrayLike, answer_idx: npt.ArrayLike) -> float:
    """The temperature that minimises the negative log-likelihood of the predictions being right or wrong.

    With c the largest probability of `softmax(scores / temperature)` and y whether its candidate is the answer:
    `-mean(y log c + (1 - y) log(1 - c))`. `fit_temperature` fits the probabilities of all candidates, so that those of
    the largest can be off in one direction. This loss has a minimum that is searched on a grid of log temperatures,
    then between the neighbours of the best by golden sections, to about 1e-7.

    Arguments and errors are those of `fit_temperature`.

    Returns:
        A number within [0.001, 1000]; a tie of the largest score counts as right with the share 1/n of n candidates.
        1 where all temperatures are equally good. Instances with a NaN or +inf score are left out.

    >>> from math import log
    >>> round(fit_top_temperature([log(9), 0.0] * 4, [0, 2, 4, 6, 8], [0, 0, 0, 1]), 6)  # 90 % sure, 75 % right
    2.0
    """
    spaces = Distributions.from_scores(np.asarray(scores, dtype=np.float64)[None], offsets, answer_idx)
    loss = _top_loss(spaces)
    grid = np.linspace(-LIMIT, LIMIT, GRID)
    losses = np.array([loss(place) for place in grid])
    if not len(spaces.answer_idx) or np.ptp(losses) < FLAT:
        return 1.0
    best = int(losses.argmin())
    at = _golden(loss, grid[max(0, best - 1)], grid[min(GRID - 1, best + 1)])
    return math.exp(at if loss(at) < losses[best] else grid[best])


def _top_loss(spaces: Distributions) -> Callable[[float], float]:
    """The mean loss of the largest probabilities, over the log temperature."""
    scores, starts = spaces.scores[0], spaces.offsets[:-1]
    with np.errstate(invalid="ignore"):
        below = scores - np.repeat(np.maximum.reduceat(scores, starts), spaces.widths)
    usable = ~np.isnan(np.add.reduceat(below, starts))
    tied = spaces.tied(0)
    right = np.divide(spaces.at_peak(0), tied, out=np.zeros(len(tied)), where=tied > 0)[usable]
    below, widths = below[np.repeat(usable, spaces.widths)], spaces.widths[usable]
    starts = np.cumsum(widths) - widths
    weights = np.empty_like(below)  # written in place, as in `_slope_of_loss`

    def loss(log_temperature: float) -> float:
        if not len(starts):
            return 0.0
        np.exp(np.multiply(below, math.exp(-log_temperature), out=weights), out=weights)
        largest = np.clip(1 / np.add.reduceat(weights, starts), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        losses = right * np.log(largest) + (1 - right) * np.log1p(-largest)
        return -math.fsum(losses.tolist()) / len(losses)  # exact, so that the order of the instances changes nothing

    return loss


def _golden(loss: Callable[[float], float], low: float, high: float) -> float:
    """The place of a minimum between two ends, by golden sections."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = loss(left), loss(right)
    while high - low > CLOSE_TOP:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = loss(right)
    return (low + high) / 2


def _slope_of_loss(scores: Floats, offsets: Ints, answer_idx: Ints) -> Callable[[float], tuple[float, float]]:
    """How the loss changes with the log temperature, over the inverse temperature; and how that changes in its turn.

    With b = 1 / temperature and E, Var over softmax(b s): `sum_i (s_answer - E s)` and `b * sum_i Var s`, which is
    never negative.
    """
    starts, widths = offsets[:-1], np.diff(offsets)
    with np.errstate(invalid="ignore"):
        below = scores - np.repeat(np.maximum.reduceat(scores, starts), widths)
    usable = ~np.isnan(np.add.reduceat(below, starts)) & np.isfinite(below[starts + answer_idx])
    below, widths = below[np.repeat(usable, widths)], widths[usable]
    starts = np.cumsum(widths) - widths
    at_answers = below[starts + answer_idx[usable]].sum()
    finite = np.where(np.isinf(below), 0.0, below)  # -inf has no weight, and 0 * inf would be NaN
    weights = np.empty_like(below)  # written in place: fresh memory for each step would cost more than the sums

    def slope(log_temperature: float) -> tuple[float, float]:
        inverse = math.exp(-log_temperature)
        np.exp(np.multiply(below, inverse, out=weights), out=weights)
        total = np.add.reduceat(weights, starts)
        np.multiply(weights, finite, out=weights)
        mean = np.add.reduceat(weights, starts) / total
        np.multiply(weights, finite, out=weights)
        variance = np.add.reduceat(weights, starts) / total - mean**2
        return float(at_answers - mean.sum()), float(inverse * variance.sum())

    return slope


def _root(slope: Callable[[float], tuple[float, float]]) -> float:
    """Where a slope that never falls is 0, if within the limits, else the limit on that side; 0 if it is 0 there."""
    at = 0.0
    value, rise = slope(at)
    if value == 0:
        return at
    far = math.copysign(LIMIT, -value)
    if slope(far)[0] * value >= 0:
        return far
    low, high = sorted((at, far))
    for _ in range(MAX_STEPS):
        low, high = (at, high) if value < 0 else (low, at)
        target = at - value / rise if rise > 0 else math.inf
        step = (target if low <= target <= high else (low + high) / 2) - at
        at += step
        if abs(step) < CLOSE:
            break
        value, rise = slope(at)
    return at
