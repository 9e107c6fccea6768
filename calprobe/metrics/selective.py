"""Selective prediction: how many of the most confident predictions are wrong, however many of them one keeps.

All three metrics are of one curve: its risk at coverage k/n is the share of incorrect ones among the k most confident
of n instances, for k = 1..n. Where k cuts through a tie, the risk is the one expected if the rest of the k are drawn
from the tie at random; AURC is then its expected value over random order within ties, in closed form. Only the order
of the confidences counts. A sample with every instance several times over has the same curve in finer steps: AURC
moves a little, towards the area under the curve drawn through all shares of kept instances.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.metric import RankMetric
from calprobe.metrics.ranks import Ranks, best_risk_sum, rank_sample, tied_starts
from calprobe.metrics.result import Curve, MetricResult
from calprobe.metrics.sample import Sample, sort_instances


def aurc(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Area under the risk-coverage curve: the risk of the k most confident, averaged over k = 1..n. Smaller is better.

    `1/n * sum_k (incorrect ones among the k most confident) / k`. Source: Geifman, Uziel, El-Yaniv 2019, "Bias-Reduced
    Uncertainty Estimation for Deep Neural Classifiers", which says nothing of ties. Random confidences have the error
    rate as their expected value, so compare it between equally accurate models only, or see `e_aurc` and `prr`.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1] with the curve, one point for each k (x: coverage k/n, y: risk); the value is the mean of y.
        Ties: expected value over their random orders, so the error rate if all are tied. 0 if all are correct, 1 if all
        are incorrect, whatever the order; so with one instance too. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(aurc([0.9, 0.6, 0.6, 0.3], [True, False, True, False]).value, 4)  # (0 + 1/4 + 1/3 + 1/2) / 4
    0.2708
    """
    sample = sort_instances(confidence, correct).whole()
    return MetricResult(float(_aurc(rank_sample(sample))[0]), curve=_risk_coverage(sample))


def e_aurc(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Excess AURC: `aurc` less that of the best order, every correct prediction before the others. Smaller is better.

    The best is `(W - R (H_n - H_R)) / n` for R correct and W incorrect of n instances, H the harmonic numbers: exact,
    where Geifman, Uziel, El-Yaniv 2019 take its limit for many instances, `e + (1 - e) ln(1 - e)` for error rate e.

    Arguments and errors are those of `aurc`.

    Returns:
        A value in [0, 1), with the curve of `aurc`. 0 for the best order, for one class and for one instance. NaN
        without instances.

    >>> round(e_aurc([0.9, 0.6, 0.6, 0.3], [True, False, True, False]).value, 4)  # best: (0 + 0 + 1/3 + 1/2) / 4
    0.0625
    """
    sample = sort_instances(confidence, correct).whole()
    return MetricResult(float(_e_aurc(rank_sample(sample))[0]), curve=_risk_coverage(sample))


def prr(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Prediction-rejection ratio: how much of the best order's gain over random order is had. Larger is better.

    `(random - curve) / (random - best)` with the `aurc` of random order (the error rate), of the confidences, and of
    the best order. lm-polygraph's PRR with a maximal rejection of 1 is this number, save that random order there is an
    average over shuffles, and that ties are in the order of sorting. Malinin and Gales 2021 (ICLR, "Uncertainty
    Estimation in Autoregressive Structured Prediction") have a ratio of that name in which someone else answers rightly
    what is rejected, so that each point is divided by n and not by k: that one equals `2 * auroc - 1`.

    Arguments and errors are those of `aurc`.

    Returns:
        A value of at most 1: 1 the best order, 0 as good as random, below 0 worse (without a common bound). With the
        prediction-rejection curve (x: share rejected, y: accuracy of the rest). NaN for one class, so with one instance
        or none too.

    >>> round(prr([0.9, 0.6, 0.6, 0.3], [True, False, True, False]).value, 4)
    0.7857
    """
    sample = sort_instances(confidence, correct).whole()
    kept = _risk_coverage(sample)
    rejection = Curve(1 - kept.x[::-1], 1 - kept.y[::-1], kept.threshold[::-1])
    return MetricResult(float(_prr(rank_sample(sample))[0]), curve=rejection)


def _aurc(ranks: Ranks) -> Floats:
    with np.errstate(invalid="ignore"):
        area: Floats = ranks.risk_sum / ranks.size
    return area


def _e_aurc(ranks: Ranks) -> Floats:
    with np.errstate(invalid="ignore"):
        excess: Floats = (ranks.risk_sum - best_risk_sum(ranks)) / ranks.size
    return excess


def _prr(ranks: Ranks) -> Floats:
    # The random order's risk is the error rate W / n at each of the n coverages.
    gain, best_gain = ranks.wrong - ranks.risk_sum, ranks.wrong - best_risk_sum(ranks)
    one_class = (ranks.right == 0) | (ranks.wrong == 0)
    ratio: Floats = np.divide(gain, best_gain, out=np.full(len(gain), np.nan), where=~one_class)
    return ratio


def _risk_coverage(sample: Sample) -> Curve:
    """The curve of a sample as it stands, from one instance kept to all of them, [instances] points."""
    starts = tied_starts(sample.confidence)
    kept = np.arange(1, len(sample.confidence) + 1)
    up_to = np.append(0, len(kept) - starts[::-1])  # kept with each whole tie
    wrong = np.append(0, np.cumsum(np.add.reduceat(1 - sample.correct, starts)[::-1]))
    expected = np.interp(kept, up_to, wrong)  # linear in k within a tie
    return Curve(kept / max(1, len(kept)), expected / kept, threshold=sample.confidence[::-1])


AURC = RankMetric("aurc", "AURC", "share of incorrect among the k most confident, mean over k", "smaller", _aurc)
E_AURC = RankMetric("e_aurc", "E-AURC", "AURC less that of the best order", "smaller", _e_aurc)
PRR = RankMetric("prr", "PRR", "share of the best order's gain in AURC over random order", "larger", _prr)
