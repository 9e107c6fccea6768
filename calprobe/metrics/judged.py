"""What a fallible grader makes of accuracy and of confidences, known from a part that was graded by hand too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, Mask, check_confidence, check_correct
from calprobe.metrics.bootstrap import joint_draws
from calprobe.metrics.intervals import UNDEFINED, Estimate, interval
from calprobe.metrics.ranks import RankedPart
from calprobe.metrics.resamples import ClusterLabels, Resampling
from calprobe.metrics.sample import row_sums


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
    says, hand = _grades(judged, by_hand)
    right, wrong = hand == 1, hand == 0
    columns = _columns(says, right, wrong)

    def statistics(counts: Ints) -> Floats:
        rates = _rates(counts @ columns.T / counts.sum(axis=1)[:, None])
        return np.stack([rates[name] for name in ("judged", "sensitivity", "specificity", "accuracy")])

    none = [UNDEFINED] * 4
    draws = joint_draws(statistics, len(says), resampling, clusters) if len(says) else ()
    share, sensitivity, specificity, accuracy = map(interval, draws) if draws else none
    return JudgedAccuracy(share, sensitivity, specificity, accuracy, int(right.sum()), int(wrong.sum()))


def _columns(says: Floats, right: Mask, wrong: Mask) -> Floats:
    """What `_rates` takes the means of, [quantities, answers]: 0 or 1, so that sums are exact in any order."""
    return np.array([says, right, says * right, wrong, (1 - says) * wrong])


def _rates(means: Floats) -> dict[str, Floats]:
    """Each rate from means [resamples, quantities], [resamples]."""
    judged, right, right_found, wrong, wrong_found = means.T
    with np.errstate(invalid="ignore", divide="ignore"):
        sensitivity, specificity = right_found / right, wrong_found / wrong
        better = sensitivity + specificity - 1
        accuracy = np.where(better > 1e-12, np.clip((judged + specificity - 1) / better, 0.0, 1.0), np.nan)
    return {"judged": judged, "sensitivity": sensitivity, "specificity": specificity, "accuracy": accuracy}


@dataclass(frozen=True, slots=True)
class JudgedConfidence:
    """How good a confidence is by a judge, without the judge's errors, and by hand; NaN where undefined."""

    auroc: Estimate  # by what the judge says, over all answers
    auroc_corrected: Estimate
    auroc_by_hand: Estimate  # over the answers graded by hand alone
    brier: Estimate
    brier_corrected: Estimate
    brier_by_hand: Estimate
    # Of two answers that are right by hand, of which the judge finds one alone, how often that is the surer one; of two
    # wrong ones likewise. Both corrections assume 0.5.
    sure_where_right: Estimate
    sure_where_wrong: Estimate


def judged_confidence(
    confidence: npt.ArrayLike,
    judged: npt.ArrayLike,
    by_hand: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> JudgedConfidence:
    """AUROC and Brier score of a confidence in answers that a fallible judge graded, without the judge's errors.

    With s the judge's sensitivity, t its specificity, m the share that it calls right and a the accuracy of
    `judged_accuracy`,

        AUROC = 1/2 + (AUROC by the judge - 1/2) m (1 - m) / (a (1 - a) (s + t - 1))
        Brier = mean(confidence^2 + y (1 - 2 confidence)), y = (judged + t - 1) / (s + t - 1)

    Both take the judge's errors as independent of the confidence among right answers, and among wrong ones. Where the
    judge rather calls right what the model is sure of, they make the confidence look too good: `sure_where_right` and
    `sure_where_wrong` are then above 1/2. Sources: Menon et al. 2015, "Learning from Corrupted Binary Labels via
    Class-Probability Estimation", of the AUROC of mixtures; Natarajan et al. 2013, "Learning with Noisy Labels", of
    unbiased losses.
    Answers graded by hand are taken as drawn at random from all; the bootstrap draws all answers with both grades.

    Args:
        confidence: [answers], in [0, 1].
        judged: [answers], what the judge says of each, 0 or 1.
        by_hand: [answers], 0 or 1, and NaN of those not graded by hand.
        resampling: number of resamples, and seed.
        clusters: [answers], the label of each one's cluster; None draws single answers.
    Returns:
        AUROC in [0, 1], larger is better; Brier in [0, 1], smaller is better; corrected ones are kept within. NaN
        without a right or a wrong answer by hand, and corrected where s + t <= 1 or a is not within 0 and 1.
    Raises:
        ValueError: other values than these, or arguments of different lengths.

    >>> hand = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> sure, judged = [0.9, 0.6, 0.9, 0.6, 0.8, 0.2, 0.8, 0.2], [1, 1, 1, 1, 1, 1, 0, 0]
    >>> found = judged_confidence(sure, judged, hand, Resampling(0))
    >>> [round(value.value, 3) for value in (found.auroc, found.auroc_corrected, found.auroc_by_hand)]
    [0.667, 0.75, 0.75]
    """
    return judged_confidences(confidence, {"": judged}, by_hand, resampling, clusters)[""]


def judged_confidences(
    confidence: npt.ArrayLike,
    judges: Mapping[str, npt.ArrayLike],
    by_hand: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> dict[str, JudgedConfidence]:
    """`judged_confidence` of the same answers by each of several judges, by their names."""
    values = check_confidence(confidence)
    hand = np.asarray(by_hand, np.float64)
    says = [_grades(judged, hand)[0] for judged in judges.values()]
    if len(hand) != len(values):  # as many as each judge has
        raise ValueError(f"judged and by_hand must have as many entries as confidence, {len(values)}; got {len(hand)}")
    if not len(values) or not judges:
        return {name: JudgedConfidence(*[UNDEFINED] * 8) for name in judges}
    known, right, wrong = ~np.isnan(hand), hand == 1, hand == 0
    by_judge = [RankedPart.of(values, says, kept) for kept in (np.ones(len(values), np.bool_), right, wrong)]
    of_hand = RankedPart.of(values, [hand], known)
    columns = np.concatenate([_columns(of_judge, right, wrong) for of_judge in says])
    gain = 1 - 2 * values  # what a right answer adds to the square of the confidence

    def statistics(counts: Ints) -> Floats:
        weights, size = counts.astype(np.float64), counts.sum(axis=1)
        rates = (weights @ columns.T / size[:, None]).reshape(len(counts), len(says), 5)
        aurocs, sure_right, sure_wrong = (part.auroc(counts) for part in by_judge)
        squares, gains = row_sums(weights, values**2) / size, row_sums(weights, gain) / size
        with np.errstate(invalid="ignore", divide="ignore"):
            n_hand = row_sums(weights, known) / size
            hand_brier = row_sums(weights, known * values**2 + right * gain) / size / n_hand
        auroc_by_hand = of_hand.auroc(counts)[0]
        rows = []
        for at, of_judge in enumerate(says):
            judged_gains = row_sums(weights, of_judge * gain) / size
            auroc, brier = _corrected(_rates(rates[:, at]), aurocs[at], squares, gains, judged_gains)
            rows += [aurocs[at], auroc, auroc_by_hand, squares + judged_gains, brier, hand_brier]
            rows += [sure_right[at], sure_wrong[at]]
        return np.stack(rows)

    found = [interval(number) for number in joint_draws(statistics, len(values), resampling, clusters)]
    return {name: JudgedConfidence(*found[8 * at : 8 * at + 8]) for at, name in enumerate(judges)}


def _corrected(
    rates: Mapping[str, Floats], auroc: Floats, squares: Floats, gains: Floats, judged_gains: Floats
) -> tuple[Floats, Floats]:
    """AUROC and Brier score without the errors of one judge, [resamples] each."""
    m, a, better = rates["judged"], rates["accuracy"], rates["sensitivity"] + rates["specificity"] - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        corrected = 0.5 + (auroc - 0.5) * m * (1 - m) / (a * (1 - a) * better)
        brier = squares + (judged_gains + (rates["specificity"] - 1) * gains) / better
        usable = (better > 1e-12) & (a > 0) & (a < 1)
        return np.where(usable, np.clip(corrected, 0, 1), np.nan), np.where(usable, np.clip(brier, 0, 1), np.nan)


def _grades(judged: npt.ArrayLike, by_hand: npt.ArrayLike) -> tuple[Floats, Floats]:
    """What the judge says and what hands do, as checked numbers [answers]."""
    hand = np.asarray(by_hand, np.float64)
    says = check_correct(judged, hand.size).astype(np.float64)
    if hand.shape != says.shape or not np.isin(hand[~np.isnan(hand)], (0.0, 1.0)).all():
        raise ValueError(f"by_hand must have {len(says)} values of 0, 1 or NaN, one for each answer")
    return says, hand
