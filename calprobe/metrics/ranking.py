"""Ranking metrics: does higher confidence mean more often right, and how many of the most confident are wrong?

AURC, E-AURC and the prediction-rejection ratio are of one curve: its risk at coverage k/n is the share of incorrect
ones among the k most confident of n instances, for k = 1..n. Where k cuts through a tie, the risk is the one expected
if the rest of the k are drawn from the tie at random; AURC is then its expected value over random order within ties, in
closed form. Only the order of the confidences counts. A sample with every instance several times over has the same
curve in finer steps: AURC moves a little, towards the area under the curve drawn through all shares of kept instances.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_vector, refuse
from calprobe.metrics.metric import MetricResult, RankMetric
from calprobe.metrics.ranks import Ranks, best_half_risk_sum, best_risk_sum, rank_sample
from calprobe.metrics.sample import sort_instances

GEIFMAN = "Geifman, Uziel, El-Yaniv 2019"


def auroc(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Probability that a correct prediction has a higher confidence than an incorrect one; a tie counts half.

    The area under the ROC curve of confidence for correctness, as scikit-learn's `roc_auc_score`. Larger is better, 0.5
    is chance.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]. NaN where all predictions are correct or all incorrect, so with one instance or none too.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> auroc([0.1, 0.4, 0.4, 0.8], [False, False, True, True]).value
    0.875
    """
    return _of_order(confidence, correct, _auroc)


def _auroc(ranks: Ranks) -> Floats:
    with np.errstate(invalid="ignore"):
        area: Floats = ranks.ordered / (2 * ranks.right * ranks.wrong)
    return area


def aurc(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Area under the risk-coverage curve: the risk of the k most confident, averaged over k = 1..n. Smaller is better.

    `1/n * sum_k (incorrect ones among the k most confident) / k`. Source: Geifman, Uziel, El-Yaniv 2019, "Bias-Reduced
    Uncertainty Estimation for Deep Neural Classifiers", which says nothing of ties. Random confidences have the error
    rate as their expected value, so compare it between equally accurate models only, or see `e_aurc` and `prr`.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]. Ties: expected value over their random orders, so the error rate if all are tied. 0 if all
        are correct, 1 if all are incorrect, whatever the order; so with one instance too. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(aurc([0.9, 0.6, 0.6, 0.3], [True, False, True, False]).value, 4)  # (0 + 1/4 + 1/3 + 1/2) / 4
    0.2708
    """
    return _of_order(confidence, correct, _aurc)


def e_aurc(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Excess AURC: `aurc` minus that of the best order, every correct prediction before the others. Smaller is better.

    The best is `(W - R (H_n - H_R)) / n` for R correct and W incorrect of n instances, H the harmonic numbers: exact,
    where Geifman, Uziel, El-Yaniv 2019 take its limit for many instances, `e + (1 - e) ln(1 - e)` for error rate e.

    Arguments and errors are those of `aurc`.

    Returns:
        A value in [0, 1). 0 for the best order, for one class and for one instance. NaN
        without instances.

    >>> round(e_aurc([0.9, 0.6, 0.6, 0.3], [True, False, True, False]).value, 4)  # best: (0 + 0 + 1/3 + 1/2) / 4
    0.0625
    """
    return _of_order(confidence, correct, _e_aurc)


def augrc(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Area under the generalised risk-coverage curve: silent failures, averaged over coverage. Smaller is better.

    `1/n * sum_k (incorrect ones among the k most confident) / n`: how many of all answers are wrong and kept, where
    AURC has the share of the kept, which weighs the few most confident ones most. Equal to
    `((1 - auroc) R W + W (W + 1) / 2) / n^2` for R correct and W incorrect of n. Source: Traub et al. 2024, "Overcoming
    Common Flaws in the Evaluation of Selective Classification Systems", whose integral it is for many instances. Random
    confidences have about half of the error rate.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]. Ties: expected value over their random orders. 0 if all are correct; if all are incorrect
        `(n + 1) / (2 n)`, whatever the order. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> augrc([0.9, 0.6, 0.6, 0.3], [True, False, True, False]).value  # (0 + 1/2 + 1 + 2) / 4 / 4
    0.21875
    """
    return _of_order(confidence, correct, _augrc)


def prr_50(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Prediction-rejection ratio with half of the instances rejected at most. Larger is better.

    `prr` over the coverages k/n with k > n - floor(n / 2) alone: what is gained where some are rejected, not most. This
    is what lm-polygraph's benchmark reports (Vashurin et al. 2025, "Benchmarking Uncertainty Quantification Methods for
    Large Language Models with LM-Polygraph"), save that random order there is an average over shuffles, and that ties
    are in the order of sorting.

    Arguments and errors are those of `aurc`.

    Returns:
        A value of at most 1, as `prr`. NaN for one class, and for fewer than four instances, of which
        only all are kept at every such coverage.

    >>> round(prr_50([0.9, 0.6, 0.6, 0.3], [True, False, True, False]).value, 4)  # (1 - 5/6) / (1 - 5/6)
    1.0
    >>> round(prr_50([0.9, 0.6, 0.6, 0.3], [False, True, False, True]).value, 4)
    -1.0
    """
    return _of_order(confidence, correct, _prr_50)


def prr(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Prediction-rejection ratio: how much of the best order's gain over random order is had. Larger is better.

    `(random - curve) / (random - best)` with the `aurc` of random order (the error rate), of the confidences, and of
    the best order. lm-polygraph's PRR with a maximal rejection of 1 is this number, save that random order there is an
    average over shuffles, and that ties are in the order of sorting. Malinin and Gales 2021 (ICLR, "Uncertainty
    Estimation in Autoregressive Structured Prediction") have a ratio of that name in which someone else answers rightly
    what is rejected, so that each point is divided by n and not by k: that one equals `2 * auroc - 1`.

    Arguments and errors are those of `aurc`.

    Returns:
        A value of at most 1: 1 the best order, 0 as good as random, below 0 worse (without a common bound). NaN
        for one class, so with one instance
        or none too.

    >>> round(prr([0.9, 0.6, 0.6, 0.3], [True, False, True, False]).value, 4)
    0.7857
    """
    return _of_order(confidence, correct, _prr)


def ordinal_confidence(scores: npt.ArrayLike, *, uncertainty: bool = False) -> Floats:
    """The rank of each score among the distinct scores, from 0 (least sure) to 1 (surest), evenly spaced.

    A monotone map that keeps ties, so that AUROC, AURC, E-AURC and the prediction-rejection ratio, which depend on
    order and ties only, are those of the scores. Calibration metrics of it mean nothing.

    Args:
        scores: [instances], any numbers, infinities too.
        uncertainty: larger scores are less sure, as lm-polygraph's estimators are.
    Returns:
        [instances], in [0, 1]; 0 where all scores are equal, no entries without instances.
    Raises:
        ValueError: not one-dimensional, not numbers, or NaN, which has no place in an order.

    >>> ordinal_confidence([-2.5, 40.0, float("-inf"), -2.5]).tolist()
    [0.5, 1.0, 0.0, 0.5]
    >>> ordinal_confidence([-2.5, 40.0, float("-inf"), -2.5], uncertainty=True).tolist()
    [0.5, 0.0, 1.0, 0.5]
    """
    values = check_vector("scores", scores)
    refuse("scores", "must not be NaN", values, np.isnan(values))
    distinct, rank = np.unique(-values if uncertainty else values, return_inverse=True)
    # Integers divided by one integer: equal ranks stay equal, and no two ranks meet by rounding.
    confidence: Floats = rank / max(1, len(distinct) - 1)
    return confidence


def _of_order(confidence: npt.ArrayLike, correct: npt.ArrayLike, compute: Callable[[Ranks], Floats]) -> MetricResult:
    return MetricResult(float(compute(rank_sample(sort_instances(confidence, correct).sample()))[0]))


def _aurc(ranks: Ranks) -> Floats:
    with np.errstate(invalid="ignore"):
        area: Floats = ranks.risk_sum / ranks.size
    return area


def _e_aurc(ranks: Ranks) -> Floats:
    with np.errstate(invalid="ignore"):
        excess: Floats = (ranks.risk_sum - best_risk_sum(ranks)) / ranks.size
    return excess


def _augrc(ranks: Ranks) -> Floats:
    right, wrong = ranks.right, ranks.wrong
    with np.errstate(invalid="ignore"):
        area: Floats = (2 * right * wrong - ranks.ordered + wrong * (wrong + 1)) / (2 * ranks.size**2)
    return area


def _prr(ranks: Ranks) -> Floats:
    # The random order's risk is the error rate W / n at each of the n coverages.
    return _share_of_gain(ranks, ranks.wrong, ranks.risk_sum, best_risk_sum(ranks), least=2)


def _prr_50(ranks: Ranks) -> Floats:
    size = ranks.size
    random = ranks.wrong * (size // 2) / np.maximum(size, 1)
    return _share_of_gain(ranks, random, ranks.half_risk_sum, best_half_risk_sum(ranks), least=4)


def _share_of_gain(ranks: Ranks, random: Floats | Ints, curve: Floats, best: Floats, *, least: int) -> Floats:
    """How much of the best order's gain is had; NaN where nothing gains: of one class, of fewer instances than that."""
    gain, best_gain = random - curve, random - best
    defined = (ranks.right > 0) & (ranks.wrong > 0) & (ranks.size >= least)
    ratio: Floats = np.divide(gain, best_gain, out=np.full(len(gain), np.nan), where=defined)
    return ratio


AUROC = RankMetric(
    "auroc",
    "AUROC",
    "share of (correct, incorrect) pairs in the right order",
    "larger",
    _auroc,
    source="scikit-learn's roc_auc_score",
    printed=True,
    priority=4,
)
AURC = RankMetric(
    "aurc",
    "AURC",
    "share of incorrect among the k most confident, mean over k",
    "smaller",
    _aurc,
    source=GEIFMAN,
    priority=9,
)
E_AURC = RankMetric("e_aurc", "E-AURC", "AURC minus that of the best order", "smaller", _e_aurc, source=GEIFMAN)
AUGRC = RankMetric(
    "augrc",
    "AUGRC",
    "share of all that are incorrect and among the k most confident, mean over k",
    "smaller",
    _augrc,
    source="Traub et al. 2024",
)
PRR = RankMetric(
    "prr",
    "PRR",
    "share of the best order's gain in AURC over random order",
    "larger",
    _prr,
    bounds=(float("-inf"), 1.0),
    source="lm-polygraph",
    priority=10,
)
PRR_50 = RankMetric(
    "prr_50",
    "PRR to 50 %",
    "PRR with half of the instances rejected at most",
    "larger",
    _prr_50,
    bounds=(float("-inf"), 1.0),
    source="Vashurin et al. 2025",
)
