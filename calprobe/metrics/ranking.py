"""Ranking metrics: does higher confidence mean more often right?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.metrics.metric import SampleMetric
from calprobe.metrics.result import Curve, MetricResult
from calprobe.metrics.sample import Sample, sort_instances
from calprobe.types import Floats, Ints


def auroc(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Probability that a correct prediction has a higher confidence than an incorrect one; a tie counts half.

    The area under the ROC curve of confidence for correctness, as scikit-learn's `roc_auc_score`. Larger is better, 0.5
    is chance.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1] with the ROC curve (x: share of the incorrect, y: share of the correct at or above each
        threshold). NaN where all predictions are correct or all incorrect, so with one instance or none too.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> auroc([0.1, 0.4, 0.4, 0.8], [False, False, True, True]).value
    0.875
    """
    sample = sort_instances(confidence, correct).whole()
    return MetricResult(float(_auroc(sample)[0]), curve=_roc_curve(sample))


def _auroc(sample: Sample) -> Floats:
    right, wrong = _tied_counts(sample)
    below = np.cumsum(wrong, axis=1) - wrong
    # Twice the count of (correct, incorrect) pairs in the right order, in whole numbers: exact.
    ordered = (right * (2 * below + wrong)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        area: Floats = ordered / (2 * right.sum(axis=1) * wrong.sum(axis=1))
    return area


def _roc_curve(sample: Sample) -> Curve:
    """The first resample's curve, from the highest threshold (none above it) down to the lowest confidence."""
    right, wrong = (np.concatenate([[0], np.cumsum(counts[0, ::-1])]) for counts in _tied_counts(sample))
    with np.errstate(invalid="ignore"):
        x, y = wrong / wrong[-1], right / right[-1]
    threshold = np.concatenate([[np.inf], np.unique(sample.confidence)[::-1]])
    return Curve(x, y, threshold)


def _tied_counts(sample: Sample) -> tuple[Ints, Ints]:
    """Correct and incorrect instances at each distinct confidence, ascending, each [resamples, confidences]."""
    right = sample.counts * sample.correct
    wrong = sample.counts - right
    starts = np.flatnonzero(np.diff(sample.confidence, prepend=-1.0))
    if len(starts) == len(sample.confidence):  # nothing tied, or nothing at all
        return right, wrong
    return np.add.reduceat(right, starts, axis=1), np.add.reduceat(wrong, starts, axis=1)


AUROC = SampleMetric("auroc", "AUROC", "share of (correct, incorrect) pairs in the right order", "larger", _auroc)
