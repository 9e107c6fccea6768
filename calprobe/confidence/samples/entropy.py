"""Entropy over classes of equal answers: counted, corrected for few samples, or weighted by likelihood."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_vector, check_whole, refuse


def class_counts(classes: npt.ArrayLike) -> Ints:
    """How many samples each class has, [classes], those with the number -1 (no answer) left out.

    Args:
        classes: [samples], the number of each sample's class, from 0 on; -1: no answer.
    Raises:
        ValueError: not whole numbers, or below -1.

    >>> class_counts([0, 2, 0, -1]).tolist()
    [2, 1]
    """
    numbers = check_classes(classes)
    counts = np.bincount(numbers[numbers >= 0])
    return counts[counts > 0].astype(np.int64)


def check_classes(classes: npt.ArrayLike) -> Ints:
    """The numbers of classes as int64 [samples]; ValueError unless whole and at least -1."""
    numbers = check_whole("classes", classes, "samples")
    refuse("classes", "must be -1 (no answer) or more", numbers, numbers < -1)
    return numbers


def answer_entropy(counts: npt.ArrayLike) -> float:
    """The plug-in entropy of the classes of m samples, `-sum_c p_c ln p_c` with `p_c = n_c / m`. Larger is less sure.

    Cox et al. 2025, equation 5, over strings; over meanings it is the counted semantic entropy, equation 6. It is
    biased down, and at most `ln m`: compare only entropies of the same number of samples.

    Args:
        counts: [classes], samples in each.
    Returns:
        Nats, in [0, ln m]; NaN without samples.
    Raises:
        ValueError: not whole numbers, or negative.

    >>> round(answer_entropy([2, 2]), 4), answer_entropy([4])
    (0.6931, 0.0)
    """
    p = _shares(counts)
    return float(-(p * np.log(p)).sum()) + 0.0 if len(p) else float("nan")


def miller_madow_entropy(counts: npt.ArrayLike) -> float:
    """The plug-in entropy plus `(K - 1) / (2 m)`, with K classes seen among m samples (Miller 1955).

    The correction takes away the largest part of the bias of few samples. Arguments and errors as `answer_entropy`.

    Returns:
        Nats, 0 or more, larger is less sure; it may exceed `ln m`. NaN without samples.

    >>> round(miller_madow_entropy([2, 2]), 4)  # ln 2 + 1/8
    0.8181
    """
    numbers = _counts(counts)
    return answer_entropy(numbers) + (len(numbers) - 1) / (2 * int(numbers.sum())) if len(numbers) else float("nan")


def likelihood_entropy(classes: npt.ArrayLike, strings: npt.ArrayLike, logprobs: npt.ArrayLike) -> float:
    """Semantic entropy with classes weighted by likelihood, `-sum_c p_c ln p_c`. Larger is less sure.

    `p_c` is the probability of the different strings of class c, normalised over all strings that were sampled. A copy
    of a string adds nothing: its probability is that of the string. Of a string with several log-probabilities (other
    tokens, rounding) the largest counts. Source: Kuhn, Gal, Farquhar 2023, with the normalisation of Farquhar et al.
    2024 (Nature 630); length-normalised where the log-probabilities are means over tokens.

    Args:
        classes: [samples], from 0 on; -1: no answer.
        strings: [samples], a number for each different string.
        logprobs: [samples], nats, 0 or less; of the string, or per token. NaN: not known, then the result is NaN.
    Returns:
        Nats, in [0, ln K] of K classes; NaN without samples.
    Raises:
        ValueError: shapes differ, or log-probabilities above 0.

    >>> from math import log
    >>> round(likelihood_entropy([0, 0, 1], [0, 0, 1], [log(0.3), log(0.3), log(0.1)]), 4)  # of 3/4 and 1/4
    0.5623
    """
    numbers, of, logs = _weighted(classes, strings, logprobs)
    if not len(numbers) or np.isnan(logs).any():
        return float("nan")
    names, first, place = np.unique(of, return_index=True, return_inverse=True)
    largest = np.full(len(names), -np.inf)
    np.maximum.at(largest, place, logs)
    weights = np.exp(largest - largest.max())
    p = np.bincount(numbers[first], weights) / weights.sum()
    p = p[p > 0]
    return float(-(p * np.log(p)).sum()) + 0.0


def monte_carlo_entropy(classes: npt.ArrayLike, logprobs: npt.ArrayLike) -> float:
    """`-1/m sum_i ln L_c(i)`, L_c the summed likelihood of the samples of class c. Larger is less sure.

    The estimator of lm-polygraph's `SemanticEntropy`: likelihoods are not normalised, and copies add to their class, so
    that it may be negative. `likelihood_entropy` is without both.

    Args:
        classes: [samples], from 0 on; -1: no answer.
        logprobs: [samples], nats, of the complete strings.
    Returns:
        Nats; NaN without samples, or where a log-probability is.
    Raises:
        ValueError: shapes differ, or log-probabilities above 0.

    >>> from math import log
    >>> round(monte_carlo_entropy([0, 0, 1], [log(0.25), log(0.25), log(0.5)]), 4)
    0.6931
    """
    numbers, _, logs = _weighted(classes, classes, logprobs)
    if not len(numbers) or np.isnan(logs).any():
        return float("nan")
    summed = np.full(numbers.max() + 1, -np.inf)
    np.logaddexp.at(summed, numbers, logs)
    return float(-summed[numbers].mean())


def _weighted(classes: npt.ArrayLike, strings: npt.ArrayLike, logprobs: npt.ArrayLike) -> tuple[Ints, Ints, Floats]:
    """The three of the samples that have a class."""
    numbers, of = check_classes(classes), check_whole("strings", strings, "samples")
    logs = check_vector("logprobs", logprobs, "samples")
    if not len(numbers) == len(of) == len(logs):
        lengths = f"{len(numbers)}, {len(of)}, {len(logs)}"
        raise ValueError(f"classes, strings and logprobs must be of the same samples; got {lengths}")
    refuse("logprobs", "must be 0 or less", logs, logs > 0)
    answered = numbers >= 0
    return numbers[answered], of[answered], logs[answered]


def _shares(counts: npt.ArrayLike) -> Floats:
    numbers = _counts(counts)
    return numbers / numbers.sum() if len(numbers) else numbers.astype(np.float64)


def _counts(counts: npt.ArrayLike) -> Ints:
    """Those above 0."""
    numbers = check_whole("counts", counts, "classes")
    refuse("counts", "must be 0 or more", numbers, numbers < 0)
    return numbers[numbers > 0]
