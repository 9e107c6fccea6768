"""The variance of answers as points, and its parts within and between the wordings of a question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_numbers
from calprobe.confidence.samples.entropy import check_classes


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """The variance of a question's m answers: total = within + between, up to rounding. NaN without answers."""

    total: float  # 1/m sum_ij |y_ij - mean|^2
    within: float  # the part within wordings, "aleatoric"; 0 with one answer a wording
    between: float  # the part between wordings, "epistemic"; 0 with one wording
    answers: int  # m
    groups: int  # wordings that have any, n_p
    # Answers a wording, n_s; of different numbers n_i `(m - sum n_i^2 / m) / (n_p - 1)`; m with one wording.
    group_size: float

    @property
    def by_chance(self) -> float:
        """What `between / total` has as its mean over all ways to hand the answers out: `(n_p - 1) / (m - 1)`.

        So much of it there is where no wording moves the answers; NaN with one answer.
        """
        return (self.groups - 1) / (self.answers - 1) if self.answers > 1 else float("nan")


def split_variance(points: npt.ArrayLike, groups: npt.ArrayLike) -> VarianceSplit:
    """The variance of points over groups, divided by the number of points, so that the parts add up.

    `total = 1/m sum_ij |y_ij - mean|^2`, `within = 1/m sum_ij |y_ij - mean_i|^2`,
    `between = 1/m sum_i n_i |mean_i - mean|^2`. Cox et al. 2025, equations 8 to 10; groups of different size are
    weighted by it. Larger is less sure.

    Args:
        points: [samples, axes], a row for each sample, in any order; see `spectral_embedding`, `one_hot`.
        groups: [samples], the label of each one's wording.
    Raises:
        ValueError: shapes differ, or NaN.

    >>> split_variance([[0.0], [0.0], [1.0], [1.0]], ["a", "a", "b", "b"])
    VarianceSplit(total=0.25, within=0.0, between=0.25, answers=4, groups=2, group_size=2.0)
    """
    vectors, of = check_points(points, groups)
    m = len(vectors)
    if not m:
        return VarianceSplit(float("nan"), float("nan"), float("nan"), 0, 0, 0.0)
    centred = vectors - vectors.mean(axis=0)
    sizes = np.bincount(of)
    means = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(means, of, centred)
    means /= sizes[:, None]
    between = float((sizes * (means**2).sum(axis=1)).sum() / m)
    within = float(((centred - means[of]) ** 2).sum() / m)
    size = float((m - (sizes**2).sum() / m) / (len(sizes) - 1)) if len(sizes) > 1 else float(m)
    return VarianceSplit(float((centred**2).sum() / m), within, between, m, len(sizes), size)


def check_points(points: npt.ArrayLike, groups: npt.ArrayLike) -> tuple[Floats, Ints]:
    """The points, and a number from 0 on for each one's group. Raises ValueError as `split_variance`."""
    vectors, labels = check_numbers("points", points), np.asarray(groups)
    if vectors.ndim != 2 or labels.shape != vectors.shape[:1]:
        raise ValueError(
            f"points must have shape [samples, axes] and groups a label for each sample; got {vectors.shape}, "
            f"{labels.shape}"
        )
    if np.isnan(vectors).any():
        raise ValueError("points must not be NaN")
    return vectors, np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)


def one_hot(classes: npt.ArrayLike) -> Floats:
    """Each sample as the corner of its class, [samples, classes]: its variance is `1 - sum_c p_c^2`, Gini's.

    With the exact probabilities of a closed set in the place of shares it is that of
    `calprobe.confidence.variance_decomposition`, which this converges to.

    Args:
        classes: [samples], from 0 on; samples without an answer are to be left out before.
    Raises:
        ValueError: not whole numbers, or negative.

    >>> one_hot([0, 1, 0]).tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    numbers = check_classes(classes)
    if (numbers < 0).any():
        raise ValueError("classes must be 0 or more here; leave samples without an answer out")
    return np.eye(int(numbers.max()) + 1 if len(numbers) else 0)[numbers]
