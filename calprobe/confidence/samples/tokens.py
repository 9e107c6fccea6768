"""Confidence in one reply from the log-probabilities of its tokens."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_vector, refuse
from calprobe.runs.alternatives import least_entropy


def sequence_probability(logprobs: npt.ArrayLike) -> float:
    """The length-normalised probability of a reply, `exp(1/T sum_t ln p_t)`. Larger is surer.

    The geometric mean of its tokens' probabilities, 1 / perplexity.

    Args:
        logprobs: [tokens], nats, of the tokens that were generated.
    Returns:
        In (0, 1]; NaN without tokens.
    Raises:
        ValueError: a log-probability above 0, or NaN.

    >>> round(sequence_probability(np.log([0.5, 0.125])), 6)
    0.25
    """
    logs = _logprobs(logprobs)
    return float(np.exp(logs.mean())) if len(logs) else float("nan")


def perplexity(logprobs: npt.ArrayLike) -> float:
    """`exp(-1/T sum_t ln p_t)` of a reply's tokens. Larger is less sure; 1 or more, NaN without tokens.

    Arguments and errors are those of `sequence_probability`.

    >>> round(perplexity(np.log([0.5, 0.125])), 6)
    4.0
    """
    logs = _logprobs(logprobs)
    return float(np.exp(-logs.mean())) if len(logs) else float("nan")


def token_entropy(logprobs: npt.ArrayLike) -> float:
    """The entropy of one position, `-sum_v p_v ln p_v`. Larger is less sure.

    Of a window of the most probable tokens, what is missing of 1 counts as one token more: the least that the entropy
    of the complete softmax can be, for a window that is not its beginning too.

    Args:
        logprobs: [tokens], nats, of the complete softmax or of a window; -inf: no mass.
    Returns:
        Nats, 0 or more; NaN without any.
    Raises:
        ValueError: a log-probability above 0, NaN, or a mass above 1.

    >>> round(token_entropy(np.log([0.5, 0.25, 0.25])), 4), round(token_entropy(np.log([0.5, 0.25])), 4)
    (1.0397, 1.0397)
    """
    logs = check_vector("logprobs", logprobs, "tokens")
    refuse("logprobs", "must be 0 or less and not NaN", logs, ~(logs <= 1e-6))
    if not len(logs):
        return float("nan")
    if (mass := float(np.exp(logs).sum())) > 1 + 1e-3:
        raise ValueError(f"logprobs must have a mass of at most 1; got {mass:.4f}")
    return least_entropy(logs)


def _logprobs(logprobs: npt.ArrayLike) -> Floats:
    logs = check_vector("logprobs", logprobs, "tokens")
    refuse("logprobs", "must be 0 or less and not NaN", logs, ~(logs <= 0))
    return logs
