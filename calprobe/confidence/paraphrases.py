"""Estimators over several paraphrases: which answer the wordings agree on, and how sure that makes it.

An aggregation takes the heads of the paraphrases' distributions, arrays [templates, instances], and gives the places
[instances] of the answers. It compares predictions with predictions, so that the size of an answer space does not
matter. An instance that failed under any of the paraphrases has no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from calprobe.arrays import Ints
from calprobe.confidence.distributions import NO_PREDICTION, Distributions, Peak, find_peaks
from calprobe.confidence.types import Confidence


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A way to choose among the answers of the paraphrases."""

    name: str  # vote_2, vote_3, .., min, max
    meaning: str  # of the answer, in a few words
    choose: Callable[[Peak], Ints]
    votes: int | None = None  # that the answer needs; None: an aggregation without votes


def aggregations(n_paraphrases: int) -> tuple[Aggregation, ...]:
    """vote_2 up to vote_T for T paraphrases, then min and max.

    >>> [aggregation.name for aggregation in aggregations(3)]
    ['vote_2', 'vote_3', 'min', 'max']
    """
    votes = (
        Aggregation(f"vote_{k}", f"the most frequent answer, of {k} votes or more", partial(vote, least=k), k)
        for k in range(2, n_paraphrases + 1)
    )
    return (
        *votes,
        Aggregation("min", "the least confident paraphrase's answer", least_confident),
        Aggregation("max", "the most confident paraphrase's answer", most_confident),
    )


def vote(peak: Peak, least: int) -> Ints:
    """The answer that more paraphrases give than any other, if they are `least` or more; else the vote fails.

    docs/methods/estimators.md, "Confidence estimators"; Kissling et al. 2026, section 3.2 and appendix C: `vote_2` is
    their plurality, `vote_5` of five their unanimity. Two answers with as many votes as each other fail, whatever their
    number.

    Args:
        peak: of T paraphrases, [T, instances].
        least: votes that the answer needs, 1 to T.
    Returns:
        Places of candidates [instances]; NO_PREDICTION where the vote failed, or one of the paraphrases did.
    Raises:
        ValueError: least is not within 1 and T.

    >>> predictions, any_base = np.array([[4, 4, 4], [4, 4, 7], [4, 7, 7], [4, 0, 4]]), np.full((4, 3), 0.5)
    >>> peak = Peak(predictions, any_base, any_base)
    >>> vote(peak, 2).tolist(), vote(peak, 3).tolist()
    ([4, 4, -1], [4, -1, -1])
    """
    if not 1 <= least <= len(peak.prediction):
        raise ValueError(f"least must be within 1 and the number of paraphrases, {len(peak.prediction)}; got {least}")
    # Votes for each paraphrase's own answer, counted a paraphrase at a time: [T, instances], never [T, T, instances].
    votes = np.zeros_like(peak.prediction)
    for prediction in peak.prediction:
        votes += peak.prediction == prediction
    most = votes.max(axis=0)
    # An answer of `most` votes is given by so many paraphrases: by more, only if there are two such answers.
    alone = (votes == most).sum(axis=0) == most
    return np.where(alone & (most >= least), _answer_of(peak, votes.argmax(axis=0)), NO_PREDICTION)


def least_confident(peak: Peak) -> Ints:
    """The answer of the paraphrase with the lowest base, the first on a tie: the aggregation `min`.

    docs/methods/estimators.md, "Confidence estimators"; Kissling et al. 2026, section 3.2. Never fails unless one of
    the paraphrases did.

    Args:
        peak: of T paraphrases, [T, instances], T at least 1.
    Returns:
        Places of candidates [instances]; NO_PREDICTION where one of the paraphrases failed.
    Raises:
        ValueError: no paraphrase.

    >>> base = np.array([[0.9, 0.5], [0.6, 0.5]])
    >>> least_confident(Peak(np.array([[0, 1], [2, 3]]), base, base)).tolist()
    [2, 1]
    """
    return _answer_of(peak, peak.largest.argmin(axis=0))


def most_confident(peak: Peak) -> Ints:
    """The answer of the paraphrase with the highest base, the first on a tie: the aggregation `max`.

    docs/methods/estimators.md, "Confidence estimators"; Kissling et al. 2026, appendix C. Arguments, result and errors
    are those of `least_confident`.

    >>> base = np.array([[0.9, 0.5], [0.6, 0.5]])
    >>> most_confident(Peak(np.array([[0, 1], [2, 3]]), base, base)).tolist()
    [0, 1]
    """
    return _answer_of(peak, peak.largest.argmax(axis=0))


def _answer_of(peak: Peak, template: Ints) -> Ints:
    """The prediction of one paraphrase [instances] for each instance, unless any paraphrase failed."""
    answers = np.take_along_axis(peak.prediction, template[None], axis=0)[0]
    return np.where((peak.prediction == NO_PREDICTION).any(axis=0), NO_PREDICTION, answers)


def average_confidence(distributions: Distributions, rows: Sequence[int], choose: Callable[[Peak], Ints]) -> Confidence:
    """`1/T * sum of base_t over the paraphrases t that predict the chosen answer`; the others count as 0.

    docs/methods/estimators.md, "Confidence estimators"; Kissling et al. 2026, section 3.2. Higher is surer; within
    (0, 1], 0 where there is no answer.

    Args:
        distributions: of any number of instances.
        rows: the paraphrases' rows of `distributions.probabilities`, T of them, at least one.
        choose: the aggregation, such as `least_confident`: from the paraphrases' heads to the answer.
    Returns:
        Arrays [instances]. An instance without an answer (a vote failed, or probabilities are NaN under one of the
        paraphrases) fails: confidence 0, incorrect.

    >>> scores = np.log([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]])
    >>> found = average_confidence(Distributions.from_scores(scores, [0, 2], [0]), [0, 1, 2], least_confident)
    >>> found.prediction.tolist(), found.confidence.round(3).tolist()
    ([1], [0.2])
    """
    peak = distributions.peak(rows)
    chosen = choose(peak)
    average = np.where(peak.prediction == chosen, peak.largest, 0.0).mean(axis=0)
    return Confidence.of(chosen, average, distributions.answer_idx)


def consistency_confidence(
    distributions: Distributions, rows: Sequence[int], choose: Callable[[Peak], Ints]
) -> Confidence:
    """The share of the T paraphrases that predict the chosen answer, `#{t: yhat_t == yhat} / T`.

    docs/methods/estimators.md, "Confidence estimators"; Kissling et al. 2026, section 3.2. Higher is surer; one of 1/T,
    2/T, .., 1, so ties are many; 0 where there is no answer. Arguments, result and failures are those of
    `average_confidence`.

    >>> scores = np.log([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]])
    >>> found = consistency_confidence(Distributions.from_scores(scores, [0, 2], [0]), [0, 1, 2], most_confident)
    >>> found.prediction.tolist(), found.confidence.round(3).tolist()
    ([0], [0.667])
    """
    peak = distributions.peak(rows)
    chosen = choose(peak)
    return Confidence.of(chosen, (peak.prediction == chosen).mean(axis=0), distributions.answer_idx)


def fixed_mean_confidence(distributions: Distributions, rows: Sequence[int], row: int) -> Confidence:
    """The mean, over the T paraphrases, of the probability of base's answer: `1/T * sum_t p_t(yhat)`.

    docs/methods/estimators.md, "Confidence estimators", beyond the paper. The predictions are those of base under one
    template, so accuracy is that of base too, and Brier score and rejection curves compare confidences alone. Higher is
    surer; within [0, 1].

    Args:
        distributions: of any number of instances.
        rows: the paraphrases' rows of `distributions.probabilities`, T of them, at least one.
        row: of the template that gives the answer.
    Returns:
        Arrays [instances]. An instance with NaN probabilities under one of the templates fails: confidence 0,
        incorrect.

    >>> scores = np.log([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]])
    >>> found = fixed_mean_confidence(Distributions.from_scores(scores, [0, 2], [0]), [0, 1, 2], 0)
    >>> found.prediction.tolist(), found.confidence.round(3).tolist()
    ([0], [0.7])
    """
    answer = distributions.peak([row]).prediction[0]
    places = distributions.offsets[:-1] + np.maximum(answer, 0)
    mean = distributions.probabilities[np.ix_(list(rows), places)].mean(axis=0)
    return Confidence.of(answer, mean, distributions.answer_idx)


def fixed_agreement_confidence(distributions: Distributions, rows: Sequence[int], row: int) -> Confidence:
    """The share of the T paraphrases that predict base's answer, `#{t: yhat_t == yhat} / T`.

    docs/methods/estimators.md, "Confidence estimators", beyond the paper. Predictions, arguments and failures are those
    of `fixed_mean_confidence`. Higher is surer; one of 0, 1/T, .., 1.

    >>> scores = np.log([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]])
    >>> found = fixed_agreement_confidence(Distributions.from_scores(scores, [0, 2], [0]), [0, 1, 2], 0)
    >>> found.prediction.tolist(), found.confidence.round(3).tolist()
    ([0], [0.667])
    """
    answer = distributions.peak([row]).prediction[0]
    peak = distributions.peak(rows)
    share = np.where((peak.prediction == NO_PREDICTION).any(axis=0), np.nan, (peak.prediction == answer).mean(axis=0))
    return Confidence.of(answer, share, distributions.answer_idx)


def mixture_confidence(distributions: Distributions, rows: Sequence[int]) -> Confidence:
    """The largest probability of the mean distribution, `max_k 1/T * sum_t p_tk`; the prediction is its candidate.

    docs/methods/estimators.md, "Confidence estimators", beyond the paper. Unlike average it chooses after averaging: a
    candidate can win that is first under no paraphrase. Higher is surer; within [1/K, 1] for K candidates. Ties as in
    base.

    Args:
        distributions: of any number of instances.
        rows: the paraphrases' rows of `distributions.probabilities`, T of them, at least one.
    Returns:
        Arrays [instances], with the mean distribution. An instance with NaN probabilities under one of the
        paraphrases fails: confidence 0, incorrect.

    >>> scores = np.log([[0.5, 0.4, 0.1], [0.1, 0.4, 0.5]])
    >>> found = mixture_confidence(Distributions.from_scores(scores, [0, 3], [1]), [0, 1])
    >>> found.prediction.tolist(), found.confidence.round(3).tolist()
    ([1], [0.4])
    """
    mixture = distributions.probabilities[list(rows)].mean(axis=0)
    peak = find_peaks(mixture[None], distributions.offsets, distributions.keys)
    return Confidence.of(peak.prediction[0], peak.largest[0], distributions.answer_idx, mixture)
