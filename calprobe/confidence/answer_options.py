"""Fewer answer options: answer spaces thinned at random, the right answer always kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.confidence.distributions import Distributions


def option_ranks(distributions: Distributions, seed: int) -> Ints:
    """Each instance's candidates in a random order of its own that begins with the right answer.

    The candidates of rank less than k are the right answer and k - 1 others, drawn without replacement. So the draws of
    one seed are nested: what is kept among k is kept among more, as in the paper's own code, and what changes from one
    k to the next is not the luck of another draw.

    Args:
        distributions: the answer spaces, with the right answers.
        seed: of the draws, which depend on it and on the answer spaces in the order of `distributions.rank`.
    Returns:
        [candidates], the ranks from 0 (the right answer) to K - 1 of each instance.

    >>> spaces = Distributions.from_scores(np.zeros((1, 7)), offsets=[0, 3, 7], answer_idx=[2, 0])
    >>> option_ranks(spaces, seed=0).tolist()
    [2, 1, 0, 0, 2, 3, 1]
    """
    starts, widths = distributions.offsets[:-1], distributions.widths
    owner = np.repeat(np.arange(len(widths)), widths)
    keys = np.empty(len(owner))
    keys[np.argsort(distributions.rank[owner], kind="stable")] = np.random.default_rng(seed).random(len(owner))
    keys[starts + distributions.answer_idx] = -1.0  # below all others
    ranks = np.empty(len(owner), dtype=np.int64)
    ranks[np.lexsort((keys, owner))] = np.arange(len(owner)) - np.repeat(starts, widths)
    return ranks


def keep_options(distributions: Distributions, kept: npt.ArrayLike) -> Distributions:
    """The distributions over some of the candidates, as if the others had never been scored.

    The softmax is taken anew over the scores that are kept. Candidates stay in their order. Ties are broken among those
    that are kept (the paper's code puts the right answer first, and takes the first).

    Args:
        distributions: of any number of instances, under any number of templates.
        kept: [candidates], true or false; the right answer of every instance must be among them.
    Raises:
        ValueError: another number of entries than candidates, or an instance loses its right answer.

    >>> spaces = Distributions.from_scores(np.log([[0.6, 0.3, 0.1]]), offsets=[0, 3], answer_idx=[2])
    >>> found = keep_options(spaces, kept=[False, True, True])
    >>> found.probabilities.round(3).tolist(), found.answer_idx.tolist()
    ([[0.75, 0.25]], [1])
    """
    offsets, chosen = distributions.offsets, np.asarray(kept, np.bool_)
    if chosen.shape != (offsets[-1],):
        raise ValueError(f"kept must have one entry for each of {offsets[-1]} candidates; got shape {chosen.shape}")
    at_answer = offsets[:-1] + distributions.answer_idx
    if not chosen[at_answer].all():
        at = int(np.flatnonzero(~chosen[at_answer])[0])
        raise ValueError(f"kept must hold the right answer of every instance; instance {at} loses its own")
    before = np.concatenate([[0], np.cumsum(chosen)])  # kept candidates before each place
    fewer = Distributions.from_scores(
        distributions.scores[:, chosen], before[offsets], before[at_answer] - before[offsets[:-1]]
    )
    return replace(fewer, rank=distributions.rank, keys=distributions.keys)


def expected_correct(distributions: Distributions, counts: Sequence[int], row: int = 0) -> Floats:
    """How likely the answer of base is right among k options: the right one and k - 1 others, all draws equally likely.

    Of the K - 1 others let m be ahead of the right candidate and t tied with it. Sum over the number of tied candidates
    that are kept, each of which is as likely to be drawn as the right one:

        [C(K - m, k) - C(K - 1 - m - t, k)] / [(t + 1) C(K - 1, k - 1)]

    Where ties go to the first candidate, those before the right one are ahead and t = 0. The mean over instances is the
    accuracy that draws only estimate.

    Args:
        distributions: of any number of instances.
        counts: numbers of options k, from 1 to the smallest answer space.
        row: of the scores, that of one template.
    Returns:
        [counts, instances], in [0, 1]; 0 where the right candidate has no score.
    Raises:
        ValueError: a count under 1, or over an answer space.

    >>> spaces = Distributions.from_scores(np.log([[0.2, 0.5, 0.3]]), offsets=[0, 3], answer_idx=[2])
    >>> expected_correct(spaces, [1, 2, 3]).ravel().tolist()
    [1.0, 0.5, 0.0]
    """
    widths = distributions.widths
    least = int(widths.min(initial=max(counts, default=1)))
    if wrong := [count for count in counts if not 1 <= count <= least]:
        raise ValueError(f"counts must be from 1 to {least}, the smallest answer space; got {wrong[0]}")
    scores = distributions.scores[row]
    at_answer = distributions.offsets[:-1] + distributions.answer_idx
    right, place = np.repeat(scores[at_answer], widths), np.repeat(at_answer, widths)
    tied, ahead = scores == right, (scores > right) | np.isnan(scores)
    if distributions.keys is None:
        tied, ahead = np.zeros_like(tied), ahead | (tied & (np.arange(len(scores)) < place))
    tied[at_answer] = ahead[at_answer] = False
    m, t = (_count(mask, distributions.offsets) for mask in (ahead, tied))
    shares = np.empty((len(counts), len(widths)))
    for at, count in enumerate(counts):
        untied = _kept_share(widths - 1 - m, count - 1, widths - 1)
        shared = _kept_share(widths - m, count, widths) - _kept_share(widths - 1 - m - t, count, widths)
        shares[at] = np.where(t == 0, untied, np.clip(widths / count * shared / (t + 1), 0, 1))
    shares[:, np.isnan(scores[at_answer])] = 0.0
    return shares


def _count(chosen: npt.NDArray[np.bool_], offsets: Ints) -> Ints:
    """How many candidates of each instance are chosen, [instances]."""
    before = np.concatenate([[0], np.cumsum(chosen)])
    return np.asarray(before[offsets[1:]] - before[offsets[:-1]], dtype=np.int64)


def _kept_share(numbers: Ints, count: int, widths: Ints) -> Floats:
    """C(some, count) / C(widths, count), [instances]."""
    share = np.ones(len(widths))
    for at in range(count):
        share = share * np.maximum(numbers - at, 0) / (widths - at)
    return share
