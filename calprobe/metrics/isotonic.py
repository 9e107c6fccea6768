"""Isotonic regression of correctness on confidence, by pooling adjacent violators, for many resamples at once.

Neighbours with descending means belong to one block of the solution. All are pooled in every pass, so that a few
passes over ever fewer blocks do, where the usual algorithm takes a step for each instance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.metrics.ranks import tied_starts
from calprobe.metrics.sample import Sample, sort_instances


@dataclass(frozen=True, slots=True)
class Isotonic:
    """The blocks of equal recalibrated confidence of all resamples laid end to end, each resample's ascending."""

    resample: Ints  # [blocks], the row of each
    size: Floats  # [blocks], instances, repeats counted
    right: Floats  # [blocks], correct ones among them
    n_resamples: int

    @property
    def mean(self) -> Floats:
        """The recalibrated confidence: the share correct of each block, [blocks]."""
        return self.right / self.size

    def sums(self, values: Floats) -> Floats:
        """Sums of a quantity [blocks] over each resample, [resamples]."""
        sums: Floats = np.bincount(self.resample, values, self.n_resamples).astype(np.float64, copy=False)
        return sums


def fit_isotonic(sample: Sample) -> Isotonic:
    """The isotonic regression of each resample: the mean of correctness that never falls and has the least squares.

    Ties share a block. Source: Ayer et al. 1955, "An Empirical Distribution Function for Sampling with Incomplete
    Information"; it is the best for every proper score at once (Robertson, Wright, Dykstra 1988).
    """
    starts = _group_starts(sample)
    if not len(starts):
        nothing = np.empty(0)
        return Isotonic(np.empty(0, dtype=np.int64), nothing, nothing, len(sample.right))
    right = np.add.reduceat(sample.right, starts, axis=1)
    size = np.broadcast_to(np.add.reduceat(sample.weights, starts, axis=1), right.shape)
    row = np.repeat(np.arange(len(right)), right.shape[1])
    held = size.ravel() > 0
    return _pooled(row[held], size.ravel()[held], right.ravel()[held], len(right))


def _pooled(row: Ints, size: Floats, right: Floats, n_resamples: int) -> Isotonic:
    """Pool neighbours of one resample until all means ascend."""
    while len(row):
        descends = (right[:-1] * size[1:] >= right[1:] * size[:-1]) & (row[:-1] == row[1:])
        if not descends.any():
            break
        starts = np.flatnonzero(np.concatenate([[True], ~descends]))
        row, size, right = row[starts], np.add.reduceat(size, starts), np.add.reduceat(right, starts)
    return Isotonic(row, size, right, n_resamples)


def _group_starts(sample: Sample) -> npt.NDArray[np.intp]:
    """Where each group begins that is in one block of every resample, [groups].

    A tie is in one block. Where all resamples have the same correctness, so is a tie with all correct and the one after
    it, and a tie with none correct and the one before it: whatever the counts, their means cannot ascend.
    """
    starts = tied_starts(sample.confidence)
    if sample.correct.ndim > 1 or not len(starts):
        return starts
    sizes = np.diff(starts, append=len(sample.confidence))
    right = np.add.reduceat(sample.correct, starts)
    pooled = (right == sizes)[:-1] | (right == 0)[1:]
    kept: npt.NDArray[np.intp] = starts[np.concatenate([[True], ~pooled])]
    return kept


def isotonic_confidence(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> tuple[Floats, Floats]:
    """The steps of the isotonic regression: the least confidence of each, ascending, and its share correct.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        Both [steps], the second ascending in [0, 1]. Empty without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> least, share = isotonic_confidence([0.1, 0.4, 0.6, 0.9], [False, True, False, True])
    >>> least.tolist(), share.tolist()
    ([0.1, 0.4, 0.9], [0.0, 0.5, 1.0])
    """
    instances = sort_instances(confidence, correct)
    fit = fit_isotonic(instances.sample())
    starts = np.cumsum(fit.size) - fit.size
    return instances.confidence[starts.astype(np.int64)], fit.mean
