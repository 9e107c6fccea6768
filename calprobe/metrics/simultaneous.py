"""Bands that hold for all points of a curve at once, from the resamples that its points' own intervals come from."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from calprobe.arrays import Floats
from calprobe.metrics.intervals import LEVEL


def simultaneous_band(curve: Floats, resampled: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """The narrowest band of equal pointwise level that holds `level` of the resampled curves at all points at once.

    A resampled curve is as extreme as its most extreme point, by its rank among all resamples there. The band goes from
    the k-th smallest to the k-th largest value of each point, with the largest k that enough curves stay within. It is
    the sup-t band in its form for quantiles. Source: Montiel Olea and Plagborg-Møller 2019, "Simultaneous Confidence
    Bands", section 3.

    Args:
        curve: [points], NaN where it is undefined.
        resampled: [resamples, points], NaN where undefined: such a point counts for its resample as in the middle.
        level: in (0, 1).
    Returns:
        Lower and upper ends, both [points], NaN where the curve is and without resamples. They hold the curve.

    >>> resampled = np.array([[0.0, 0.4], [0.1, 0.5], [0.2, 0.6], [0.3, 0.7]])
    >>> low, high = simultaneous_band(np.array([0.15, 0.55]), resampled, level=0.5)
    >>> low.tolist(), high.tolist()
    ([0.1, 0.5], [0.2, 0.6])
    """
    nothing = np.full(len(curve), np.nan)
    points = np.flatnonzero(~np.isnan(curve) & ~np.isnan(resampled).all(axis=0)) if len(resampled) else np.empty(0, int)
    if not len(points):
        return nothing, nothing.copy()
    values = resampled[:, points]
    ascending = np.sort(values, axis=0)  # NaN last
    defined = (~np.isnan(values)).sum(axis=0)
    extreme = np.full(len(values), len(values))
    for place, column in enumerate(ascending.T):
        draws, n = values[:, place], int(defined[place])
        below, up_to = (np.searchsorted(column[:n], draws, side=side) for side in ("left", "right"))
        # Ranks from both ends, each as mild as its ties allow; scaled to all resamples where some are undefined.
        rank = np.minimum(up_to, n - below) * (len(values) / n)
        extreme = np.minimum(extreme, np.where(np.isnan(draws), len(values), rank))
    kept = math.ceil(level * len(values))
    share = max(1.0, float(np.sort(extreme)[::-1][kept - 1])) / len(values)
    at = np.maximum(np.floor(share * defined + 1e-9).astype(int), 1)
    columns = np.arange(len(points))
    low, high = nothing, nothing.copy()
    low[points] = np.minimum(ascending[at - 1, columns], curve[points])
    high[points] = np.maximum(ascending[defined - at, columns], curve[points])
    return low, high


def simultaneous_normal(n_points: int, level: float = LEVEL) -> float:
    """The normal quantile for independent intervals that all hold: each has the level `level ** (1 / n_points)`.

    Source: Šidák 1967. At least one point is assumed.

    >>> round(simultaneous_normal(1), 3), round(simultaneous_normal(20), 3)
    (1.96, 3.016)
    """
    return NormalDist().inv_cdf((1 + level ** (1 / max(n_points, 1))) / 2)
