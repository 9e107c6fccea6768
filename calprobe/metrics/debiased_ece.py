"""Debiased calibration error: binned, with what chance alone adds taken away."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.bins import Binning, Bins, bin_sample
from calprobe.metrics.metric import BinMetric
from calprobe.metrics.result import MetricResult
from calprobe.metrics.sample import sort_instances

DEBIASED_BINS = 15
ROUNDING = 1e-15  # what may be left of a gap and a chance that are equal; its root would no longer look like rounding


def debiased_ece(confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = DEBIASED_BINS) -> MetricResult:
    """Debiased l2 calibration error over quantile bins: root mean square gap, less what chance makes of it.

    `sqrt(max(0, sum_b n_b / n * ((conf_b - acc_b)^2 - acc_b (1 - acc_b) / (n_b - 1))))`. Source: Kumar, Liang, Ma 2019,
    "Verified Uncertainty Calibration", section 4; `get_calibration_error(.., p=2, debias=True)` of their package
    uncertainty-calibration, which cuts its bins half-way between two instances: the same bins where nothing is tied and
    their sizes are equal. A squared gap: not to be compared with ACE or ECE. Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
        n_bins: quantile bins, those of `ace`, at least 1.
    Returns:
        A value in [0, 1] with its bins; 0 where the gaps are no larger than chance makes them. A bin of a single
        instance says nothing of chance and adds 0, as in their package: with one instance the value is 0. Ties share a
        bin. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(debiased_ece([0.9] * 10, [True] * 5 + [False] * 5, n_bins=1).value, 4)
    0.3636
    """
    binning = Binning("quantile", n_bins)
    bins = bin_sample(sort_instances(confidence, correct).whole(), binning)
    return MetricResult(float(_debiased_error(bins)[0]), bins=bins.row(0))


def _debiased_error(bins: Bins) -> Floats:
    several = bins.count > 1
    by_chance = bins.accuracy * (1 - bins.accuracy) / np.maximum(bins.count - 1, 1)
    squared = np.where(several, bins.gap**2 - by_chance, 0.0)
    with np.errstate(invalid="ignore"):
        mean = (bins.count * squared).sum(axis=1) / bins.count.sum(axis=1)
    error: Floats = np.sqrt(np.where(mean < ROUNDING, 0.0, mean))
    return error


DEBIASED_ECE = BinMetric(
    "debiased_ece",
    "debiased ECE",
    "root mean square gap of 15 quantile bins, less what chance adds",
    "smaller",
    Binning("quantile", DEBIASED_BINS),
    _debiased_error,
)
