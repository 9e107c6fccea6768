"""Two errors as a published study of stated confidence took them, for comparison with its tables alone.

"Quantifying the Consistency, Fidelity, and Reliability of LLM Verbalized Confidence": ECE in bins that hold their lower
edge, and smooth ECE as relplot 1.0 computed it, which is too small where confidences lie near 0 and 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.bins import SAME
from calprobe.metrics.distinct import error_of_parts
from calprobe.metrics.metric import SampleMetric
from calprobe.metrics.sample import Sample, sort_instances

BINS = 10
MESH, PER_BANDWIDTH = 200, 10  # points at which curves are read: 200, or ten to a bandwidth where that is more
GRID, GRID_PER_BANDWIDTH = 2000, 20  # twice the parts of the grid that instances are laid on, likewise
HALVINGS, LEAST = 10, 0.001  # of the search for the bandwidth


def ece_lower_edges(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> float:
    """ECE in ten bins of equal width [0, 0.1), [0.1, 0.2), .., [0.9, 1]; edges are exact decimals. Smaller is better.

    `numpy.digitize(c, numpy.arange(0, 1, 0.1))` has edges of 0.30000000000000004, 0.6000000000000001 and
    0.7000000000000001, so that 0.3, 0.6 and 0.7 fall one bin lower there; here they do not, nor does 1 - 0.9 below 0.1.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]; NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(ece_lower_edges([0.3, 0.25], [True, False]), 3)
    0.475
    """
    return float(_ece_lower_edges(sort_instances(confidence, correct).sample())[0])


def lower_edge_bins(confidence: Floats) -> npt.NDArray[np.int64]:
    """The place of each confidence's bin, 0 to 9, [instances]; 1 is in the last.

    >>> lower_edge_bins(np.array([0.0, 0.29, 0.3, 1 - 0.9, 1.0])).tolist()
    [0, 2, 3, 1, 9]
    """
    places = np.floor(BINS * confidence + BINS * SAME).astype(np.int64)
    return np.minimum(places, BINS - 1)


def _ece_lower_edges(sample: Sample) -> Floats:
    return error_of_parts(sample, np.flatnonzero(np.diff(lower_edge_bins(sample.confidence), prepend=-1)))


def smooth_ece_relplot10(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> float:
    """Smooth ECE as `smECE_slow` of relplot 1.0 and 1.0.1 gives it, to be compared with figures that were made so.

    `mean over t of |sum_i K_s(t, c_i) (c_i - y_i)| / n`, K_s a Gaussian of width s reflected at 0 and 1, at the
    smallest s of a search by halves that is not below it. It divides by the number of instances, not by the smoothed
    mass that the kernel leaves (`smooth_ece`), and an instance at exactly 0 or 1 weighs half: a model that always says
    1 gets less than half of its error. Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]; NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(smooth_ece_relplot10([0.0] * 1000, [True] * 374 + [False] * 626), 3)
    0.187
    """
    return float(_relplot10(sort_instances(confidence, correct).sample())[0])


def _relplot10(sample: Sample) -> Floats:
    if not len(sample.confidence):
        return np.full(len(sample.counts), np.nan)
    residual = np.broadcast_to(sample.mass - sample.right, (len(sample.sizes), len(sample.confidence)))
    sizes = np.maximum(sample.sizes, 1)
    errors = [_at_its_width(sample.confidence, row / size) for row, size in zip(residual, sizes, strict=True)]
    return np.where(sample.sizes > 0, errors, np.nan)


def _at_its_width(confidence: Floats, residual: Floats) -> float:
    """The mean smoothed residual at the width that equals it, of one resample; residuals are shares of its size."""
    low, high = 0.0, 1.0
    errors = {1.0: _error(confidence, residual, 1.0)}
    for _ in range(HALVINGS if errors[1.0] <= 1.0 else 0):
        width = (low + high) / 2
        errors[width] = _error(confidence, residual, width)
        if width < LEAST or width < errors[width]:
            low = width
        else:
            high = width
    return errors[high]


def _error(confidence: Floats, residual: Floats, width: float) -> float:
    """Mean over the mesh of |smoothed residual|."""
    grid = max(GRID, round(GRID_PER_BANDWIDTH / width)) // 2 + 1
    values = _between(confidence, residual, grid)
    points = np.linspace(0, 1, grid) - 0.5
    kernel = np.exp(-(points**2) / (2 * width**2)) / (np.sqrt(2 * np.pi) * width)
    reflected = np.concatenate([values[:0:-1], values, values[-2::-1]])  # both ends once: there mass weighs half
    smoothed = np.convolve(reflected, kernel, "valid")[grid // 2 : grid // 2 + grid]
    mesh = np.linspace(0, 1, max(round(PER_BANDWIDTH / width), MESH))
    return float(np.abs(np.interp(mesh, np.linspace(0, 1, grid), smoothed)).mean())


def _between(confidence: Floats, values: Floats, grid: int) -> Floats:
    """Sums of values over the grid, each shared between its two neighbours."""
    place = confidence * (grid - 1)
    left = np.clip(place.astype(np.intp), 0, grid - 2)
    share = place - left
    laid = np.bincount(left, values * (1 - share), grid) + np.bincount(left + 1, values * share, grid)
    return laid.astype(np.float64)


ECE_LOWER_EDGES = SampleMetric(
    "ece_lower_edges",
    "ECE [a, b)",
    "gaps of 10 equal-width bins [a, b), weighted; stated2025",
    "smaller",
    _ece_lower_edges,
    biased=True,
)
SMOOTH_ECE_RELPLOT10 = SampleMetric(
    "smooth_ece_relplot10",
    "smECE relplot 1.0",
    "smooth ECE as relplot 1.0 computed it; stated2025",
    "smaller",
    _relplot10,
    biased=True,
)
