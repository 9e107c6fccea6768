"""Order by confidence: what every ranking metric needs of a resample, computed once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_confidence, check_correct
from calprobe.metrics.sample import Sample

EXACT_SUMS = 64  # harmonic numbers that are summed up


@dataclass(frozen=True, slots=True)
class Ranks:
    """Numbers of each resample, [resamples]. Repeats of an instance in a resample are ties, like any others."""

    right: Ints  # correct instances
    wrong: Ints  # incorrect instances
    ordered: Ints  # (correct, incorrect) pairs with the correct one more confident, counted twice; a tie counts once
    risk_sum: Floats  # sum over k = 1..n of the expected share of incorrect ones among the k most confident
    half_risk_sum: Floats  # the same sum over the last half, k = n - floor(n / 2) + 1 .. n: half rejected at most

    @property
    def size(self) -> Ints:
        """Instances in each resample, [resamples]."""
        size: Ints = self.right + self.wrong
        return size


def rank_sample(sample: Sample) -> Ranks:
    """Rank each resample by confidence; the order within a tie is taken as random.

    Let a tie take the places `a + 1` to `b` in descending confidence, `s` be its share of incorrect instances, and
    `E_k` the expected number of incorrect ones among the first k. Summed by parts, with `H` the harmonic numbers,

        sum_k E_k / k = W (1 + H_n - c) - sum over ties of s (b (H_b - c) - a (H_a - c))

    for `W` incorrect ones of `n` and any `c`: exact, and without a sum over the places within a tie. A sum that begins
    at some k replaces `x (H_x - c)` by what `_from_half` returns.
    """
    starts = _group_starts(sample)
    total = np.add.reduceat(sample.counts, starts, axis=1)
    right = np.add.reduceat(sample.counts * sample.correct, starts, axis=1)
    size, n_right = total.sum(axis=1), right.sum(axis=1)
    n_wrong = size - n_right
    up_to = np.cumsum(total, axis=1)
    # 2 below + total: twice the mean rank. What the correct ones add among themselves is the square of their number.
    ordered = (right * (2 * up_to - total)).sum(axis=1) - n_right**2
    harmonic = harmonic_numbers(max(sample.n_instances, int(size.max(initial=0))))
    harmonic -= harmonic[sample.n_instances]  # c: it keeps what follows small, and so exact to more digits
    weighted = np.arange(len(harmonic)) * harmonic
    ends = size[:, None] - np.insert(up_to, 0, 0, axis=1)
    share = (total - right) / np.maximum(total, 1)
    risk_sum = n_wrong * (1 + harmonic[size]) + (share * np.diff(weighted[ends], axis=1)).sum(axis=1)
    halves = _from_half(ends, size[:, None], harmonic)
    half_risk_sum = n_wrong * harmonic[size] + (share * np.diff(halves, axis=1)).sum(axis=1)
    return Ranks(n_right, n_wrong, ordered, risk_sum, half_risk_sum)


@dataclass(frozen=True, slots=True, eq=False)
class RankedPart:
    """The AUROC of one confidence in some of several instances, in resamples of all, under several truths at once.

    Pairs of a right and a wrong instance count where both are of one stratum. All numbers are whole up to the last
    division, so that the products of matrices below are exact, in whatever order BLAS adds.
    """

    order: npt.NDArray[np.intp]  # [of the part], places among all, by stratum and then by ascending confidence
    ties: npt.NDArray[np.intp]  # [groups], where each group of equal confidences of a stratum begins
    strata: npt.NDArray[np.intp]  # [strata], where each begins
    correct: Floats  # [of the part, truths], 0 or 1

    @classmethod
    def of(
        cls,
        confidence: Floats,
        truths: Sequence[Floats | Ints],
        kept: npt.NDArray[np.bool_],
        strata: npt.NDArray[Any] | None = None,
    ) -> RankedPart:
        """Those kept, of arrays [instances] that need a meaning only there. Raises as every metric.

        Args:
            confidence: in [0, 1].
            truths: 0 or 1, what each calls right.
            kept: the part.
            strata: a label of each instance; None: all are of one stratum.
        """
        places = np.flatnonzero(kept)
        values = check_confidence(confidence[places])
        correct = [check_correct(truth[places], len(places)) for truth in truths]
        labels = np.zeros(len(places)) if strata is None else strata[places]
        order = np.lexsort((values, labels))
        begins = np.ones((2, len(order)), np.bool_)
        begins[0, 1:] = labels[order][1:] != labels[order][:-1]
        begins[1, 1:] = begins[0, 1:] | (np.diff(values[order]) != 0)
        of_strata, ties = (np.flatnonzero(row) for row in begins)
        return cls(places[order], ties, of_strata, np.array(correct, np.float64)[:, order].T)

    def auroc(self, counts: Ints) -> Floats:
        """[truths, resamples] where these hold each of all instances so often, [resamples, instances]; NaN: no pair."""
        held = counts.take(self.order, axis=1).astype(np.float64)
        number = held.shape[1]
        if not number:
            return np.full((self.correct.shape[1], len(held)), np.nan)
        up_to = np.cumsum(held, axis=1)
        if len(self.ties) < number:
            of_ties = _up_to(up_to, self.ties)
            twice_rank = np.repeat(of_ties[:, 1:] + of_ties[:, :-1], np.diff(self.ties, append=number), axis=1)
        else:
            twice_rank = 2 * up_to - held
        before = _up_to(up_to, self.strata)
        sizes = np.diff(before, axis=1)
        ordered = (held * twice_rank) @ self.correct
        pairs = np.zeros_like(ordered)
        for at, (start, end) in enumerate(pairwise([*self.strata, number])):
            right = held[:, start:end] @ self.correct[start:end]
            # What lies in strata before adds to ranks, and the right ones add the square of their number.
            ordered -= right * (right + 2 * before[:, at, None])
            pairs += right * (sizes[:, at, None] - right)
        with np.errstate(invalid="ignore"):
            return np.asarray((ordered / (2 * pairs)).T)


def _up_to(sums: Floats, starts: npt.NDArray[np.intp]) -> Floats:
    """0 and what running sums [resamples, instances] are at the end of each group, [resamples, groups + 1]."""
    ends = np.append(starts[1:], sums.shape[1]) - 1
    return np.insert(sums.take(ends, axis=1), 0, 0.0, axis=1)


def best_risk_sum(ranks: Ranks) -> Floats:
    """What `risk_sum` would be if every correct instance came before every incorrect one, [resamples]."""
    size, right = ranks.size, ranks.right
    harmonic = harmonic_numbers(int(size.max(initial=0)))
    best: Floats = ranks.wrong - right * (harmonic[size] - harmonic[right])
    return best


def best_half_risk_sum(ranks: Ranks) -> Floats:
    """What `half_risk_sum` would be if every correct instance came before every incorrect one, [resamples]."""
    size, right = ranks.size, ranks.right
    harmonic = harmonic_numbers(int(size.max(initial=0)))
    best: Floats = ranks.wrong * harmonic[size] - _from_half(size, size, harmonic) + _from_half(right, size, harmonic)
    return best


def _from_half(places: Ints, size: Ints, harmonic: Floats) -> Floats:
    """`sum_{p <= x} H_{max(p, s) - 1}` for s = n - floor(n / 2) + 1: what an incorrect one at p adds is H_n less that.

    Args:
        places: x, from 0 to n.
        size: n, of a shape that goes with it.
        harmonic: numbers from H_0 to the largest H_n, all less the same c.
    """
    before = size - size // 2  # s - 1
    later = np.maximum(places, before)
    sums: Floats = later * harmonic[later] - (later - before) - (later - places) * harmonic[before]
    return sums


def harmonic_numbers(last: int) -> Floats:
    """`H_k = 1 + 1/2 + .. + 1/k` for k = 0..last."""
    # scipy.special.digamma has them too, but every report would have to import it.
    # Running sums gather rounding errors. Euler and Maclaurin's series has none, and is exact to 1e-17 by then.
    sums = np.cumsum(1 / np.arange(1.0, min(last, EXACT_SUMS) + 1))
    k = np.arange(EXACT_SUMS + 1.0, last + 1)
    square = k**-2
    series = np.log(k) + np.euler_gamma + 1 / (2 * k) - square / 12 * (1 - square / 10 * (1 - square * 10 / 21))
    return np.concatenate([[0.0], sums, series])


def tied_starts(confidence: Floats) -> npt.NDArray[np.intp]:
    """Where each group of equal confidences begins in ascending confidences, [groups]."""
    return np.flatnonzero(np.diff(confidence, prepend=-1.0))


def _group_starts(sample: Sample) -> npt.NDArray[np.intp]:
    """Where each group begins that ranking metrics need to tell apart, [groups].

    Neighbouring ties that are all correct, or all incorrect, make one group: order among the like changes nothing, and
    there are several times fewer groups then. Where each resample has correctness of its own, every tie is a group.
    """
    starts = tied_starts(sample.confidence)
    if sample.correct.ndim > 1 or not len(starts):
        return starts
    sizes = np.diff(starts, append=len(sample.confidence))
    right = np.add.reduceat(sample.correct, starts)
    pure = (right == 0) | (right == sizes)
    like_the_one_below = pure[1:] & pure[:-1] & ((right[1:] > 0) == (right[:-1] > 0))
    told_apart: npt.NDArray[np.intp] = starts[np.concatenate([[True], ~like_the_one_below])]
    return told_apart
