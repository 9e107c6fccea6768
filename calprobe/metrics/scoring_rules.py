"""Proper scoring rules of top-label confidence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.metric import SampleMetric
from calprobe.metrics.result import MetricResult
from calprobe.metrics.sample import Sample, sort_instances

LEAST_PROBABILITY = 1e-12  # of what happened, so that one certain mistake does not make the NLL infinite


def brier(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Brier score of the prediction's confidence: mean of `(confidence - correct)^2`.

    Source: Brier 1950, binary form; equals scikit-learn's `brier_score_loss`. It is the paper's; it is not the sum or
    the mean over all classes that lm-evaluation-harness and lm-pub-quiz call Brier. Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]. A failed prediction (confidence 0, incorrect) adds 0. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(brier([0.2, 0.9], [False, True]).value, 3)
    0.025
    """
    return MetricResult(float(squared_error(sort_instances(confidence, correct).whole())[0]))


def nll(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Negative log-likelihood of correctness: mean of `-log(conf)` where correct and `-log(1 - conf)` elsewhere.

    In nats, with confidence clipped to [1e-12, 1 - 1e-12]. Source: Good 1952, the logarithmic score, binary form;
    equals scikit-learn's `log_loss` of confidences so clipped. It is not the cross-entropy of the whole answer space.
    Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [1e-12, 27.6]. A failed prediction (confidence 0, incorrect) adds 1e-12. One instance that is certain
        and wrong adds 27.6 / n. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(nll([0.5, 0.25], [True, False]).value, 4)
    0.4904
    """
    return MetricResult(float(_nll(sort_instances(confidence, correct).whole())[0]))


def squared_error(sample: Sample) -> Floats:
    """Mean of `(confidence - correct)^2` over each resample, [resamples]."""
    return sample.mean((sample.confidence - sample.correct) ** 2)


def _nll(sample: Sample) -> Floats:
    clipped = np.clip(sample.confidence, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return sample.mean(-np.where(sample.correct, np.log(clipped), np.log1p(-clipped)))


BRIER = SampleMetric("brier", "Brier", "mean (confidence - correct)^2 of the prediction", "smaller", squared_error)
NLL = SampleMetric("nll", "NLL", "mean negative log-likelihood of correctness, in nats", "smaller", _nll)
