"""Statistics beside the metrics: corrected and exact p-values, intervals of proportions, a rank correlation."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_numbers, check_vector, refuse
from calprobe.metrics.intervals import LEVEL, UNDEFINED, Estimate

NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)  # 1.96
LEAST = 4  # pairs; the standard error has n - 3 below it


def holm(p_values: npt.ArrayLike) -> Floats:
    """P-values adjusted for their number, so that at most 5 % of all tables have a false difference below 0.05.

    The k-th smallest of m becomes `max over j <= k of min(1, (m - j + 1) p_j)`. Source: Holm 1979, "A Simple
    Sequentially Rejective Multiple Test Procedure"; valid however the p-values depend on each other, and never less
    powerful than Bonferroni's `m p`.

    Args:
        p_values: a table of any shape, in [0, 1]. NaN is no test: it stays NaN and does not count.
    Returns:
        The adjusted p-values, in the same shape, none smaller than before. Equal p-values stay equal.
    Raises:
        ValueError: not numbers, or a value out of range.

    >>> holm([0.01, 0.04, 0.03, float("nan")]).round(10).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    values = check_numbers("p_values", p_values)
    flat = values.ravel()
    refuse("p_values", "must lie in [0, 1] or be NaN", flat, (flat < 0) | (flat > 1))
    tests = np.flatnonzero(~np.isnan(flat))
    ascending = tests[np.argsort(flat[tests], kind="stable")]
    adjusted = np.full(len(flat), np.nan)
    scaled = flat[ascending] * np.arange(len(ascending), 0, -1)
    adjusted[ascending] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted.reshape(values.shape)


def max_t(statistics: npt.ArrayLike, null: npt.ArrayLike) -> Floats:
    """P-values of several tests on the same resamples, adjusted for their number and for how they depend on each other.

    Westfall and Young's step-down maxT (1993, "Resampling-Based Multiple Testing", algorithm 2.8). Tests in descending
    order of their statistic; the k-th p-value is `(1 + #{b: max over j >= k of null[j, b] >= t_k}) / (1 + r)`, or the
    one before where that is larger. The more the tests agree, the less they are corrected: two equal ones not at all.

    Args:
        statistics: [tests], >= 0; larger is stronger evidence. NaN is no test: its p-value is NaN, it does not count.
        null: [tests, resamples], the same statistic of each resample as if there were no difference.
    Returns:
        The adjusted p-values, [tests], in (0, 1].
    Raises:
        ValueError: shapes that do not fit, or a NaN in `null` of a test.

    >>> max_t([3.0, 1.0], [[0.5, 1.5, 0.1], [0.5, 0.2, 2.0]]).tolist()
    [0.25, 0.5]
    """
    observed, drawn = check_vector("statistics", statistics), np.asarray(null, dtype=np.float64)
    if drawn.ndim != 2 or len(drawn) != len(observed):
        raise ValueError(f"null must have a row for each of {len(observed)} tests; got shape {drawn.shape}")
    tests = np.flatnonzero(~np.isnan(observed))
    if np.isnan(drawn[tests]).any():
        raise ValueError("null must not be NaN")
    descending = tests[np.argsort(-observed[tests], kind="stable")]
    largest = np.maximum.accumulate(drawn[descending][::-1], axis=0)[::-1]  # of this test and of those after it
    reached = (largest >= observed[descending][:, None]).sum(axis=1)
    adjusted = np.full(len(observed), np.nan)
    adjusted[descending] = np.maximum.accumulate((1 + reached) / (1 + drawn.shape[1]))
    return adjusted


def mcnemar(first_only: int, second_only: int) -> float:
    """Exact two-sided p-value of McNemar's test: are two classifiers right equally often on the same instances?

    `min(1, 2 P(X <= min(b, c)))` for X binomial with b + c draws and probability 1/2. Source: McNemar 1947, "Note on
    the sampling error of the difference between correlated proportions". It takes instances for independent draws.

    Args:
        first_only: b, instances that only the first gets right, >= 0.
        second_only: c, instances that only the second gets right, >= 0.
    Returns:
        In (0, 1]; 1 where both are equally often right alone.
    Raises:
        ValueError: a negative count.

    >>> mcnemar(1, 5)
    0.21875
    """
    fewer, draws = min(first_only, second_only), first_only + second_only
    if fewer < 0:
        raise ValueError(f"first_only and second_only must be counts, >= 0; got {first_only} and {second_only}")
    ways = below = 1  # of choosing k of the draws, and their sum up to k
    for k in range(fewer):
        ways = ways * (draws - k) // (k + 1)
        below += ways
    return float(min(Fraction(1), Fraction(2 * below, 2**draws)))


def wilson_interval(successes: npt.ArrayLike, trials: npt.ArrayLike, z: float = NORMAL) -> tuple[Floats, Floats]:
    """The 95 % score interval of each proportion k / n.

    `(k + z^2/2 -+ z sqrt(k (n - k) / n + z^2/4)) / (n + z^2)` with z = 1.96. Source: Wilson 1927, "Probable Inference,
    the Law of Succession, and Statistical Inference"; Brown, Cai, DasGupta 2001 recommend it for small n.

    Args:
        successes: [proportions], k, within 0 and n.
        trials: [proportions], n, independent of each other.
        z: normal quantile, 1.96 for each proportion's own interval; that of `simultaneous_normal` for all together.
    Returns:
        Lower and upper ends, both [proportions], in [0, 1]; they hold k / n, and have a width where it is 0 or 1. NaN
        where n is 0.
    Raises:
        ValueError: not one-dimensional, of different lengths, or k not within 0 and n.

    >>> low, high = wilson_interval([0, 5, 0], [10, 10, 0])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.2366, nan], [0.2775, 0.7634, nan])
    """
    k, n = check_vector("successes", successes), check_vector("trials", trials)
    if len(k) != len(n):
        raise ValueError(f"successes and trials must be of one length; got {len(k)} and {len(n)}")
    refuse("successes", "must lie within 0 and the number of trials", k, ~((k >= 0) & (k <= n)))
    square = z**2
    with np.errstate(invalid="ignore", divide="ignore"):
        reach = z * np.sqrt(k * (n - k) / n + square / 4)
        centre = k + square / 2
        share = k / n
        # Rounding could leave out a proportion of 0 or 1, which the ends are.
        low = np.minimum(np.maximum((centre - reach) / (n + square), 0.0), share)
        high = np.maximum(np.minimum((centre + reach) / (n + square), 1.0), share)
    return low, high


def paired_share_difference(first_only: int, second_only: int, instances: int) -> Estimate:
    """How much larger the first share is than the second, of the same instances, with its 95 % interval.

    The value is `(b - c) / n`. The interval is that of Bonett and Price 2012, "Adjusted Wald Confidence Interval for a
    Difference of Binomial Proportions Based on Paired Data": with `p = (b + 1) / (n + 2)`, `q = (c + 1) / (n + 2)` it
    is `p - q -+ 1.96 sqrt((p + q - (p - q)^2) / (n + 2))`, within [-1, 1] and drawn out to hold the value. It has a
    width where b and c are 0, and where a bootstrap of a few instances has none.

    Args:
        first_only: b, instances that only the first gets right, >= 0.
        second_only: c, instances that only the second gets right, >= 0.
        instances: n, at least b + c.
    Returns:
        An estimate in [-1, 1], NaN without instances. It takes instances for independent draws.
    Raises:
        ValueError: a negative count, or more than there are instances.

    >>> found = paired_share_difference(5, 1, 20)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.2, -0.058, 0.422)
    """
    if min(first_only, second_only) < 0 or first_only + second_only > instances:
        raise ValueError(
            f"first_only and second_only must be counts of {instances} instances; got {first_only} and {second_only}"
        )
    if not instances:
        return UNDEFINED
    value, n = (first_only - second_only) / instances, instances + 2
    p, q = (first_only + 1) / n, (second_only + 1) / n
    reach = NORMAL * math.sqrt((p + q - (p - q) ** 2) / n)
    return Estimate(value, max(-1.0, min(p - q - reach, value)), min(1.0, max(p - q + reach, value)))


def design_effect(correct: npt.NDArray[np.bool_], groups: npt.ArrayLike) -> float:
    """By how much the variance of a proportion of grouped rows exceeds that of as many independent ones.

    `1 + (m - 1) ICC`, with m the mean group size of a row; Wilson's interval of n / design effect rows is that of the
    proportion. The correlation within groups is that of one-way analysis of variance, within 0 and 1, and `1 / groups`
    of the way from there to 1: few groups say little of it. It is 1 where nothing is known of it, with one group, or
    rows that are all right or all wrong. Source: Kish 1965, "Survey Sampling"; Donner 1986 on the correlation.

    Args:
        correct: [rows].
        groups: [rows], a name or number each.
    Returns:
        At least 1, and at most m; exactly 1 where each group has one row, or without rows.

    >>> design_effect(np.array([True, True, False, False]), ["a", "a", "b", "b"])
    2.0
    """
    _, place, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    rows, number = len(correct), len(sizes)
    if rows == number:
        return 1.0
    mean_size = float((sizes**2).sum()) / rows
    right = np.bincount(place, weights=correct)
    total = float(right.sum())
    if number == 1 or total in (0, rows):
        return mean_size
    explained = float((right**2 / sizes).sum())
    within = (total - explained) / (rows - number)
    between = (explained - total**2 / rows) / (number - 1)
    usual_size = (rows - mean_size) / (number - 1)
    correlation = (between - within) / (between + (usual_size - 1) * within)
    correlation = min(1.0, max(0.0, correlation))
    return 1 + (mean_size - 1) * (correlation + (1 - correlation) / number)


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> Estimate:
    """Rank correlation of two quantities with its 95 % interval.

    Pearson's correlation of the ranks, ties having their mean rank. The interval is Bonett and Wright's (2000, "Sample
    Size Requirements for Estimating Pearson, Kendall and Spearman Correlations"): on Fisher's scale,
    `atanh(rho) -+ 1.96 sqrt((1 + rho^2 / 2) / (n - 3))`. It takes the pairs for independent draws, which models of one
    family are not quite; docs/methods/intervals-and-tests.md has its coverages. Resampling a handful of pairs would
    only repeat some.

    Args:
        x: [pairs], such as the accuracies of models.
        y: [pairs], such as their calibration errors.
    Returns:
        An estimate in [-1, 1]. All NaN with fewer than four pairs, or where one side is constant. The interval is NaN
        where the ranks agree or disagree entirely: nothing is left to tell its width from.
    Raises:
        ValueError: not one-dimensional, of different lengths, or NaN.

    >>> found = spearman([0.1, 0.2, 0.3, 0.4, 0.5], [0.5, 0.3, 0.4, 0.2, 0.1])
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (-0.9, -0.996, 0.169)
    """
    first, second = check_vector("x", x), check_vector("y", y)
    for name, values in (("x", first), ("y", second)):
        refuse(name, "must not be NaN", values, np.isnan(values))
    if len(first) != len(second):
        raise ValueError(f"x and y must be of one length; got {len(first)} and {len(second)}")
    if len(first) < LEAST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return UNDEFINED
    ranks = _mean_ranks(first), _mean_ranks(second)
    rho = float(np.clip(np.corrcoef(*ranks)[0, 1], -1, 1))
    if math.isclose(abs(rho), 1):
        return Estimate(math.copysign(1.0, rho))
    reach = NORMAL * math.sqrt((1 + rho**2 / 2) / (len(first) - 3))
    centre = math.atanh(rho)
    return Estimate(rho, math.tanh(centre - reach), math.tanh(centre + reach))


def _mean_ranks(values: Floats) -> Floats:
    """The rank of each value, from 1; equal ones have the mean of theirs. (scipy.stats is slow to import.)"""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[place.reshape(-1)]
    return ranks


def spearman_p_value(rho: float, n_pairs: int) -> float:
    """Two-sided p-value of "no rank correlation", by Student's t: `t = rho sqrt((n - 2) / (1 - rho^2))`, n - 2 degrees.

    Args:
        rho: a rank correlation, in [-1, 1].
        n_pairs: n, the pairs that it is of.
    Returns:
        In [0, 1]; NaN for a NaN, and below three pairs.

    >>> round(spearman_p_value(0.5, 10), 4)
    0.1411
    """
    if math.isnan(rho) or n_pairs < LEAST - 1:
        return float("nan")
    if math.isclose(abs(rho), 1):
        return 0.0
    from scipy.special import stdtr  # SciPy takes a while to import, and most reports need none of it

    return float(2 * stdtr(n_pairs - 2, -abs(rho) * math.sqrt((n_pairs - 2) / (1 - rho**2))))
