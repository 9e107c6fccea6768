"""Statistics of several means over the same instances: spread, recovered share, and their intervals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_numbers
from calprobe.metrics.intervals import UNDEFINED, Draws, Estimate, interval
from calprobe.metrics.metric import Metric
from calprobe.metrics.resamples import (
    BLOCK_ENTRIES,
    Block,
    ClusterLabels,
    Clusters,
    Resampling,
    check_clusters,
    of_blocks,
)

Statistic = Callable[[Floats], Floats]  # means [resamples, quantities] -> [resamples]

SPREAD = Metric("spread", "spread", "largest minus smallest accuracy over variants", "smaller", biased=True)


def bootstrap_of_means(
    values: npt.ArrayLike,
    statistic: Statistic,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> Estimate:
    """A statistic of the means of several quantities, with its 95 % percentile interval over instances.

    Every resample draws instances, with all of their quantities together.

    Args:
        values: [quantities, instances], finite.
        statistic: from means [resamples, quantities] to [resamples]; NaN where undefined.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances.
    Returns:
        An estimate; NaN without instances.
    Raises:
        ValueError: not two-dimensional, or not finite.

    >>> bootstrap_of_means([[1, 1, 0, 1], [1, 0, 0, 0]], lambda means: means[:, 0] - means[:, 1]).value
    0.5
    """
    checked = _checked(values)
    draws = _draws(checked, statistic, resampling, check_clusters(clusters, checked.shape[1]))
    return interval(draws)


def spread(
    correct: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
    percentile: bool = False,
) -> Estimate:
    """The largest minus the smallest accuracy over variants of a prompt, on the same instances.

    It cannot be negative, so chance makes it too large, and a resample of it larger again. The interval is that of
    other biased errors (`bootstrap`): shifted down, its upper end by the bias of resampling, its lower end by twice
    that; it begins at 0 where equally good variants could have given the value by chance, `spread_by_chance`.

    Args:
        correct: [variants, instances], 0 or 1.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances.
        percentile: the plain percentiles of the resampled values in place of the shifted interval.
    Returns:
        An estimate in [0, 1], smaller is better; NaN without variants or instances.
    Raises:
        ValueError: not two-dimensional, or not finite.

    >>> spread([[1, 1, 1, 0], [1, 0, 1, 0], [0, 1, 0, 0]]).value
    0.5
    """
    checked = _checked(correct)
    if not checked.size:
        return UNDEFINED
    groups = check_clusters(clusters, checked.shape[1])
    draws = _draws(checked, _range, resampling, groups)
    if percentile or not len(draws.resampled):
        return interval(draws)
    by_chance = _swapped(checked, resampling, groups)
    return interval(Draws(draws.value, draws.resampled, by_chance), SPREAD)


def spread_by_chance(
    correct: npt.ArrayLike, resampling: Resampling = Resampling(), clusters: ClusterLabels | None = None
) -> float:
    """The mean spread if the variants were equally good: each instance's outcomes go to the variants in any order.

    Instances of a cluster are reordered alike. Arguments and errors are those of `spread`; NaN without resamples.

    >>> spread_by_chance([[1, 1, 1], [1, 1, 1]])
    0.0
    """
    checked = _checked(correct)
    if not checked.size or not resampling.n_resamples:
        return float("nan")
    return float(_swapped(checked, resampling, check_clusters(clusters, checked.shape[1])).mean())


def recovered_share(first: npt.ArrayLike, repaired: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """How much of a gap in accuracy a repair closes: `(repaired - first) / (reference - first)`.

    1 where the repair reaches the reference, above it where it does better, below 0 where it does harm. Source: arXiv
    2605.02038, table 1.

    Args:
        first: accuracies without the repair, any shape.
        repaired: with it, the same shape.
        reference: those to be reached, the same shape.
    Returns:
        Shares of the same shape; NaN where there is no gap.

    >>> recovered_share([0.2, 0.5], [0.5, 0.6], [0.8, 0.5]).round(3).tolist()
    [0.5, nan]
    """
    low, new = check_numbers("first", first), check_numbers("repaired", repaired)
    high = check_numbers("reference", reference)
    gap = high - low
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(gap == 0, np.nan, (new - low) / gap)


def _range(means: Floats) -> Floats:
    largest: Floats = means.max(axis=1) - means.min(axis=1)
    return largest


def _draws(values: Floats, statistic: Statistic, resampling: Resampling, clusters: Clusters | None) -> Draws:
    if not values.size:
        return Draws(float("nan"), np.empty(0))
    value = float(statistic(values.mean(axis=1)[None, :])[0])

    def of_block(block: Block) -> Floats:
        sums = (block.counts[:, None, :] * values).sum(axis=2)
        return statistic(sums / block.counts.sum(axis=1)[:, None])

    by_block = of_blocks(of_block, values.shape[1], resampling, clusters)
    return Draws(value, np.concatenate(by_block) if by_block else np.empty(0))


def _swapped(values: Floats, resampling: Resampling, clusters: Clusters | None) -> Floats:
    """The spread with each instance's outcomes given to the variants in random order, [n_resamples]."""
    rng = np.random.default_rng([resampling.seed, 2])
    of = np.arange(values.shape[1]) if clusters is None else clusters.of
    number = values.shape[1] if clusters is None else clusters.number
    rows = max(1, BLOCK_ENTRIES // (len(values) * number))
    spreads = []
    for done in range(0, resampling.n_resamples, rows):
        drawn = rng.random((min(rows, resampling.n_resamples - done), number, len(values)))
        order = drawn.argsort(axis=2).take(of, axis=1)
        spreads.append(np.ptp(np.take_along_axis(values.T[None], order, axis=2).mean(axis=1), axis=1))
    return np.concatenate(spreads)


def _checked(values: npt.ArrayLike) -> Floats:
    numbers = check_numbers("values", values)
    if numbers.ndim != 2 or not np.isfinite(numbers).all():
        raise ValueError(f"values must be finite numbers in two dimensions; got shape {numbers.shape}")
    return numbers
