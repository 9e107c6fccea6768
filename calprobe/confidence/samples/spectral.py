"""Uncertainty from the graph of a question's answers: eigenvalues of its Laplacian, degrees, distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, refuse
from calprobe.confidence.samples.clusters import check_square

NIKITIN = "Nikitin et al. 2024"
Weights = Literal["cut", "smooth"]
COX_THRESHOLD, LIN_THRESHOLD = 0.5, 0.9  # eigenvalues below it have an axis
HEAT = 0.3  # time of the heat kernel, Nikitin et al. 2024


def laplacian(affinity: npt.ArrayLike) -> Floats:
    """The normalised Laplacian `I - D^-1/2 W D^-1/2`, D the row sums of the affinity W, [samples, samples].

    Args:
        affinity: [samples, samples], symmetric, in [0, 1], 1 on the diagonal, so that no row sum is 0.
    Raises:
        ValueError: not square, not symmetric, NaN, a value out of range, or a diagonal other than 1.

    >>> laplacian([[1, 0], [0, 1]]).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    weights = check_affinity(affinity)
    scale = 1 / np.sqrt(weights.sum(axis=1))
    matrix: Floats = np.eye(len(weights)) - scale[:, None] * weights * scale
    return matrix


def check_affinity(affinity: npt.ArrayLike) -> Floats:
    """The affinity as float64; ValueError as `laplacian`."""
    weights = check_square("affinity", affinity)
    flat = weights.ravel()
    refuse("affinity", "must lie in [0, 1]", flat, (flat < 0) | (flat > 1))
    if not np.allclose(weights, weights.T, rtol=0, atol=1e-9):
        raise ValueError("affinity must be symmetric; got a matrix that differs from its transpose")
    refuse("affinity", "must be 1 on the diagonal", np.diag(weights), np.diag(weights) != 1)
    return weights


@dataclass(frozen=True, slots=True)
class Spectrum:
    """The Laplacian of samples of which some are copies, decomposed over their different strings.

    Each string stands for as many samples as it has copies. Copies have the same components in every eigenvector with
    an eigenvalue other than 1, so that as many axes as strings hold all that there is below 1.
    """

    values: Floats  # [axes], eigenvalues in ascending order
    vectors: Floats  # [strings, axes], components of each of a string's samples
    counts: Ints  # [strings]

    @classmethod
    def of(cls, affinity: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> Spectrum:
        """The spectrum for strings that occur so many times each; None: once. Errors are those of `laplacian`."""
        weights = check_affinity(affinity)
        copies = np.ones(len(weights), np.int64) if counts is None else np.asarray(counts, np.int64)
        scale = np.sqrt(copies / (weights @ copies))
        values, vectors = np.linalg.eigh(np.eye(len(weights)) - scale[:, None] * weights * scale)
        return cls(values, vectors / np.sqrt(copies)[:, None], copies)

    def eigv(self) -> float:
        """See `eigv`."""
        return float(np.maximum(0.0, 1 - self.values).sum()) if len(self.values) else float("nan")

    def eccentricity(self, threshold: float = LIN_THRESHOLD) -> float:
        """See `eccentricity`."""
        points = self.points(threshold)
        if not len(points):
            return float("nan")
        centred = points - self.counts @ points / self.counts.sum()
        return float(np.sqrt((self.counts[:, None] * centred**2).sum()))

    def points(self, threshold: float = COX_THRESHOLD, weights: Weights = "cut") -> Floats:
        """See `spectral_embedding`, [strings, axes]: the point of each of a string's samples."""
        if weights == "smooth":
            return np.asarray(self.vectors * np.sqrt(np.maximum(0.0, 1 - self.values)), np.float64)
        return np.asarray(self.vectors[:, self.values < threshold], np.float64)


def eigv(affinity: npt.ArrayLike) -> float:
    """`U_EigV = sum_k max(0, 1 - lambda_k)` over the Laplacian's eigenvalues: a smooth number of meanings.

    Lin, Trivedi, Sun 2024. Larger is less sure: c perfect clusters of any sizes have the value c. Arguments and errors
    are those of `laplacian`; over all samples copies count, over different strings they do not.

    Returns:
        In [1, m] of m samples, up to rounding; NaN without samples.

    >>> round(eigv([[1, 1, 0], [1, 1, 0], [0, 0, 1]]), 9)
    2.0
    """
    return Spectrum.of(affinity).eigv()


def degree(affinity: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> float:
    """`U_Deg = trace(m I - D) / m^2 = 1 - mean(W)`: the mean distance of two samples, drawn with replacement.

    Lin, Trivedi, Sun 2024. Larger is less sure.

    Args:
        affinity: as `laplacian`.
        counts: [samples], copies that each stands for; None: one each.
    Returns:
        In [0, 1 - 1/m]; NaN without samples.
    Raises:
        ValueError: as `laplacian`.

    >>> degree([[1, 0], [0, 1]])
    0.5
    """
    weights = check_affinity(affinity)
    if not len(weights):
        return float("nan")
    copies = np.ones(len(weights)) if counts is None else np.asarray(counts, np.float64)
    return float(1 - copies @ weights @ copies / copies.sum() ** 2)


def eccentricity(affinity: npt.ArrayLike, threshold: float = LIN_THRESHOLD) -> float:
    """The norm of the samples' distances from their centre, along eigenvectors with lambda below the threshold.

    `U_Ecc = (sum_j |v_j - mean(v)|^2)^1/2` with the rows v_j of `spectral_embedding`: `(m U_total)^1/2` of the total
    variance at the same threshold. Lin, Trivedi, Sun 2024. Larger is less sure. Errors are those of `laplacian`.

    Returns:
        0 or more; 0 where all samples are alike, NaN without samples.

    >>> round(eccentricity([[1, 0], [0, 1]]), 9)
    1.0
    """
    return Spectrum.of(affinity).eccentricity(threshold)


def spectral_embedding(affinity: npt.ArrayLike, threshold: float = COX_THRESHOLD, weights: Weights = "cut") -> Floats:
    """Each sample as a point: its components of the Laplacian's eigenvectors, [samples, axes].

    Cox et al. 2025 keep eigenvectors with lambda < 0.5 (`COX_THRESHOLD`), Lin, Trivedi, Sun 2024 those with lambda <
    0.9. The cut is hard: a small change of an affinity adds or drops an axis. `smooth` weights all axes with lambda < 1
    by `(1 - lambda)^1/2` instead, and has no threshold. Rows are not scaled to length 1. Signs and rotations of
    eigenvectors change the points, but no variance and no distance.

    Raises:
        ValueError: as `laplacian`, and a threshold outside of (0, 2].

    >>> spectral_embedding([[1, 1], [1, 1]]).round(3).shape
    (2, 1)
    """
    if not 0 < threshold <= 2:
        raise ValueError(f"threshold must lie in (0, 2]; got {threshold}")
    return Spectrum.of(affinity).points(threshold, weights)


def kernel_entropy(kernel: npt.ArrayLike, time: float = HEAT) -> float:
    """The von Neumann entropy of the heat kernel over samples, `-trace(K ln K) / ln m`. Larger is less sure.

    `K = expm(-t L)` scaled to 1/m on its diagonal, `L = D - W`, `W = kernel + kernel^T`, D the row sums of W. Nikitin
    et al. 2024, "kernel language entropy", with the scaling of lm-polygraph.

    Args:
        kernel: [samples, samples], in [0, 1], see `semantic_kernel`; the diagonal is not looked at.
        time: t, above 0.
    Returns:
        In [0, 1]: 1 where no two samples say the same, above 0 where all do; 0 of a single one, NaN without samples.
    Raises:
        ValueError: not square, NaN, or a value out of range.

    >>> round(kernel_entropy([[1, 0], [0, 1]]), 9), round(kernel_entropy([[1, 1], [1, 1]]), 4)
    (1.0, 0.7806)
    """
    matrix = check_square("kernel", kernel)
    flat = matrix.ravel()
    refuse("kernel", "must lie in [0, 1]", flat, (flat < 0) | (flat > 1))
    if not time > 0:
        raise ValueError(f"time must be above 0; got {time}")
    m = len(matrix)
    if m < 2:
        return 0.0 if m else float("nan")
    weights = matrix + matrix.T
    np.fill_diagonal(weights, 0.0)
    values, vectors = np.linalg.eigh(np.diag(weights.sum(axis=1)) - weights)
    heat = (vectors * np.exp(-time * values)) @ vectors.T
    scale = 1 / np.sqrt(np.diag(heat))
    shares = np.linalg.eigvalsh(scale[:, None] * heat * scale / m)
    shares = shares[shares > 1e-12]  # the rest is rounding, of eigenvalues that tend to 0
    return float(-(shares * np.log(shares)).sum() / np.log(m))
