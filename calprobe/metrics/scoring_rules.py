"""Proper scoring rules of top-label confidence."""

from __future__ import annotations

import numpy.typing as npt

from calprobe.metrics.metric import SampleMetric
from calprobe.metrics.result import MetricResult
from calprobe.metrics.sample import Sample, sort_instances
from calprobe.types import Floats


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
    return MetricResult(float(_brier(sort_instances(confidence, correct).whole())[0]))


def _brier(sample: Sample) -> Floats:
    return sample.mean((sample.confidence - sample.correct) ** 2)


BRIER = SampleMetric("brier", "Brier", "mean (confidence - correct)^2 of the prediction", "smaller", _brier)
