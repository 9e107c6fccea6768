"""Which instances two runs answer alike: their scores differ by no more than the error that scores have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.runs import ScoreTable

# Scores are sums of float32 log-probabilities. The same weights on another path, batch size or device gave scores that
# differed by 1e-4 nats at most, and long texts by a few units of the score's own last places.
ABSOLUTE = 1e-4  # nats
RELATIVE = 4e-6  # of the score: 32 times the spacing of float32 numbers


def tied_instances(first: ScoreTable, second: ScoreTable) -> npt.NDArray[np.bool_]:
    """Whether every candidate of an instance has the same score in both tables, under every template, [instances].

    Scores a and b are the same if `|a - b| <= 1e-4 + 4e-6 max(|a|, |b|)` nats, or if both are missing (NaN).

    Args:
        first: some templates and instances of a run.
        second: the same templates and instances of another run, in the same order.
    """
    if not first.n_instances:
        return np.zeros(0, np.bool_)
    a, b = first.scores, second.scores
    near = np.abs(a - b) <= ABSOLUTE + RELATIVE * np.maximum(np.abs(a), np.abs(b))
    same = near | (np.isnan(a) & np.isnan(b))
    tied: npt.NDArray[np.bool_] = np.logical_and.reduceat(same.all(axis=0), first.offsets[:-1])
    return tied
