"""What every metric is computed on: instances sorted by confidence, and how often each resample holds each of them.

A metric is written once, over many resamples; the sample as it stands is the one resample that holds every instance
once. So a number and its interval come from the same lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.metrics.validation import check_confidence, check_correct
from calprobe.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Sample:
    """Resamples of one set of instances. Instances ascend in confidence."""

    confidence: Floats  # [instances], in [0, 1], ascending
    correct: Ints  # [instances], 0 or 1; [resamples, instances] where each resample has its own
    counts: Ints  # [resamples, instances], how often the resample holds the instance

    @property
    def sizes(self) -> Ints:
        """Instances in each resample, repeats counted, [resamples]."""
        sizes: Ints = self.counts.sum(axis=1)
        return sizes

    def mean(self, values: Floats | Ints) -> Floats:
        """Mean of a quantity [instances], in the sample's order, over each resample: [resamples]; NaN over nothing."""
        with np.errstate(invalid="ignore"):
            means: Floats = (self.counts @ values.astype(np.float64)) / self.sizes
        return means


@dataclass(frozen=True, slots=True)
class SortedInstances:
    """Validated instances in ascending confidence, from which samples are made."""

    confidence: Floats  # [instances]
    correct: Ints  # [instances]
    order: npt.NDArray[np.intp]  # [instances], place of each in the caller's arrays

    def whole(self) -> Sample:
        """The sample as it stands: one resample, every instance once."""
        return Sample(self.confidence, self.correct, np.ones((1, len(self.order)), dtype=np.int64))

    def resampled(self, counts: Ints) -> Sample:
        """Resamples with these counts [resamples, instances], columns in the caller's order of instances."""
        return Sample(self.confidence, self.correct, counts.take(self.order, axis=1))


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
