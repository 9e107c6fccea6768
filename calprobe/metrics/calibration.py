"""Binned calibration errors: how far confidence and accuracy lie apart, bin by bin.

Instances with a failed prediction come in as confidence 0 and incorrect, like any other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.bins import Binning, Bins, bin_sample
from calprobe.metrics.metric import BinMetric
from calprobe.metrics.result import MetricResult
from calprobe.metrics.sample import sort_instances

ACE_BINS = 20
ECE_BINS = 10


def ace(confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = ACE_BINS) -> MetricResult:
    """Adaptive calibration error: |mean confidence - accuracy|, averaged over the non-empty quantile bins.

    `mean_b |conf_b - acc_b|`, each bin weighing the same. Source: Nixon et al. 2019, "Measuring Calibration in Deep
    Learning"; bins exactly as scikit-learn's `calibration_curve(strategy="quantile")` makes them. Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
        n_bins: quantile bins, at least 1.
    Returns:
        A value in [0, 1] with its bins. Tied confidences share a bin, so bins can be of unequal size or empty; empty
        ones do not count. With one instance, |confidence - correct|. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(ace([0.2, 0.4, 0.6, 0.8], [False, True, True, True], n_bins=2).value, 3)
    0.25
    """
    return _binned(confidence, correct, Binning("quantile", n_bins), _equal_weight_error)


def ace_weighted(confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = ACE_BINS) -> MetricResult:
    """ACE with each bin weighing as many instances as it holds: `sum_b n_b / n * |conf_b - acc_b|`.

    The same as `ace` where all bins are of one size; ties make them differ. Arguments, errors, range, direction and the
    cases of few or no instances are those of `ace`.

    >>> confidence, correct = [0.5, 0.5, 0.5, 0.9], [True, False, False, True]
    >>> round(ace(confidence, correct, n_bins=4).value, 4), round(ace_weighted(confidence, correct, n_bins=4).value, 4)
    (0.1333, 0.15)
    """
    return _binned(confidence, correct, Binning("quantile", n_bins), _instance_weight_error)


def ece(confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = ECE_BINS) -> MetricResult:
    """Expected calibration error: |mean confidence - accuracy| over equal-width bins, weighted by their instances.

    `sum_b n_b / n * |conf_b - acc_b|`. Source: Naeini et al. 2015, "Obtaining Well Calibrated Probabilities Using
    Bayesian Binning". Bins are (0, 1/B], (1/B, 2/B], .., the first also takes 0. Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
        n_bins: equal parts of [0, 1], at least 1.
    Returns:
        A value in [0, 1] with its bins; ties need no rule. With one instance, |confidence - correct|. NaN without
        instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(ece([0.05, 0.95, 0.95, 1.0], [False, True, True, False]).value, 4)
    0.2375
    """
    return _binned(confidence, correct, Binning("width", n_bins), _instance_weight_error)


def max_calibration_error(confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = ECE_BINS) -> MetricResult:
    """The largest |mean confidence - accuracy| of the non-empty equal-width bins.

    Source: Naeini et al. 2015. One sparse bin decides it: read it beside the bins' counts. Arguments, errors,
    bins, range, direction and the cases of few or no instances are those of `ece`.

    >>> round(max_calibration_error([0.05, 0.95, 0.95, 1.0], [False, True, True, False]).value, 3)
    0.3
    """
    return _binned(confidence, correct, Binning("width", n_bins), _largest_error)


def calibration_metrics(ace_bins: int = ACE_BINS) -> tuple[BinMetric, ...]:
    """The metrics of this module as data, ACE with that many bins."""
    quantile, ten, fifteen = Binning("quantile", ace_bins), Binning("width", ECE_BINS), Binning("width", 15)
    weighted, by_width = f"gaps of {ace_bins} quantile bins, weighted by size", "gaps of 10 equal-width bins, weighted"
    return (
        BinMetric("ace", "ACE", f"mean gap of {ace_bins} quantile bins", "smaller", quantile, _equal_weight_error),
        BinMetric("ace_weighted", "ACE wtd", weighted, "smaller", quantile, _instance_weight_error),
        BinMetric("ece", "ECE", by_width, "smaller", ten, _instance_weight_error),
        BinMetric("ece_15", "ECE 15", "ECE with 15 bins", "smaller", fifteen, _instance_weight_error),
        BinMetric("max_calibration_error", "max gap", "largest gap of ECE's 10 bins", "smaller", ten, _largest_error),
    )


def _binned(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, binning: Binning, error: Callable[[Bins], Floats]
) -> MetricResult:
    bins = bin_sample(sort_instances(confidence, correct).whole(), binning)
    return MetricResult(float(error(bins)[0]), bins=bins.row(0))


# From bins with a leading axis [resamples] to [resamples]; NaN where a resample is empty.


def _equal_weight_error(bins: Bins) -> Floats:
    with np.errstate(invalid="ignore"):
        error: Floats = bins.gap.sum(axis=1) / (bins.count > 0).sum(axis=1)
    return error


def _instance_weight_error(bins: Bins) -> Floats:
    with np.errstate(invalid="ignore"):
        error: Floats = (bins.gap * bins.count).sum(axis=1) / bins.count.sum(axis=1)
    return error


def _largest_error(bins: Bins) -> Floats:
    return np.where(bins.count.any(axis=1), bins.gap.max(axis=1), np.nan)
