"""Confidences that are a handful of values: how many there are, how often the most frequent is said, and their ECE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_confidence
from calprobe.metrics.bins import SAME
from calprobe.metrics.metric import SampleMetric
from calprobe.metrics.sample import Sample, sort_instances


@dataclass(frozen=True, slots=True)
class ValueUse:
    """How a model uses a scale."""

    JSON: ClassVar = "n=instances distinct mode mode_share entropy constant"

    instances: int
    distinct: int  # values
    mode: float  # the most frequent, of equally frequent ones the least; NaN without instances
    mode_share: float  # in [0, 1]; 1: the model always says the same
    entropy: float  # of the values, in nats; 0: always the same

    @property
    def constant(self) -> bool:
        """Whether all confidences are one value: then consistency is perfect, and AUROC 0.5, without any meaning."""
        return self.distinct == 1 and self.instances > 1


def value_use(confidence: npt.ArrayLike) -> ValueUse:
    """How many different values some confidences have, and how unevenly they are used.

    Args:
        confidence: [instances], in [0, 1].
    Raises:
        ValueError: not one-dimensional, NaN, or a value out of range.

    >>> found = value_use([0.9, 0.9, 0.9, 0.5])
    >>> found.distinct, found.mode, found.mode_share, round(found.entropy, 4), found.constant
    (2, 0.9, 0.75, 0.5623, False)
    """
    values = np.sort(check_confidence(confidence))
    if not len(values):
        return ValueUse(0, 0, float("nan"), float("nan"), float("nan"))
    starts = _starts(values)
    counts = np.diff(starts, append=len(values))
    shares = counts / len(values)
    most = int(counts.argmax())
    entropy = float(-(shares * np.log(shares)).sum()) + 0.0  # of one value 0, not -0
    return ValueUse(len(values), len(counts), float(values[starts[most]]), float(shares[most]), entropy)


@dataclass(frozen=True, slots=True)
class ValueShares:
    """Which values confidences have, and how often."""

    values: tuple[float, ...]  # ascending
    shares: tuple[float, ...]  # of each; with `others` they add up to 1
    rare: int  # values that are left out since they are rarer
    others: float  # their share


def value_shares(confidence: npt.ArrayLike, least: float = 0.05) -> ValueShares:
    """How often each value comes, of those with a share of at least `least`, and how many other values there are.

    The grouping of "Benchmarking Uncertainty Estimation in LLM Replies for Natural Science QA" (arXiv 2602.00279),
    figure 4a.

    Args:
        confidence: [instances], in [0, 1]; values that agree to 1e-12 are one.
        least: in [0, 1].
    Returns:
        The shares; no value and no other without instances.
    Raises:
        ValueError: not one-dimensional, NaN, or a value out of range.

    >>> value_shares([0.9, 0.9, 0.8, 0.5], least=0.5)
    ValueShares(values=(0.9,), shares=(0.5,), rare=2, others=0.5)
    """
    values = np.sort(check_confidence(confidence))
    if not len(values):
        return ValueShares((), (), 0, 0.0)
    starts = _starts(values)
    shares = np.diff(starts, append=len(values)) / len(values)
    kept = shares >= least
    return ValueShares(
        tuple(values[starts[kept]].tolist()),
        tuple(shares[kept].tolist()),
        int((~kept).sum()),
        float(shares[~kept].sum()),
    )


def ece_values(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> float:
    """ECE with a bin for each distinct confidence: `sum_v n_v / n * |v - acc_v|`. Smaller is better.

    Round numbers that are said in words lie on the edges of bins, and which side an edge belongs to moves ECE; without
    bins there is no edge. For a handful of values only: where all differ it is the mean of |confidence - correct|.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]; values that agree to 1e-12 are one. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(ece_values([0.3, 0.3, 0.7, 0.7], [True, False, True, True]), 3)
    0.25
    """
    return float(_ece_values(sort_instances(confidence, correct).sample())[0])


def _ece_values(sample: Sample) -> Floats:
    return error_of_parts(sample, _starts(sample.confidence))


def _starts(ascending: Floats) -> npt.NDArray[np.intp]:
    """Where each distinct value begins, [values]."""
    return np.flatnonzero(np.diff(ascending, prepend=-1.0) > SAME)


def error_of_parts(sample: Sample, starts: npt.NDArray[np.intp]) -> Floats:
    """Sum over parts of |right - mass|, over the instances of each resample, [resamples]; NaN without instances.

    Parts are of neighbours by confidence; `starts` [parts] has the place where each begins.
    """
    if not len(sample.confidence):
        return np.full(len(sample.counts), np.nan)
    gaps = np.abs(np.add.reduceat(sample.right - sample.mass, starts, axis=1))
    with np.errstate(invalid="ignore"):
        error: Floats = gaps.sum(axis=1) / sample.sizes
    return error


ECE_VALUES = SampleMetric(
    "ece_values",
    "ECE values",
    "ECE with a bin for each distinct confidence",
    "smaller",
    _ece_values,
    biased=True,
)
