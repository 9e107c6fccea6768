"""Accuracy corrected for the errors of whoever graded the answers, known from a part that was graded by hand too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_correct
from calprobe.metrics.intervals import Estimate
from calprobe.metrics.means import bootstrap_of_means
from calprobe.metrics.resamples import ClusterLabels, Resampling


@dataclass(frozen=True, slots=True)
class JudgedAccuracy:
    """What a judge calls right, its errors, and the accuracy without them; NaN where undefined."""

    judged: Estimate  # share of all answers that the judge calls right
    sensitivity: Estimate  # of the right answers graded by hand, the share that the judge calls right
    specificity: Estimate  # of the wrong ones, the share that it calls wrong
    accuracy: Estimate  # corrected
    right: int  # answers that are right by hand
    wrong: int


def judged_accuracy(
    judged: npt.ArrayLike,
    by_hand: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> JudgedAccuracy:
    """Accuracy of answers that a fallible judge graded, by its errors on those that were graded by hand as well.

        accuracy = (judged + specificity - 1) / (sensitivity + specificity - 1), kept within 0 and 1

    Source: Rogan and Gladen 1978, "Estimating prevalence from the results of a screening test". The answers graded by
    hand are taken as drawn at random from all. The bootstrap draws all answers, with both grades of each, so that the
    interval carries what is unknown of the judge's errors too.

    Args:
        judged: [answers], what the judge says of each, 0 or 1.
        by_hand: [answers], 0 or 1, and NaN of those not graded by hand.
        resampling: number of resamples, and seed.
        clusters: [answers], the label of each one's cluster; None draws single answers.
    Returns:
        Estimates in [0, 1]; NaN without a right or a wrong answer by hand, and for the accuracy also if the judge is no
        better than chance, sensitivity + specificity <= 1.
    Raises:
        ValueError: other values than these, or arguments of different lengths.

    >>> found = judged_accuracy([1, 1, 1, 0, 0, 1, 0, 0], [1, 1, 0, 0, 0, np.nan, np.nan, np.nan], Resampling(0))
    >>> found.judged.value, found.sensitivity.value, round(found.specificity.value, 3), round(found.accuracy.value, 3)
    (0.5, 1.0, 0.667, 0.25)
    """
    hand = np.asarray(by_hand, np.float64)
    says = check_correct(judged, hand.size).astype(np.float64)
    if hand.shape != says.shape or not np.isin(hand[~np.isnan(hand)], (0.0, 1.0)).all():
        raise ValueError(f"by_hand must have {len(says)} values of 0, 1 or NaN, one for each answer")
    right, wrong = hand == 1, hand == 0
    quantities = np.array([says, right, says * right, wrong, (1 - says) * wrong])

    def estimate(statistic: str) -> Estimate:
        return bootstrap_of_means(quantities, lambda means: _rates(means)[statistic], resampling, clusters)

    return JudgedAccuracy(
        judged=estimate("judged"),
        sensitivity=estimate("sensitivity"),
        specificity=estimate("specificity"),
        accuracy=estimate("accuracy"),
        right=int(right.sum()),
        wrong=int(wrong.sum()),
    )


def _rates(means: Floats) -> dict[str, Floats]:
    """Each rate from means [resamples, quantities], [resamples]."""
    judged, right, right_found, wrong, wrong_found = means.T
    with np.errstate(invalid="ignore", divide="ignore"):
        sensitivity, specificity = right_found / right, wrong_found / wrong
        better = sensitivity + specificity - 1
        accuracy = np.where(better > 1e-12, np.clip((judged + specificity - 1) / better, 0.0, 1.0), np.nan)
    return {"judged": judged, "sensitivity": sensitivity, "specificity": specificity, "accuracy": accuracy}
