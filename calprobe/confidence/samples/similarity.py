"""Similarity of a question's answers: by common words, or by entailment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from calprobe.answers.rouge import rouge_l
from calprobe.arrays import Floats, refuse
from calprobe.confidence.samples.clusters import check_relations, check_square


def rouge_matrix(texts: Sequence[str]) -> Floats:
    """ROUGE-L (F1) of each pair of strings, [strings, strings], in [0, 1]; 1 on the diagonal.

    >>> rouge_matrix(["the city of Paris", "Paris"]).tolist()
    [[1.0, 0.4], [0.4, 1.0]]
    """
    matrix = np.eye(len(texts))
    for row in range(len(texts)):
        for column in range(row):
            matrix[row, column] = matrix[column, row] = rouge_l(texts[row], texts[column])
    return matrix


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
    matrix = check_square("similarity", similarity)
    refuse("similarity", "must lie in [0, 1]", matrix.ravel(), (matrix.ravel() < 0) | (matrix.ravel() > 1))
    if not len(matrix):
        return float("nan")
    copies = np.ones(len(matrix)) if counts is None else np.asarray(counts, np.float64)
    rows, columns = np.triu_indices(len(matrix), 1)
    m = copies.sum()
    if m < 2:
        return -1.0
    total = (copies[rows] * copies[columns] * matrix[rows, columns]).sum() + (copies * (copies - 1)).sum() / 2
    return 0.0 - float(total / (m * (m - 1) / 2))


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
    matrix = np.array(entail, np.float64)
    if matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]:
        np.fill_diagonal(matrix, 1.0)
    matrix = check_square("entail", matrix)
    refuse("entail", "must lie in [0, 1]", matrix.ravel(), (matrix.ravel() < 0) | (matrix.ravel() > 1))
    return (matrix + matrix.T) / 2


def semantic_kernel(probabilities: npt.ArrayLike) -> Floats:
    """How near each string is to another by what was judged, `P_entail + P_neutral / 2`, [strings, strings].

    1 minus the expected squared distance of Qiu, Miikkulainen 2024, and the weight of an edge in Nikitin et al. 2024.
    A string is at 1 to itself, whatever a model says.

    Args:
        probabilities: [strings, strings, 3], of entailment, neutral, contradiction; a row's string is the premise, the
            diagonal is not looked at.
    Returns:
        In [0, 1]; not symmetric.
    Raises:
        ValueError: another shape, or NaN off the diagonal.

    >>> semantic_kernel([[[1, 0, 0], [0.5, 0.5, 0]], [[0, 0.2, 0.8], [1, 0, 0]]]).tolist()
    [[1.0, 0.75], [0.1, 1.0]]
    """
    relations = check_relations(probabilities)
    kernel: Floats = np.clip(relations[..., 0] + relations[..., 1] / 2, 0.0, 1.0)  # float32 sums are above 1 by a hair
    np.fill_diagonal(kernel, 1.0)
    return kernel
