"""Pearson's and Spearman's correlation of two confidences in the same answers, with bootstrap draws.

Confidences that are put into words are a handful of numbers, so instances are first counted by the pair of values that
they have: a resample is then so often each pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_vector
from calprobe.metrics.intervals import Draws, Estimate, interval
from calprobe.metrics.resamples import Block, ClusterLabels, Resampling, check_clusters, of_blocks

SAME = 1e-12  # values this close differ by rounding


@dataclass(frozen=True, slots=True)
class Correlation:
    """How two confidences in the same answers go together."""

    instances: int  # with both
    pearson: Draws
    spearman: Draws

    @property
    def linear(self) -> Estimate:
        """Pearson's r with its interval."""
        return interval(self.pearson)

    @property
    def of_ranks(self) -> Estimate:
        """Spearman's rho with its interval."""
        return interval(self.spearman)


def correlation(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> Correlation:
    """Pearson's r and Spearman's rho (Pearson's of mean ranks) over the instances that have both values.

    Args:
        x: [instances], NaN where there is none.
        y: [instances], likewise.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances.
    Returns:
        Both in [-1, 1], larger is more alike; NaN with fewer than two instances, and where one side is constant to
        1e-12. Resamples in which one side is constant are left out of intervals.
    Raises:
        ValueError: not one-dimensional, or of different lengths.

    >>> found = correlation([0.1, 0.2, 0.9, float("nan")], [0.0, 0.5, 0.6, 1.0])
    >>> found.instances, round(found.pearson.value, 3), round(found.spearman.value, 3)
    (3, 0.714, 1.0)
    """
    first, second = check_vector("x", x), check_vector("y", y)
    if len(first) != len(second):
        raise ValueError(f"x and y must be of one length; got {len(first)} and {len(second)}")
    kept = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    pairs = _Pairs.of(first[kept], second[kept])
    once = pairs.both(np.ones((1, len(kept)), np.int64))
    by_block = of_blocks(
        lambda block: pairs.both(_counts(block, kept)), len(first), resampling, check_clusters(clusters, len(first))
    )
    drawn = np.concatenate(by_block, axis=1) if by_block else np.empty((2, 0))
    linear, ranked = (Draws(float(once[which, 0]), drawn[which]) for which in (0, 1))
    return Correlation(len(kept), linear, ranked)


def _counts(block: Block, kept: npt.NDArray[np.intp]) -> Ints:
    return block.counts if len(kept) == block.counts.shape[1] else block.counts.take(kept, axis=1)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Instances by the pair of values that they have, pairs sorted by their first value."""

    order: npt.NDArray[np.intp]  # [instances], pair by pair
    starts: npt.NDArray[np.intp]  # [pairs], of each one's instances in `order`
    x: Floats  # [pairs]
    y: Floats  # [pairs]

    @classmethod
    def of(cls, x: Floats, y: Floats) -> _Pairs:
        x, y = _without_rounding(x), _without_rounding(y)
        order = np.lexsort((y, x))
        begins = np.ones(len(order), np.bool_)
        begins[1:] = (np.diff(x[order]) != 0) | (np.diff(y[order]) != 0)
        starts = np.flatnonzero(begins)
        return cls(order, starts, x[order][starts], y[order][starts])

    def both(self, counts: Ints) -> Floats:
        """Pearson's and Spearman's of resamples that hold each instance so often: [2, resamples]."""
        if len(self.starts) < 2:
            return np.full((2, len(counts)), np.nan)
        weights = np.add.reduceat(counts.take(self.order, axis=1), self.starts, axis=1).astype(np.float64)
        shape = weights.shape
        linear = _pearson(weights, np.broadcast_to(self.x, shape), np.broadcast_to(self.y, shape))
        ranked = _pearson(weights, _mean_ranks(weights, self.x), _mean_ranks(weights, self.y))
        return np.array([linear, ranked])


def _without_rounding(values: Floats) -> Floats:
    """Each value as the least of those that lie within rounding of each other."""
    if not len(values):
        return values
    distinct, of = np.unique(values, return_inverse=True)
    new = np.diff(distinct, prepend=-np.inf) > SAME
    least: Floats = distinct[new][np.cumsum(new) - 1][of.reshape(-1)]
    return least


def _pearson(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Correlation of values [resamples, pairs] under weights [resamples, pairs]: [resamples]; NaN of a constant."""
    total = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        from_x, from_y = x - (weights * x).sum(axis=1, keepdims=True) / total, y - _mean(weights, y, total)
        xx, yy, xy = ((weights * a * b).sum(axis=1) for a, b in ((from_x, from_x), (from_y, from_y), (from_x, from_y)))
        ratios = np.clip(xy / np.sqrt(xx * yy), -1, 1)
    varies = _varies(weights, x) & _varies(weights, y)
    correlations: Floats = np.where(varies, ratios, np.nan)
    return correlations


def _mean(weights: Floats, values: Floats, total: Floats) -> Floats:
    mean: Floats = (weights * values).sum(axis=1, keepdims=True) / total
    return mean


def _varies(weights: Floats, values: Floats) -> npt.NDArray[np.bool_]:
    """Whether a resample holds two different values, [resamples]."""
    held = weights > 0
    most = np.where(held, values, -np.inf).max(axis=1)
    varies: npt.NDArray[np.bool_] = most > np.where(held, values, np.inf).min(axis=1)
    return varies


def _mean_ranks(weights: Floats, values: Floats) -> Floats:
    """The rank of each pair's value in each resample, equal ones having the mean of theirs: [resamples, pairs]."""
    _, of = np.unique(values, return_inverse=True)
    of = of.reshape(-1)
    order = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[order], np.arange(of.max() + 1))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
    of_pairs: Floats = ranks.take(of, axis=1)
    return of_pairs
