"""Binned calibration errors: how far confidence and accuracy lie apart, bin by bin.

Instances with a failed prediction come in as confidence 0 and incorrect, like any other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.bins import Binning, Bins, bin_sample
from calprobe.metrics.metric import BinMetric, MetricResult
from calprobe.metrics.sample import sort_instances

ACE_BINS = 20
ECE_BINS = 10
DEBIASED_BINS = 15
ROUNDING = 1e-15  # what may be left of a gap and a chance that are equal; its root would no longer look like rounding
NAEINI = "Naeini et al. 2015"


def ace(confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int | None = ACE_BINS) -> MetricResult:
    """Adaptive calibration error: |mean confidence - accuracy|, averaged over the non-empty quantile bins.

    `mean_b |conf_b - acc_b|`, each bin weighing the same. Source: Nixon et al. 2019, "Measuring Calibration in Deep
    Learning"; bins exactly as scikit-learn's `calibration_curve(strategy="quantile")` makes them. Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
        n_bins: quantile bins, at least 1; None: by the number of instances, `bins_for`.
    Returns:
        A value in [0, 1] with its bins. Tied confidences share a bin, so bins can be of unequal size or empty; empty
        ones do not count. With one instance, |confidence - correct|. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(ace([0.2, 0.4, 0.6, 0.8], [False, True, True, True], n_bins=2).value, 3)
    0.25
    """
    return _binned(confidence, correct, Binning("quantile", n_bins), _equal_weight_error)


def ace_weighted(confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int | None = ACE_BINS) -> MetricResult:
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


def debiased_ece(confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = DEBIASED_BINS) -> MetricResult:
    """Debiased l2 calibration error over quantile bins: root mean square gap, corrected for sampling noise.

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
    bins = bin_sample(sort_instances(confidence, correct).sample(), binning)
    return MetricResult(float(_debiased_error(bins)[0]), bins=bins.row(0))


def calibration_metrics(ace_bins: int | None = ACE_BINS) -> tuple[BinMetric, ...]:
    """The metrics of this module as data, ACE with that many bins."""
    quantile, ten, fifteen = Binning("quantile", ace_bins), Binning("width", ECE_BINS), Binning("width", 15)
    bins = quantile_bins(ace_bins)
    weighted, by_width = f"gaps of {bins}, weighted by size", "gaps of 10 equal-width bins, weighted"
    return (
        BinMetric(
            "ace",
            "ACE",
            f"mean gap of {bins}",
            "smaller",
            quantile,
            _equal_weight_error,
            source="Nixon et al. 2019; bins of scikit-learn's calibration_curve",
            printed=True,
            priority=2,
        ),
        BinMetric(
            "ace_weighted",
            "ACE wtd",
            weighted,
            "smaller",
            quantile,
            _instance_weight_error,
            source="ACE's bins, Nixon et al. 2019",
        ),
        BinMetric(
            "ece", "ECE", by_width, "smaller", ten, _instance_weight_error, source=NAEINI, printed=True, priority=6
        ),
        *(
            BinMetric(
                f"ece_{way}", f"ECE {way}", f"ECE of its {way}confident bins", "smaller", ten, half, source=NAEINI
            )
            for way, half in (("over", _overconfident_error), ("under", _underconfident_error))
        ),
        BinMetric("ece_15", "ECE 15", "ECE with 15 bins", "smaller", fifteen, _instance_weight_error, source=NAEINI),
        BinMetric(
            "max_calibration_error",
            "max gap",
            "largest gap of ECE's 10 bins",
            "smaller",
            ten,
            _largest_error,
            source=NAEINI,
        ),
    )


def quantile_bins(n_bins: int | None) -> str:
    """The bins in words: 20 quantile bins."""
    return "4 to 20 quantile bins" if n_bins is None else f"{n_bins} quantile bins"


def _binned(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, binning: Binning, error: Callable[[Bins], Floats]
) -> MetricResult:
    bins = bin_sample(sort_instances(confidence, correct).sample(), binning)
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


def _overconfident_error(bins: Bins) -> Floats:
    return _one_sided_error(bins, 1)


def _underconfident_error(bins: Bins) -> Floats:
    return _one_sided_error(bins, -1)


def _one_sided_error(bins: Bins, sign: int) -> Floats:
    """The gaps of bins with a mean confidence above their accuracy (1), or below it (-1), weighted by size."""
    with np.errstate(invalid="ignore"):
        gap = np.where(bins.count > 0, np.maximum(sign * (bins.confidence - bins.accuracy), 0.0), 0.0)
        error: Floats = (gap * bins.count).sum(axis=1) / bins.count.sum(axis=1)
    return error


def _largest_error(bins: Bins) -> Floats:
    return np.where(bins.count.any(axis=1), bins.gap.max(axis=1), np.nan)


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
    "root mean square gap of 15 quantile bins, minus what chance adds",
    "smaller",
    Binning("quantile", DEBIASED_BINS),
    _debiased_error,
    source="Kumar, Liang, Ma 2019, section 4",
)
