"""What estimators read: each template's probabilities over each instance's candidates, and the right answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.confidence.softmax import softmax
from calprobe.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Peak:
    """The head of each instance's distribution under some templates. Arrays are [templates, instances]."""

    prediction: Ints  # place of the most probable candidate, the first on a tie; -1 where probabilities are NaN
    largest: Floats  # its probability; NaN where probabilities are
    second: Floats  # the second-largest probability, equal to the largest on a tie; 0 with a single candidate


@dataclass(frozen=True, slots=True)
class Distributions:
    """Probabilities of candidates, flat over ragged answer spaces; instance `i` owns `offsets[i]:offsets[i + 1]`."""

    probabilities: Floats  # [templates, candidates]; NaN over a whole instance where scores failed
    offsets: Ints  # [instances + 1]
    answer_idx: Ints  # [instances], place of the right candidate within the instance's own

    @classmethod
    def from_scores(cls, scores: npt.ArrayLike, offsets: npt.ArrayLike, answer_idx: npt.ArrayLike) -> Distributions:
        """The softmax of scores [templates, candidates]; raises as `softmax`, and ValueError for a misplaced answer."""
        probabilities = softmax(scores, offsets)
        bounds, answers = np.asarray(offsets, dtype=np.int64), np.asarray(answer_idx, dtype=np.int64)
        if answers.shape != (len(bounds) - 1,):
            raise ValueError(
                f"answer_idx must have one entry for each of {len(bounds) - 1} instances; got {answers.shape}"
            )
        if ((answers < 0) | (answers >= np.diff(bounds))).any():
            at = int(np.flatnonzero((answers < 0) | (answers >= np.diff(bounds)))[0])
            raise ValueError(f"answer_idx must be a place among the candidates; instance {at} has {answers[at]}")
        return cls(probabilities, bounds, answers)

    @property
    def n_instances(self) -> int:
        """Number of instances."""
        return len(self.answer_idx)

    def peak(self, rows: Sequence[int]) -> Peak:
        """The heads of the distributions of these rows of `probabilities`."""
        chosen = self.probabilities[list(rows)]
        starts, widths = self.offsets[:-1], np.diff(self.offsets)
        if not len(starts):
            empty = np.zeros((len(rows), 0))
            return Peak(empty.astype(np.int64), empty, empty)
        largest = np.maximum.reduceat(chosen, starts, axis=1)
        places = np.arange(chosen.shape[1]) - np.repeat(starts, widths)
        # Where nothing equals the largest (NaN) the least place is the width, which no candidate has.
        at_peak = np.where(chosen == np.repeat(largest, widths, axis=1), places, np.repeat(widths, widths))
        first = np.minimum.reduceat(at_peak, starts, axis=1)
        others = np.where(places == np.repeat(first, widths, axis=1), 0.0, chosen)
        second = np.maximum.reduceat(others, starts, axis=1)
        return Peak(np.where(first < widths, first, -1), largest, second)
