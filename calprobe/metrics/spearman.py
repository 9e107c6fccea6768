"""Spearman's rank correlation, for a handful of models: is the more accurate one the better calibrated one?"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_vector, refuse
from calprobe.metrics.intervals import Estimate
from calprobe.metrics.proportions import NORMAL

LEAST = 4  # pairs; the standard error has n - 3 below it


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> Estimate:
    """Rank correlation of two quantities with its 95 % interval.

    Pearson's correlation of the ranks, ties having their mean rank. The interval is Bonett and Wright's (2000, "Sample
    Size Requirements for Estimating Pearson, Kendall and Spearman Correlations"): on Fisher's scale,
    `atanh(rho) -+ 1.96 sqrt((1 + rho^2 / 2) / (n - 3))`. It takes the pairs for independent draws, which models of one
    family are not quite; docs/methods.md has its coverages. Resampling a handful of pairs would only repeat some.

    Args:
        x: [pairs], such as the accuracies of models.
        y: [pairs], such as their calibration errors.
    Returns:
        An estimate in [-1, 1]. All NaN with fewer than four pairs, or where one side is constant. The interval is NaN
        where the ranks agree or disagree entirely: nothing is left to tell its width from.
    Raises:
        ValueError: not one-dimensional, of different lengths, or NaN.

    >>> found = spearman([0.1, 0.2, 0.3, 0.4, 0.5], [0.5, 0.3, 0.4, 0.2, 0.1])
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (-0.9, -0.996, 0.169)
    """
    first, second = check_vector("x", x), check_vector("y", y)
    for name, values in (("x", first), ("y", second)):
        refuse(name, "must not be NaN", values, np.isnan(values))
    if len(first) != len(second):
        raise ValueError(f"x and y must be of one length; got {len(first)} and {len(second)}")
    if len(first) < LEAST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return Estimate(float("nan"))
    ranks = _mean_ranks(first), _mean_ranks(second)
    rho = float(np.clip(np.corrcoef(*ranks)[0, 1], -1, 1))
    if math.isclose(abs(rho), 1):
        return Estimate(math.copysign(1.0, rho))
    reach = NORMAL * math.sqrt((1 + rho**2 / 2) / (len(first) - 3))
    centre = math.atanh(rho)
    return Estimate(rho, math.tanh(centre - reach), math.tanh(centre + reach))


def _mean_ranks(values: Floats) -> Floats:
    """The rank of each value, from 1; equal ones have the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[place.reshape(-1)]
    return ranks
