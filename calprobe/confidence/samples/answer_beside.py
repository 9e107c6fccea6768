"""Uncertainty of an answer from its own probability and from how like the other samples it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_vector, refuse
from calprobe.confidence.samples.clusters import check_square

DUAN, QIU, VASHURIN = "Duan et al. 2024", "Qiu, Miikkulainen 2024", "Vashurin et al. 2025"
SAR_TEMPERATURE = 0.001  # Duan et al. 2024


def cocoa(uncertainty: float, similarity: npt.ArrayLike) -> float:
    """`u mean_j (1 - s_j)`: an answer's own uncertainty times its mean distance from the samples. Larger is less sure.

    Vashurin et al. 2025, with u minus the answer's log-probability, that a token, or the mean entropy of its tokens.

    Args:
        uncertainty: u, 0 or more; NaN: not known.
        similarity: [samples], of the answer to each of the others, in [0, 1].
    Returns:
        In [0, u]; NaN without other samples, or where u is.
    Raises:
        ValueError: a value out of range.

    >>> cocoa(2.0, [1.0, 0.5])
    0.5
    """
    likeness = _shares("similarity", similarity)
    if uncertainty < 0:
        raise ValueError(f"uncertainty must be 0 or more; got {uncertainty}")
    return float(uncertainty * (1 - likeness).mean()) if len(likeness) else float("nan")


def semantic_density(kernel: npt.ArrayLike, logprobs: npt.ArrayLike, own: float) -> float:
    """The share of the probability of an answer and other replies that lies near the answer. Larger is surer.

    `(p + sum_j p_j k_j) / (p + sum_j p_j)` over the other *different* replies, p the length-normalised probabilities.
    Qiu, Miikkulainen 2024, as lm-polygraph has it.

    Args:
        kernel: [replies], how near the answer each is, in [0, 1], see `semantic_kernel`.
        logprobs: [replies], mean log-probability of a token, nats; NaN: not known, then the result is NaN.
        own: that of the answer.
    Returns:
        In (0, 1].
    Raises:
        ValueError: shapes differ, or a value out of range.

    >>> from math import log
    >>> round(semantic_density([1.0, 0.0], [log(0.2), log(0.4)], log(0.4)), 6)
    0.6
    """
    near, logs = _shares("kernel", kernel), np.append(_logs(logprobs), own)
    if len(near) + 1 != len(logs):
        raise ValueError(f"kernel and logprobs must be of the same replies; got {len(near)} and {len(logs) - 1}")
    if np.isnan(logs).any():
        return float("nan")
    weights = np.exp(logs - logs.max())
    return float(weights @ np.append(near, 1.0) / weights.sum())


def sentence_sar(similarity: npt.ArrayLike, logprobs: npt.ArrayLike, temperature: float = SAR_TEMPERATURE) -> float:
    """`-1/m sum_i ln (p_i + 1/t sum_{j != i} s_ij p_j)`: replies that others are like count as more probable.

    Duan et al. 2024, "SentenceSAR" of "shifting attention to relevance". Larger is less sure.

    Args:
        similarity: [samples, samples], in [0, 1]; the diagonal is not looked at.
        logprobs: [samples], of complete replies, nats; NaN: not known, then the result is NaN.
        temperature: t, above 0.
    Returns:
        Nats, may be negative; NaN without samples.
    Raises:
        ValueError: shapes differ, or a value out of range.

    >>> from math import log
    >>> round(sentence_sar([[1, 0.5], [0.5, 1]], [log(0.25), log(0.5)], temperature=0.5), 6)  # -ln .75, twice
    0.287682
    """
    from scipy.special import logsumexp  # SciPy takes a while to import, and most reports need none of it

    likeness, logs = check_square("similarity", similarity), _logs(logprobs)
    _shares("similarity", likeness.ravel())
    if len(likeness) != len(logs):
        raise ValueError(f"similarity and logprobs must be of the same samples; got {len(likeness)} and {len(logs)}")
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0; got {temperature}")
    if not len(logs) or np.isnan(logs).any():
        return float("nan")
    weights = likeness / temperature
    np.fill_diagonal(weights, 1.0)
    return 0.0 - float(np.mean(logsumexp(np.broadcast_to(logs, weights.shape), b=weights, axis=1)))


def _shares(name: str, values: npt.ArrayLike) -> Floats:
    shares = check_vector(name, values, "samples")
    refuse(name, "must lie in [0, 1]", shares, ~((shares >= 0) & (shares <= 1)))
    return shares


def _logs(logprobs: npt.ArrayLike) -> Floats:
    logs = check_vector("logprobs", logprobs, "samples")
    refuse("logprobs", "must be 0 or less", logs, logs > 0)
    return logs
