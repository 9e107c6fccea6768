"""Calibration errors of cumulative differences: no bins, no bandwidth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.metric import MetricResult, SampleMetric
from calprobe.metrics.sample import Sample, sort_instances

SOURCE = "Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu 2022"


def ecce_mad(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """The largest |sum of (correct - confidence) / n| over the k least confident instances, for any k.

    With `C_k = 1/n sum of (correct_i - conf_i) over the k least confident`: `max_k |C_k|`. Source: Arrieta-Ibarra,
    Gujral, Tannen, Tygert, Xu 2022, "Metrics of Calibration for Probabilistic Predictions", ECCE-MAD: the statistic of
    Kolmogorov and Smirnov. Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]; k never cuts through a tie. At least |mean confidence - accuracy|, which is `|C_n|`. NaN
        without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(ecce_mad([0.2, 0.4, 0.6, 0.8], [True, False, False, True]).value, 3)
    0.2
    """
    return MetricResult(float(_largest(sort_instances(confidence, correct).sample())[0]))


def ecce_range(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """The largest sum of (correct - confidence) / n, in size, over instances next to each other by confidence.

    `max_k C_k - min_k C_k` with `C_0 = 0` and `C_k` as for `ecce_mad`: ECCE-R, the statistic of Kuiper. Arguments,
    errors, direction, range and ties are those of `ecce_mad`, which it is never smaller than.

    >>> round(ecce_range([0.2, 0.4, 0.6, 0.8], [True, False, False, True]).value, 3)
    0.25
    """
    return MetricResult(float(_range(sort_instances(confidence, correct).sample())[0]))


def _largest(sample: Sample) -> Floats:
    least, most = sample.cumulative_gap
    return _per_instance(np.maximum(-least, most), sample)


def _range(sample: Sample) -> Floats:
    least, most = sample.cumulative_gap
    return _per_instance(most - least, sample)


def _per_instance(sums: Floats, sample: Sample) -> Floats:
    with np.errstate(invalid="ignore"):
        shares: Floats = sums / sample.sizes
    return shares


ECCE_MAD = SampleMetric(
    "ecce_mad",
    "ECCE-MAD",
    "largest cumulative (correct - confidence) in size, over the least confident",
    "smaller",
    _largest,
    biased=True,
    source=SOURCE,
)
ECCE_RANGE = SampleMetric(
    "ecce_range",
    "ECCE-R",
    "range of the cumulative (correct - confidence), Kuiper's statistic",
    "smaller",
    _range,
    biased=True,
    source=SOURCE,
)
