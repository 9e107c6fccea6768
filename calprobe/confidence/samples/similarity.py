"""Similarity of a question's answers: by common words, or by entailment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from calprobe.answers.rouge import rouge_l
from calprobe.arrays import Floats, refuse
from calprobe.confidence.samples.clusters import check_square


def rouge_matrix(texts: Sequence[str]) -> Floats:
    """ROUGE-L (F1) of each pair of strings, [strings, strings], in [0, 1]; 1 on the diagonal.

    >>> rouge_matrix(["the city of Paris", "Paris"]).tolist()
    [[1.0, 0.4], [0.4, 1.0]]
    """
    found = np.eye(len(texts))
    for one in range(len(texts)):
        for other in range(one):
            found[one, other] = found[other, one] = rouge_l(texts[one], texts[other])
    return found


def lexsim(similarity: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> float:
    """Minus the mean similarity of all pairs i < j of samples, `-2 / (m (m - 1)) sum_{i<j} s_ij`. Larger is less sure.

    "Lexical similarity" of Lin, Trivedi, Sun 2024 and Kuhn, Gal, Farquhar 2023 with ROUGE-L. Copies are pairs, of
    similarity 1.

    Args:
        similarity: [samples, samples], symmetric, in [0, 1]; the diagonal is not looked at.
        counts: [samples], copies that each stands for; None: one each.
    Returns:
        In [-1, 0]; -1 of a single sample, NaN without samples.
    Raises:
        ValueError: not square, NaN, or a value out of range.

    >>> lexsim([[1, 0.5, 0], [0.5, 1, 1], [0, 1, 1]])
    -0.5
    """
    own = check_square("similarity", similarity)
    refuse("similarity", "must lie in [0, 1]", own.ravel(), (own.ravel() < 0) | (own.ravel() > 1))
    if not len(own):
        return float("nan")
    copies = np.ones(len(own)) if counts is None else np.asarray(counts, np.float64)
    one, other = np.triu_indices(len(own), 1)
    m = copies.sum()
    if m < 2:
        return -1.0
    found = (copies[one] * copies[other] * own[one, other]).sum() + (copies * (copies - 1)).sum() / 2
    return 0.0 - float(found / (m * (m - 1) / 2))


def affinity(entail: npt.ArrayLike) -> Floats:
    """The affinity of strings, `w_ij = (P_entail(i, j) + P_entail(j, i)) / 2`, `w_ii = 1`, [strings, strings].

    Lin, Trivedi, Sun 2024. A string entails itself, whatever a model says, so that copies have affinity 1.

    Args:
        entail: [strings, strings], probability that the first entails the second; the diagonal is not looked at.
    Returns:
        Symmetric, in [0, 1].
    Raises:
        ValueError: not square, NaN off the diagonal, or a value out of range.

    >>> affinity([[0.2, 0.9], [0.5, 0.1]]).tolist()
    [[1.0, 0.7], [0.7, 1.0]]
    """
    own = np.array(entail, np.float64)
    if own.ndim == 2 and own.shape[0] == own.shape[1]:
        np.fill_diagonal(own, 1.0)
    own = check_square("entail", own)
    refuse("entail", "must lie in [0, 1]", own.ravel(), (own.ravel() < 0) | (own.ravel() > 1))
    return (own + own.T) / 2
