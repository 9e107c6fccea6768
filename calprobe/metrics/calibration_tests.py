"""Tests of calibration in closed form: Spiegelhalter's z, and Cox's intercept and slope."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.logistic import fit_logistic, sigmoid
from calprobe.metrics.metric import ClosedFormMetric
from calprobe.metrics.resamples import Clusters
from calprobe.metrics.sample import SortedInstances, sort_instances
from calprobe.metrics.scoring_rules import LEAST_PROBABILITY
from calprobe.metrics.statistics import NORMAL

NAN = float("nan")
Value = tuple[float, float, float]  # with the ends of its interval, NaN where it has none
NOTHING = (NAN, NAN, NAN)
ANY = (float("-inf"), float("inf"))
SPIEGELHALTER, COX = "Spiegelhalter 1986", "Cox 1958"


@dataclass(frozen=True, slots=True)
class CoxRecalibration:
    """`logit P(correct) = intercept + slope * logit(confidence)`: 0 and 1 for perfect calibration."""

    intercept: float  # below 0: too sure by a constant, at the confidence of 1/2
    slope: float  # below 1: confidences too extreme, above 1 not extreme enough
    covariance: npt.NDArray[np.float64]  # [2, 2]


def spiegelhalter_z(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> float:
    """How many standard errors the Brier score lies above the one that perfect calibration has on average.

    `sum_i (y_i - f_i)(1 - 2 f_i) / sqrt(sum_i (1 - 2 f_i)^2 f_i (1 - f_i))`, standard normal for a calibrated model.
    Source: Spiegelhalter 1986, "Probabilistic Prediction in Patient Management and Clinical Trials". Nearer to 0 is
    better; above 0 the Brier score is worse than the confidences promise.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        Any number; NaN without instances, and where all confidences are 0, 1/2 or 1, of which the test says nothing.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(spiegelhalter_z([0.9, 0.9, 0.9, 0.9], [True, True, False, False]), 3)
    2.667
    """
    return _z(sort_instances(confidence, correct), None)


def cox_recalibration(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> CoxRecalibration | None:
    """Logistic regression of correctness on the logit of confidence: whether a model is off by a shift or a spread.

    Source: Cox 1958, "Two Further Applications of a Model for Binary Regression". Confidences are clipped to [1e-12,
    1 - 1e-12].

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        Coefficients with their robust covariance; None where confidence separates right from wrong, or is constant.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> found = cox_recalibration([0.2] * 4 + [0.8] * 4, [True, False, False, False, True, True, False, False])
    >>> round(found.intercept, 3), round(found.slope, 3)
    (-0.549, 0.396)
    """
    return _cox(sort_instances(confidence, correct), None)


def _z(instances: SortedInstances, clusters: Clusters | None) -> float:
    confidence = instances.confidence
    terms = (instances.correct - confidence) * (1 - 2 * confidence)
    if clusters is not None and not clusters.enough:
        return NAN
    if clusters is None or clusters.fixed:
        variance = float(((1 - 2 * confidence) ** 2 * confidence * (1 - confidence)).sum())
    else:
        variance = float((np.bincount(clusters.of, terms) ** 2).sum())
    return float(terms.sum()) / math.sqrt(variance) if variance > 0 else NAN


def _cox(instances: SortedInstances, clusters: Clusters | None) -> CoxRecalibration | None:
    """The fit of these instances, made once for the intercept and the slope."""
    cached = instances.fits.get(COX)
    if cached is None or cached[0] is not clusters:
        cached = instances.fits[COX] = (clusters, _fitted(instances, clusters))
    fit: CoxRecalibration | None = cached[1]
    return fit


def _fitted(instances: SortedInstances, clusters: Clusters | None) -> CoxRecalibration | None:
    confidence, correct = instances.confidence, instances.correct
    right = correct == 1
    if right.all() or not right.any() or _separated(confidence[right], confidence[~right]):
        return None
    features = np.stack([np.ones(len(confidence)), logit(confidence)], axis=1)
    coefficients = fit_logistic(features, correct)
    if coefficients is None:
        return None
    share = sigmoid(features @ coefficients)
    bread = np.linalg.inv((features * (share * (1 - share))[:, None]).T @ features)
    scores = _sums(features * (correct - share)[:, None], clusters)
    meat = scores.T @ scores
    if (clusters is None or not clusters.fixed) and len(scores) > 1:
        meat *= len(scores) / (len(scores) - 1)  # residuals of what was fitted are too small (Cameron, Miller 2015)
    return CoxRecalibration(float(coefficients[0]), float(coefficients[1]), bread @ meat @ bread)


def _separated(right: Floats, wrong: Floats) -> bool:
    """Whether some confidence parts right from wrong; the likelihood then has no largest value."""
    return bool(right.min() >= wrong.max() or wrong.min() >= right.max())


def _sums(scores: Floats, clusters: Clusters | None) -> Floats:
    """Independent summands of scores [instances, 2]: of instances, or of clusters; within these, about their means."""
    if clusters is None:
        return scores
    sums = np.stack([np.bincount(clusters.of, column).astype(np.float64) for column in scores.T], axis=1)
    if not clusters.fixed:
        return sums
    sizes = np.bincount(clusters.of)
    centred: Floats = scores - (sums / np.maximum(sizes, 1)[:, None])[clusters.of]
    return centred


def logit(confidence: Floats) -> Floats:
    """log(f / (1 - f)) of confidences clipped to [1e-12, 1 - 1e-12]."""
    clipped = np.clip(confidence, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    logits: Floats = np.log(clipped) - np.log1p(-clipped)
    return logits


def _z_value(instances: SortedInstances, clusters: Clusters | None) -> Value:
    return (_z(instances, clusters), NAN, NAN)


def _z_p_value(instances: SortedInstances, clusters: Clusters | None) -> Value:
    return (math.erfc(abs(_z(instances, clusters)) / math.sqrt(2)), NAN, NAN)


def _intercept(instances: SortedInstances, clusters: Clusters | None) -> Value:
    fit = _cox(instances, clusters)
    return NOTHING if fit is None else _wald(fit.intercept, fit.covariance[0, 0], clusters)


def _slope(instances: SortedInstances, clusters: Clusters | None) -> Value:
    fit = _cox(instances, clusters)
    return NOTHING if fit is None else _wald(fit.slope, fit.covariance[1, 1], clusters)


def _wald(value: float, variance: float, clusters: Clusters | None) -> Value:
    # Clusters that are each right as often as they are sure differ in nothing: their variance is 0, up to rounding.
    if (clusters is not None and not clusters.enough) or variance <= 0:
        return value, NAN, NAN
    reach = NORMAL * math.sqrt(variance)
    return value, value - reach, value + reach


def calibration_tests() -> tuple[ClosedFormMetric, ...]:
    """The tests as metrics."""
    return (
        ClosedFormMetric(
            "spiegelhalter_z",
            "Spiegelhalter z",
            "standard errors between the Brier score and the one that perfect calibration would have",
            None,
            _z_value,
            bounds=ANY,
            source=SPIEGELHALTER,
        ),
        ClosedFormMetric(
            "spiegelhalter_p",
            "Spiegelhalter p",
            "two-sided p-value of perfect calibration, of Spiegelhalter's z",
            None,
            _z_p_value,
            source=SPIEGELHALTER,
        ),
        ClosedFormMetric(
            "cox_intercept",
            "Cox intercept",
            "of logit P(correct) on logit confidence; 0 if calibrated",
            None,
            _intercept,
            bounds=ANY,
            source=COX,
        ),
        ClosedFormMetric(
            "cox_slope",
            "Cox slope",
            "of logit P(correct) on logit confidence; 1 if calibrated, below 1 too extreme",
            None,
            _slope,
            bounds=ANY,
            source=COX,
        ),
    )
