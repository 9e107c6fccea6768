"""Ranking metrics: does higher confidence mean more often right?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.metric import RankMetric
from calprobe.metrics.ranks import Ranks, rank_sample, tied_starts
from calprobe.metrics.result import Curve, MetricResult
from calprobe.metrics.sample import Sample, sort_instances


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
    return MetricResult(float(_auroc(rank_sample(sample))[0]), curve=_roc_curve(sample))


def _auroc(ranks: Ranks) -> Floats:
    with np.errstate(invalid="ignore"):
        area: Floats = ranks.ordered / (2 * ranks.right * ranks.wrong)
    return area


def _roc_curve(sample: Sample) -> Curve:
    """The curve of a sample as it stands, from the highest threshold (none above it) down to the lowest confidence."""
    starts = tied_starts(sample.confidence)
    right, wrong = (
        np.concatenate([[0], np.cumsum(np.add.reduceat(kind, starts)[::-1])])
        for kind in (sample.correct, 1 - sample.correct)
    )
    with np.errstate(invalid="ignore"):
        x, y = wrong / wrong[-1], right / right[-1]
    return Curve(x, y, threshold=np.concatenate([[np.inf], sample.confidence[starts][::-1]]))


AUROC = RankMetric("auroc", "AUROC", "share of (correct, incorrect) pairs in the right order", "larger", _auroc)
