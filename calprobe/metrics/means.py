"""How often the prediction is right, and how sure it is on average."""

from __future__ import annotations

import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.metric import SampleMetric
from calprobe.metrics.result import MetricResult
from calprobe.metrics.sample import Sample, sort_instances


def accuracy(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Share of correct predictions. Larger is better. (It takes confidences, and ignores them, as all metrics do.)

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]. A failed prediction counts as incorrect. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> accuracy([0.3, 0.9], [False, True]).value
    0.5
    """
    return MetricResult(float(_accuracy(sort_instances(confidence, correct).whole())[0]))


def mean_confidence(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Mean confidence: above accuracy the model is overconfident on the whole, below it underconfident.

    Arguments and errors are those of `accuracy`; in [0, 1], NaN without instances.

    >>> mean_confidence([0.25, 0.75], [False, True]).value
    0.5
    """
    return MetricResult(float(_mean_confidence(sort_instances(confidence, correct).whole())[0]))


def _accuracy(sample: Sample) -> Floats:
    return sample.mean(sample.correct)


def _mean_confidence(sample: Sample) -> Floats:
    return sample.mean(sample.confidence)


ACCURACY = SampleMetric("accuracy", "accuracy", "share of correct predictions", "larger", _accuracy)
MEAN_CONFIDENCE = SampleMetric("mean_confidence", "mean conf", "mean confidence", None, _mean_confidence)
