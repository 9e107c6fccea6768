"""The interval of one proportion, for the accuracy of a bin: exact enough where a bin holds a handful of instances."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_vector, refuse
from calprobe.metrics.intervals import LEVEL

NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)  # 1.96


def wilson_interval(successes: npt.ArrayLike, trials: npt.ArrayLike) -> tuple[Floats, Floats]:
    """The 95 % score interval of each proportion k / n.

    `(k + z^2/2 -+ z sqrt(k (n - k) / n + z^2/4)) / (n + z^2)` with z = 1.96. Source: Wilson 1927, "Probable Inference,
    the Law of Succession, and Statistical Inference"; Brown, Cai, DasGupta 2001 recommend it for small n.

    Args:
        successes: [proportions], k, within 0 and n.
        trials: [proportions], n, independent of each other.
    Returns:
        Lower and upper ends, both [proportions], in [0, 1]; they hold k / n, and have a width where it is 0 or 1. NaN
        where n is 0.
    Raises:
        ValueError: not one-dimensional, of different lengths, or k not within 0 and n.

    >>> low, high = wilson_interval([0, 5, 0], [10, 10, 0])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.2366, nan], [0.2775, 0.7634, nan])
    """
    k, n = check_vector("successes", successes), check_vector("trials", trials)
    if len(k) != len(n):
        raise ValueError(f"successes and trials must be of one length; got {len(k)} and {len(n)}")
    refuse("successes", "must lie within 0 and the number of trials", k, ~((k >= 0) & (k <= n)))
    square = NORMAL**2
    with np.errstate(invalid="ignore", divide="ignore"):
        reach = NORMAL * np.sqrt(k * (n - k) / n + square / 4)
        centre = k + square / 2
        share = k / n
        # Rounding could leave out a proportion of 0 or 1, which the ends are.
        low = np.minimum(np.maximum((centre - reach) / (n + square), 0.0), share)
        high = np.maximum(np.minimum((centre + reach) / (n + square), 1.0), share)
    return low, high
