"""What metrics of distributions are computed on: every candidate's probability, and which candidate is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_answers, check_offsets, check_vector, refuse

SUM_TOLERANCE = 1e-6  # of an instance's probabilities from 1: those of a float32 softmax pass


@dataclass(frozen=True, slots=True)
class Forecasts:
    """The distributions of the instances that have one, flat over ragged answer spaces."""

    probabilities: Floats  # [candidates], in [0, 1], summing to 1 over each instance's
    hit: npt.NDArray[np.bool_]  # [candidates], whether the candidate is its instance's answer
    starts: Ints  # [instances], place of each instance's first candidate
    widths: Ints  # [instances], its number of candidates K, at least 1
    place: npt.NDArray[np.intp]  # [instances], place of each among all the caller's, failed ones counted
    n_all: int  # number of the caller's instances, failed ones counted

    def sums(self, values: Floats) -> Floats:
        """Sums of a quantity [candidates] over each instance's candidates, [instances]."""
        if not len(self.starts):
            return np.zeros(0)
        sums: Floats = np.add.reduceat(values, self.starts)
        return sums


def check_forecasts(probabilities: npt.ArrayLike, offsets: npt.ArrayLike, answer_idx: npt.ArrayLike) -> Forecasts:
    """Validate the three arrays that every metric of distributions takes; leave failed instances out.

    Args:
        probabilities: [candidates], candidates laid end to end over the instances. An instance has failed where all of
            its probabilities are NaN, as `calprobe.confidence.softmax` marks it.
        offsets: [instances + 1], instance `i` owns the places `offsets[i]:offsets[i + 1]`, at least one.
        answer_idx: [instances], place of the right candidate within the instance's own.
    Raises:
        ValueError: an array has another shape, offsets do not ascend from 0 to the number of candidates, an answer lies
            outside its answer space, or probabilities lie outside [0, 1], are partly NaN or do not sum to 1 within
            1e-6; says which argument, value and place.
    """
    values = check_vector("probabilities", probabilities, "candidates")
    bounds = check_offsets(offsets, len(values))
    widths = np.diff(bounds)
    hit = np.zeros(len(values), dtype=np.bool_)
    hit[bounds[:-1] + check_answers(answer_idx, bounds)] = True
    kept = np.ones(0, dtype=np.bool_)
    if len(widths):
        kept = ~np.logical_and.reduceat(np.isnan(values), bounds[:-1])
    of_kept = np.repeat(kept, widths)
    refuse("probabilities", "must lie in [0, 1] and not be NaN", values, of_kept & ~((values >= 0) & (values <= 1)))
    starts = np.cumsum(widths[kept]) - widths[kept]
    forecasts = Forecasts(values[of_kept], hit[of_kept], starts, widths[kept], np.flatnonzero(kept), len(widths))
    totals = forecasts.sums(forecasts.probabilities)
    if (bad := np.abs(totals - 1) > SUM_TOLERANCE).any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(f"probabilities must sum to 1; those of instance {forecasts.place[at]} sum to {totals[at]}")
    return forecasts
