"""Bands around accuracy-rejection curves: how far each point would move with other instances of the same kind.

A curve is a function from how often a resample holds each instance to the accuracies of its points. All curves of a
call see the same resamples, which are those of `bootstrap`, a block at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.metrics.intervals import LEVEL
from calprobe.metrics.rejection import accuracy_at_coverage, curve_of_thresholds, curve_of_votes
from calprobe.metrics.resamples import Block, Resampling, blocks, check_clusters
from calprobe.metrics.sample import SortedInstances
from calprobe.metrics.threads import map_in_order


@dataclass(frozen=True, slots=True)
class AccuracyBand:
    """The points of a curve with the ends of their 95 % intervals; NaN where undefined or without resamples."""

    accuracy: Floats  # [points]
    low: Floats  # [points]
    high: Floats  # [points]


class AccuracyCurve(Protocol):
    """What gives the accuracies of resamples."""

    def __call__(self, counts: Ints) -> Floats:
        """From counts [resamples, instances], in the caller's order, to accuracies [resamples, points]."""


@dataclass(frozen=True, slots=True)
class AtThresholds:
    """The curve of `reject_by_threshold`."""

    instances: SortedInstances
    thresholds: Floats  # [points]

    def __call__(self, counts: Ints) -> Floats:
        """See `AccuracyCurve`."""
        return curve_of_thresholds(self.instances.resampled(counts), self.thresholds).accuracy


@dataclass(frozen=True, slots=True)
class AtCoverage:
    """The curve of `accuracy_at_coverage`."""

    instances: SortedInstances
    coverage: Floats  # [points], shares kept, in (0, 1]

    def __call__(self, counts: Ints) -> Floats:
        """See `AccuracyCurve`."""
        return accuracy_at_coverage(self.instances.resampled(counts), self.coverage)


@dataclass(frozen=True, slots=True)
class AtVotes:
    """The curve of `reject_by_vote`."""

    votes: Sequence[int]  # [points]
    failed: npt.NDArray[np.bool_]  # [points, instances]
    correct: npt.NDArray[np.bool_]  # [points, instances]

    def __call__(self, counts: Ints) -> Floats:
        """See `AccuracyCurve`."""
        return curve_of_votes(counts, self.votes, self.failed, self.correct).accuracy


def accuracy_bands(
    curves: Mapping[str, AccuracyCurve],
    n_instances: int,
    resampling: Resampling = Resampling(),
    clusters: npt.ArrayLike | None = None,
) -> dict[str, AccuracyBand]:
    """Each curve's points with their 95 % percentile bootstrap intervals.

    The intervals hold point by point, not for the curve as a whole. Where hardly anything is kept they are too narrow:
    of one instance kept, every resample that holds it says the same.

    Args:
        curves: by name, of the same instances each.
        n_instances: their number.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster, which are drawn whole; None draws single instances.
    Returns:
        A band by name. Resamples in which nothing is kept at a point are left out of its interval. Interval NaN where
        the accuracy is, no resamples are asked for, or all instances are of one cluster.
    Raises:
        ValueError: clusters that do not fit the instances.

    >>> from calprobe.metrics.sample import sort_instances
    >>> instances = sort_instances([0.9, 0.8, 0.3, 0.6], [True, True, False, False])
    >>> band = accuracy_bands({"": AtThresholds(instances, np.array([0.0, 0.7, 1.0]))}, 4)[""]
    >>> band.accuracy.tolist(), band.low.tolist(), band.high.tolist()
    ([0.5, 1.0, nan], [0.0, 1.0, nan], [1.0, 1.0, nan])
    """
    groups = check_clusters(clusters, n_instances)
    whole = np.ones((1, n_instances), dtype=np.int64)
    values = {name: curve(whole)[0] for name, curve in curves.items()}
    enough = n_instances > 0 if groups is None else groups.number > 1

    def of_block(block: Block) -> list[Floats]:
        return [curve(block.counts) for curve in curves.values()]

    drawn = map_in_order(of_block, blocks(n_instances, resampling, groups, by_chance=False)) if enough else []
    found = {}
    for place, (name, accuracy) in enumerate(values.items()):
        resampled = np.concatenate([np.empty((0, len(accuracy))), *(block[place] for block in drawn)])
        found[name] = AccuracyBand(accuracy, *_ends(accuracy, resampled))
    return found


def _ends(accuracy: Floats, resampled: Floats) -> tuple[Floats, Floats]:
    """The ends of the middle 95 % of each column of [resamples, points]."""
    if not len(resampled):
        return np.full(len(accuracy), np.nan), np.full(len(accuracy), np.nan)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, high = np.nanquantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return np.where(np.isnan(accuracy), np.nan, low), np.where(np.isnan(accuracy), np.nan, high)
