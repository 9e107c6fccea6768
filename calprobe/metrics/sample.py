"""What every metric is computed on: instances sorted by confidence, and how often each resample holds each of them.

A metric is written once, over many resamples; the sample as it stands is the one resample that holds every instance
once. So a number and its interval come from the same lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_confidence, check_correct


@dataclass(frozen=True)
class Sample:
    """Resamples of one set of instances. Instances ascend in confidence. What several metrics need is computed once.

    A resample's numbers never depend on which others are computed beside it: nothing here goes through BLAS: its
    sums may differ in the last bit with the number of rows.
    """

    confidence: Floats  # [instances], in [0, 1], ascending
    # [instances], 0 or 1; [resamples, instances] where each resample has its own, which is then any number if clusters
    # of instances are drawn (`SortedInstances.turned`).
    correct: Ints | Floats
    # [resamples, instances], how often the resample holds the instance; [1, instances] where all hold the same, and
    # differ in correctness. What follows has as many rows, and any metric of it and of `correct` one for each resample.
    counts: Ints
    stands_for: int | None = None  # instances that these are, where some stand for several; None: as many as there are

    @property
    def n_instances(self) -> int:
        """Instances that were sampled, whatever the resample."""
        return len(self.confidence) if self.stands_for is None else self.stands_for

    @cached_property
    def sizes(self) -> Ints:
        """Instances in each resample, repeats counted, [resamples]. They differ where clusters are drawn."""
        sizes: Ints = self.counts.sum(axis=1)
        return sizes

    @cached_property
    def weights(self) -> Floats:
        """`counts` as floats, for products, [resamples, instances]."""
        return self.counts.astype(np.float64)

    @cached_property
    def right(self) -> Floats:
        """`counts` of what is correct, as floats, [resamples, instances]."""
        return self.weights * self.correct.astype(np.float64, copy=False)

    @cached_property
    def mass(self) -> Floats:
        """Confidence times `counts`, [resamples, instances]."""
        return self.weights * self.confidence

    @cached_property
    def accuracy(self) -> Floats:
        """Share correct, [resamples]; NaN over nothing."""
        return self.mean(self.correct)

    @cached_property
    def mean_confidence(self) -> Floats:
        """Mean confidence, [resamples]; NaN over nothing."""
        return self.mean(self.confidence)

    @cached_property
    def squared_error(self) -> Floats:
        """Mean of `(confidence - correct)^2`, [resamples]; NaN over nothing."""
        return self.mean((self.confidence - self.correct) ** 2)

    @cached_property
    def cumulative_gap(self) -> tuple[Floats, Floats]:
        """The least and the largest sum of (correct - confidence) over the k least confident, both [resamples].

        k = 0 counts, and k cuts through no tie. NaN without instances.
        """
        if not len(self.confidence):
            nothing = np.full(len(self.counts), np.nan)
            return nothing, nothing
        up_to = self.right - self.mass
        np.cumsum(up_to, axis=1, out=up_to)
        ends = np.flatnonzero(np.diff(self.confidence, append=2.0))
        if len(ends) < len(self.confidence):
            up_to = up_to[:, ends]
        return np.minimum(up_to.min(axis=1), 0.0), np.maximum(up_to.max(axis=1), 0.0)

    @cached_property
    def held(self) -> Ints:
        """Running counts over all resamples laid end to end, [resamples * instances]."""
        return np.cumsum(self.counts)

    def mean(self, values: Floats | Ints) -> Floats:
        """Mean of a quantity [instances], in the sample's order, over each resample: [resamples]; NaN over nothing.

        Where each resample has its own correctness, the quantity can be [resamples, instances].
        """
        with np.errstate(invalid="ignore"):
            means: Floats = row_sums(self.weights, values) / self.sizes
        return means


def row_sums(weights: Floats, values: Floats | Ints) -> Floats:
    """`weights @ values` for weights [resamples, instances], the same to the last bit whatever the number of rows.

    Args:
        weights: [resamples, instances].
        values: [instances], or [resamples, instances].
    Returns:
        [resamples].
    """
    sums: Floats = (weights * values).sum(axis=1)  # pairwise along each row, where einsum's order goes by the shape
    return sums


@dataclass(frozen=True, slots=True)
class SortedInstances:
    """Validated instances in ascending confidence, from which samples are made."""

    confidence: Floats  # [instances]
    correct: Ints  # [instances]
    order: npt.NDArray[np.intp]  # [instances], place of each in the caller's arrays
    fits: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  # shared by metrics of one fit
    sizes: Ints | None = None  # [instances], how many each stands for, see `merged`; None: for itself alone

    def merged(self, unit: npt.NDArray[np.intp]) -> SortedInstances:
        """The instances with those as one that are always drawn together and alike: of one unit, equal in both numbers.

        Samples of a question with one confidence for all of them become two. Counts are then of units.

        Args:
            unit: [instances in the caller's order], the number of what is drawn: a cluster.
        """
        units = unit[self.order]
        order = np.lexsort((units, self.correct, self.confidence))
        confidence, correct, units = self.confidence[order], self.correct[order], units[order]
        differs = (np.diff(confidence) != 0) | (np.diff(correct) != 0) | (np.diff(units) != 0)
        starts = np.flatnonzero(np.concatenate([[True], differs]))[: len(order)]
        sizes = np.diff(starts, append=len(order))
        return SortedInstances(confidence[starts], correct[starts], units[starts], sizes=sizes)

    def sample(self) -> Sample:
        """The sample as it stands: one resample, every instance once."""
        return self._sample(self.correct, self._once())

    def resampled(self, counts: Ints) -> Sample:
        """Resamples with these counts [resamples, instances], columns in the caller's order of instances, or units."""
        ordered = counts.take(self.order, axis=1)
        return self._sample(self.correct, ordered if self.sizes is None else ordered * self.sizes)

    def redrawn(self, uniform: Floats) -> Sample:
        """The instances as perfect calibration would have them: each is correct with its confidence as probability.

        Args:
            uniform: [resamples, instances in ascending confidence], random numbers in [0, 1).
        """
        correct = (uniform < self.confidence).astype(np.float64)
        return self._sample(correct, self._once())

    def turned(self, signs: Floats) -> Sample:
        """The instances as perfect calibration would have them where those of a cluster depend on each other.

        How far each one's correctness lies from its confidence is kept or turned round, so that what its cluster has in
        common stays in it: the wild bootstrap of clusters (Cameron, Gelbach, Miller 2008, "Bootstrap-Based Improvements
        for Inference with Clustered Errors"). Correctness is then a number from -1 to 2.

        Args:
            signs: [resamples, instances in the caller's order, or units], 1 or -1.
        """
        residual = self.correct - self.confidence
        correct = self.confidence + signs.take(self.order, axis=1) * residual
        return self._sample(correct, self._once())

    def _once(self) -> Ints:
        """Counts [1, instances] of every instance once."""
        return np.ones((1, len(self.order)), dtype=np.int64) if self.sizes is None else self.sizes[None]

    def _sample(self, correct: Ints | Floats, counts: Ints) -> Sample:
        return Sample(self.confidence, correct, counts, None if self.sizes is None else int(self.sizes.sum()))


def sort_instances(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> SortedInstances:
    """Validate the two arrays that every metric takes, and sort the instances by confidence (ties keep their order).

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false (1 or 0).
    Raises:
        ValueError: not one-dimensional, of different lengths, NaN or out of range; says which argument and value.
    """
    values = check_confidence(confidence)
    truths = check_correct(correct, len(values))
    order = np.argsort(values, kind="stable")
    return SortedInstances(values[order], truths[order], order)
