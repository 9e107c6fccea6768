"""Candidate scores of ragged answer spaces as probabilities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.types import Floats, Ints


def softmax(scores: npt.ArrayLike, offsets: npt.ArrayLike) -> Floats:
    """Probabilities over each instance's own candidates: `p_k = exp(s_k - max s) / sum_j exp(s_j - max s)`, float64.

    SPEC_SCORING section 3. Scores of any size are safe: the largest is subtracted first.

    Args:
        scores: [templates, candidates], log-probabilities in nats, candidates laid end to end over the instances.
        offsets: [instances + 1], instance `i` owns the columns `offsets[i]:offsets[i + 1]`, at least one.
    Returns:
        [templates, candidates], in [0, 1], summing to 1 over each instance's candidates; equal scores get equal
        probabilities, -inf gets 0. All of an instance's are NaN if one of its scores is NaN or +inf, or all are -inf.
    Raises:
        ValueError: scores are not two-dimensional, offsets do not ascend from 0 to the number of candidates.

    >>> softmax([[-800.0, -800.0, -1.0, -2.0, float("-inf")]], [0, 2, 5]).round(3).tolist()
    [[0.5, 0.5, 0.731, 0.269, 0.0]]
    """
    logprobs = np.asarray(scores, dtype=np.float64)
    bounds = np.asarray(offsets, dtype=np.int64)
    _check(logprobs, bounds)
    starts, widths = bounds[:-1], np.diff(bounds)
    if not len(starts):
        return logprobs.copy()
    with np.errstate(invalid="ignore"):  # inf - inf: NaN is the answer
        weights = np.exp(logprobs - np.repeat(np.maximum.reduceat(logprobs, starts, axis=1), widths, axis=1))
    probabilities: Floats = weights / np.repeat(np.add.reduceat(weights, starts, axis=1), widths, axis=1)
    return probabilities


def _check(scores: Floats, offsets: Ints) -> None:
    if scores.ndim != 2:
        raise ValueError(f"scores must have two dimensions, [templates, candidates]; got shape {scores.shape}")
    if offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or offsets[-1] != scores.shape[1]:
        raise ValueError(f"offsets must go from 0 to the {scores.shape[1]} candidates of scores; got {offsets}")
    if (np.diff(offsets) < 1).any():
        at = int(np.flatnonzero(np.diff(offsets) < 1)[0])
        raise ValueError(f"offsets must give each instance at least one candidate; instance {at} has none")
