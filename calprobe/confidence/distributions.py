"""What estimators read: each template's probabilities over each instance's candidates, and the right answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, get_args

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_answers, check_numbers, check_offsets
from calprobe.confidence.tie_breaking import Keys, draw_among, tie_keys
from calprobe.messages import counted
from calprobe.words import Ties

if TYPE_CHECKING:
    from calprobe.runs import ScoreTable

NO_PREDICTION = -1


@dataclass(frozen=True, slots=True)
class Peak:
    """The head of each instance's distribution under some templates. Arrays are [templates, instances]."""

    prediction: Ints  # place of the most probable candidate, see `find_peaks` for ties; NO_PREDICTION where NaN
    largest: Floats  # its probability; NaN where probabilities are
    second: Floats  # the second-largest probability, equal to the largest on a tie; 0 with a single candidate


@dataclass(frozen=True)
class Distributions:
    """Scores and probabilities of candidates, flat over ragged answer spaces: instance `i` owns the columns
    `offsets[i]:offsets[i + 1]`. Made by `from_scores` or `from_table`, which check; the rest is computed when needed,
    once for all estimators."""

    scores: Floats  # [templates, candidates], nats; NaN where a statement could not be scored
    offsets: Ints  # [instances + 1]
    answer_idx: Ints  # [instances], place of the right candidate within the instance's own
    rank: Ints  # [instances], 0 .. instances - 1, each once: the order that seeded draws go by
    keys: Keys | None = None  # [instances], what ties are drawn by; None: the first of tied candidates
    # [instances], equal for those that have the same candidates in the same order, -1 for candidates of its own; None:
    # not known.
    shared: Ints | None = None

    @classmethod
    def from_scores(
        cls,
        scores: npt.ArrayLike,
        offsets: npt.ArrayLike,
        answer_idx: npt.ArrayLike,
        shared: npt.ArrayLike | None = None,
    ) -> Distributions:
        """Of scores [templates, candidates], ranked as they come; raises as `softmax`, and for a misplaced answer.

        Of candidates with the same largest probability, the first is the prediction. `shared` is as the field.
        """
        logprobs, bounds = checked_scores(scores, offsets)
        answers = check_answers(answer_idx, bounds)
        groups = None if shared is None else _checked_groups(shared, bounds)
        return cls(logprobs, bounds, answers, np.arange(len(answers)), shared=groups)

    @classmethod
    def from_table(cls, table: ScoreTable, ties: Ties = "draw") -> Distributions:
        """Of a run's scores, ranked by relation and line number in whatever order its instances come.

        Of candidates with the same largest probability, one is drawn (`tie_breaking`), or the first is taken. Raises
        ValueError for other words.
        """
        if ties not in get_args(Ties):
            raise ValueError(f"ties must be one of {', '.join(get_args(Ties))}, got {ties!r}")
        distributions = cls.from_scores(table.scores, table.offsets, table.answer_idx, table.shared_sets())
        rank = np.empty_like(distributions.rank)
        rank[np.lexsort((table.instance, table.relation))] = distributions.rank
        keys = tie_keys(table.relation, table.instance) if ties == "draw" else None
        return replace(distributions, rank=rank, keys=keys)

    def __repr__(self) -> str:
        return f"<Distributions: {counted(self.n_instances, 'instance')}, {counted(len(self.scores), 'template')}>"

    @property
    def n_instances(self) -> int:
        """Number of instances."""
        return len(self.answer_idx)

    @cached_property
    def widths(self) -> Ints:
        """Number of candidates of each instance, [instances]."""
        return np.diff(self.offsets)

    @cached_property
    def probabilities(self) -> Floats:
        """The softmax of the scores, [templates, candidates]; NaN over an instance with failed scores."""
        return softmax(self.scores, self.offsets)

    @cached_property
    def peaks(self) -> Peak:
        """The heads of all templates' distributions."""
        return find_peaks(self.probabilities, self.offsets, self.keys)

    def peak(self, rows: Sequence[int]) -> Peak:
        """The heads of the distributions of these rows of `probabilities`."""
        chosen = list(rows)
        return Peak(self.peaks.prediction[chosen], self.peaks.largest[chosen], self.peaks.second[chosen])

    def tied(self, row: int) -> Ints:
        """How many candidates share the largest probability under one template, [instances]; 0 where it is NaN."""
        probabilities, starts = self.probabilities[row], self.offsets[:-1]
        largest = np.repeat(np.maximum.reduceat(probabilities, starts), self.widths)
        tied: Ints = np.add.reduceat((probabilities == largest).astype(np.int64), starts)
        return tied

    def at_peak(self, row: int) -> npt.NDArray[np.bool_]:
        """Whether no candidate is more probable than the right one under one template, [instances]; not where NaN."""
        peak = np.maximum.reduceat(self.probabilities[row], self.offsets[:-1])
        hit: npt.NDArray[np.bool_] = self.probabilities[row][self.offsets[:-1] + self.answer_idx] == peak
        return hit


def _checked_groups(shared: npt.ArrayLike, offsets: Ints) -> Ints:
    """Groups [instances] of as many candidates each; raises ValueError for others."""
    groups, widths = np.asarray(shared, np.int64), np.diff(offsets)
    if groups.shape != widths.shape:
        raise ValueError(f"shared must have a number for each of {len(widths)} instances; got shape {groups.shape}")
    grouped = groups >= 0
    if len(np.unique(groups[grouped])) < len(np.unique(np.stack([groups[grouped], widths[grouped]]), axis=1).T):
        raise ValueError("shared must give one number only to instances of as many candidates")
    return groups


def find_peaks(probabilities: Floats, offsets: Ints, keys: Keys | None = None) -> Peak:
    """The head of each instance's distribution, for probabilities [templates, candidates] and their offsets.

    Of candidates that share the largest probability, one is drawn by the keys, or the first is taken without them.
    """
    starts, ends = offsets[:-1], offsets[1:]
    peak = Peak(
        prediction=np.empty((len(probabilities), len(starts)), dtype=np.int64),
        largest=np.empty((len(probabilities), len(starts))),
        second=np.empty((len(probabilities), len(starts))),
    )
    for template, row in enumerate(probabilities):  # one at a time stays in the cache
        largest = np.maximum.reduceat(row, starts)
        at_peak = np.flatnonzero(row == np.repeat(largest, ends - starts))
        # The first place at or after each start; beyond the end where nothing equals the largest, which is NaN then.
        first = np.append(at_peak, len(row))[np.searchsorted(at_peak, starts)]
        has_peak = first < ends
        if keys is not None and len(at_peak) > has_peak.sum():
            first = _drawn(at_peak, first, starts, keys)
        lower = row.copy()
        lower[first[has_peak]] = 0.0
        peak.prediction[template] = np.where(has_peak, first - starts, NO_PREDICTION)
        peak.largest[template] = largest
        peak.second[template] = np.maximum.reduceat(lower, starts)
    return peak


def _drawn(at_peak: Ints, first: Ints, starts: Ints, keys: Keys) -> Ints:
    """`first` with a drawn candidate for each instance where several are at the peak."""
    owner = np.searchsorted(starts, at_peak, side="right") - 1
    tied = np.bincount(owner, minlength=len(starts)) > 1
    shared = at_peak[tied[owner]]
    owners = owner[tied[owner]]
    chosen = draw_among(owners, shared - starts[owners], keys)
    drawn = first.copy()
    drawn[owners[chosen]] = shared[chosen]
    return drawn


def softmax(scores: npt.ArrayLike, offsets: npt.ArrayLike) -> Floats:
    """Probabilities over each instance's own candidates: `p_k = exp(s_k - max s) / sum_j exp(s_j - max s)`, float64.

    docs/methods/estimators.md, "From scores to probabilities". Scores of any size are safe: the largest is subtracted
    first.

    Args:
        scores: [templates, candidates], log-probabilities in nats, candidates laid end to end over the instances.
        offsets: [instances + 1], instance `i` owns the columns `offsets[i]:offsets[i + 1]`, at least one.
    Returns:
        [templates, candidates], in [0, 1], summing to 1 over each instance's candidates; equal scores get equal
        probabilities, -inf gets 0. All of an instance's are NaN if one of its scores is NaN or +inf, or all are -inf.
    Raises:
        ValueError: scores are not numbers in two dimensions, offsets do not ascend from 0 to the number of candidates.

    >>> softmax([[-800.0, -800.0, -1.0, -2.0, float("-inf")]], [0, 2, 5]).round(3).tolist()
    [[0.5, 0.5, 0.731, 0.269, 0.0]]
    """
    logprobs, bounds = checked_scores(scores, offsets)
    starts, widths = bounds[:-1], np.diff(bounds)
    probabilities = np.empty_like(logprobs)
    for row, into in zip(logprobs, probabilities, strict=True):  # one template at a time stays in the cache
        with np.errstate(invalid="ignore"):  # inf - inf: NaN is the answer
            weights = np.exp(row - np.repeat(np.maximum.reduceat(row, starts), widths))
        np.divide(weights, np.repeat(np.add.reduceat(weights, starts), widths), out=into)
    return probabilities


def checked_scores(scores: npt.ArrayLike, offsets: npt.ArrayLike) -> tuple[Floats, Ints]:
    """Scores [templates, candidates] and offsets [instances + 1] as arrays; raises as `softmax`.

    >>> scores, offsets = checked_scores([[-1, -2]], [0, 2])
    >>> scores.dtype.name, offsets.dtype.name
    ('float64', 'int64')
    """
    logprobs = check_numbers("scores", scores)
    if logprobs.ndim != 2:
        raise ValueError(f"scores must have two dimensions, [templates, candidates]; got shape {logprobs.shape}")
    return logprobs, check_offsets(offsets, logprobs.shape[1])
