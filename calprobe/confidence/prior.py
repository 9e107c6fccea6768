"""Answers without the model's taste for them: pointwise mutual information of subject and candidate."""

from __future__ import annotations

import numpy as np

from calprobe.arrays import Floats, Ints
from calprobe.confidence.distributions import Distributions, find_peaks, softmax
from calprobe.confidence.types import Confidence


def pmi_confidence(distributions: Distributions, row: int = 0) -> Confidence:
    """The largest of `softmax_k(log p_k - log q_k)`, with q the mean distribution over the relation's other subjects.

    docs/methods/estimators.md, "Confidence estimators", beyond the paper. `log p_k - log q_k` is the pointwise mutual
    information of subject and candidate, as Holtzman et al. 2021 rank answers, with the prior q estimated from the run
    itself, as Zhou et al. 2024 estimate it from a batch. Predictions are its own. Higher is surer; within [1/K, 1].

    Args:
        distributions: with `shared`, which says whose answer spaces are the same; without it every instance fails.
        row: the row of `distributions.scores` to read, that of one template.
    Returns:
        Arrays [instances], with the distribution. An instance fails (confidence 0, incorrect) where its probabilities
        are NaN, where no other instance of its relation has any, and where a candidate that the others give
        probability 0 has some. A candidate of probability 0 keeps it.

    >>> scores = [[3.0, 1.0, 3.0, 1.0, 3.0, 2.9]]  # the first answer is the likely one, whoever is asked about
    >>> spaces = Distributions.from_scores(scores, [0, 2, 4, 6], [0, 0, 1], shared=[0, 0, 0])
    >>> found = pmi_confidence(spaces)
    >>> found.prediction.tolist(), found.confidence.round(3).tolist()
    ([0, 0, 1], [0.757, 0.757, 0.87])
    """
    logs = _log_softmax(distributions.scores[row], distributions.offsets)
    lifted = np.full(len(logs), np.nan)
    shared = distributions.shared
    for group in np.unique(shared[shared >= 0]) if shared is not None else ():
        members = np.flatnonzero(shared == group)
        members = members[np.argsort(distributions.rank[members])]  # the order of a table changes no rounding
        columns = distributions.offsets[members][:, None] + np.arange(distributions.widths[members[0]])
        block = logs[columns]
        scored = ~np.isnan(block).any(axis=1)
        columns, block = columns[scored], block[scored]
        if len(block) > 1:
            with np.errstate(invalid="ignore"):
                lifted[columns] = np.where(np.isneginf(block), -np.inf, block - _mean_of_others(block))
    probabilities = softmax(lifted[None], distributions.offsets)
    peak = find_peaks(probabilities, distributions.offsets, distributions.keys)
    return Confidence.of(peak.prediction[0], peak.largest[0], distributions.answer_idx, probabilities[0])


def _mean_of_others(logs: Floats) -> Floats:
    """The logarithm of the mean probability over all other rows: [instances, candidates], two rows or more.

    Sums of those before and of those behind, since the sum of all less one's own would lose what is small.
    """
    nothing = np.full((1, logs.shape[1]), -np.inf)
    before = np.concatenate([nothing, np.logaddexp.accumulate(logs[:-1], axis=0)])
    behind = np.concatenate([np.logaddexp.accumulate(logs[:0:-1], axis=0)[::-1], nothing])
    mean: Floats = np.logaddexp(before, behind) - np.log(len(logs) - 1)
    return mean


def _log_softmax(scores: Floats, offsets: Ints) -> Floats:
    """Log-probabilities [candidates] over each instance's own; NaN over an instance whose softmax is."""
    starts, widths = offsets[:-1], np.diff(offsets)
    if not len(starts):
        return scores
    with np.errstate(invalid="ignore"):
        below = scores - np.repeat(np.maximum.reduceat(scores, starts), widths)
        logs: Floats = below - np.repeat(np.log(np.add.reduceat(np.exp(below), starts)), widths)
    return logs
