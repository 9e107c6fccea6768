"""Confidence and correctness smoothed along [0, 1] by a reflected Gaussian, for all resamples at once.

Instances are laid on a grid, each shared between its two neighbours. What is reflected at both ends is even and
periodic: a sum of cosines, on which a kernel acts by one factor a cosine. So a smoothing is a cosine transform, a
product, and a cosine transform back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.sample import Sample, row_sums

GRID = 1001  # points of the grid on [0, 1], both ends included
MESH = 200  # points at least at which a smoothed curve is read; 10 to each bandwidth where that is more
REACH = 0.5  # the kernel is cut where the distance is half the length of [0, 1]


@dataclass(frozen=True, slots=True)
class SmoothedGap:
    """The curve that smooth ECE is the mean of: how far accuracy lies from confidence, at each confidence.

    With `density` of mean 1, the metric's value is `mean(|residual|)`.
    """

    bandwidth: float  # standard deviation of the kernel, in units of confidence
    confidence: Floats  # [points], evenly from 0 to 1
    density: Floats  # [points], smoothed number of instances, of mean 1
    residual: Floats  # [points], smoothed sum of (correct - confidence), in units of `density`

    @property
    def accuracy(self) -> Floats:
        """Smoothed accuracy `confidence + residual / density`, [points]; NaN where next to no instance is near."""
        near = self.density > 1e-6
        gap = np.divide(self.residual, self.density, out=np.full(len(near), np.nan), where=near)
        accuracy: Floats = self.confidence + gap
        return accuracy


@dataclass(frozen=True, slots=True)
class OnGrid:
    """Resamples on the grid."""

    mass: Floats  # [resamples, grid], instances; [1, grid] where all resamples hold the same
    spectrum: Floats  # [resamples, grid], cosine transform of the sums of (correct - confidence)


@dataclass(frozen=True, slots=True)
class _Smoother:
    """A kernel of one bandwidth, with the mesh at which its curves are read."""

    factors: Floats  # [grid], of the cosines
    left: npt.NDArray[np.intp]  # [mesh], grid point at or below each point of the mesh
    share: Floats  # [mesh], how far it is to the next, in [0, 1]
    total: Floats  # [grid], what a unit of mass at each grid point adds to the smoothed mass, summed over the mesh


def lay_on_grid(sample: Sample) -> OnGrid:
    """Sums of the instances of each resample over the grid. There is one instance at least."""
    left, share = _between_grid_points(sample.confidence)
    starts = np.flatnonzero(np.diff(left, prepend=-1))

    def laid(values: Floats) -> Floats:
        """From [resamples, instances] to [resamples, grid]."""
        whole, upper = np.add.reduceat(values, starts, axis=1), np.add.reduceat(values * share, starts, axis=1)
        grid = np.zeros((len(values), GRID))
        grid[:, left[starts]] = whole - upper
        grid[:, left[starts] + 1] += upper
        return grid

    return OnGrid(laid(sample.weights), _cosines(laid(sample.right - sample.mass)))


def mean_absolute_residual(on_grid: OnGrid, bandwidths: Sequence[float]) -> Floats:
    """Mean over the mesh of |smoothed residual|, by that of the smoothed mass, in [0, 1].

    One bandwidth for each of the resamples; [resamples].
    """
    smoothers = [_smoother(bandwidth) for bandwidth in bandwidths]
    curves = _cosines(on_grid.spectrum * np.stack([smoother.factors for smoother in smoothers]))
    sizes = [len(smoother.left) for smoother in smoothers]
    starts = np.cumsum([0, *sizes[:-1]])
    # The rows laid end to end, so that each can have a mesh of its own.
    left = np.concatenate([smoother.left for smoother in smoothers]) + np.repeat(np.arange(len(sizes)) * GRID, sizes)
    flat = curves.ravel()
    low = flat[left]
    low += (flat[left + 1] - low) * np.concatenate([smoother.share for smoother in smoothers])
    error = np.add.reduceat(np.abs(low, out=low), starts)
    mean: Floats = error / row_sums(on_grid.mass, np.stack([smoother.total for smoother in smoothers]))
    return np.minimum(mean, 1.0)


def smoothed_gap(on_grid: OnGrid, bandwidth: float) -> SmoothedGap:
    """The curve of a single resample that holds instances."""
    smoother = _smoother(bandwidth)
    curves = _cosines(np.concatenate([_cosines(on_grid.mass), on_grid.spectrum]) * smoother.factors)
    confidence = np.linspace(0, 1, len(smoother.left))
    density, residual = (np.interp(confidence, np.linspace(0, 1, GRID), curve) for curve in curves)
    return SmoothedGap(bandwidth, confidence, density / density.mean(), residual / density.mean())


@lru_cache(maxsize=512)
def _smoother(bandwidth: float) -> _Smoother:
    distance = np.linspace(0, 1, GRID)
    # No constant in front: it would cancel, here as in the transforms.
    kernel = np.where(distance <= REACH, np.exp(-0.5 * (distance / bandwidth) ** 2), 0.0)
    factors = _cosines(kernel)
    left, share = _between_grid_points(np.linspace(0, 1, max(MESH, round(10 / bandwidth))))
    reads = np.bincount(left, 1 - share, GRID) + np.bincount(left + 1, share, GRID)
    # The transpose of the smoothing. A cosine series takes each end of [0, 1] once and what is between them twice:
    # hence the halves.
    ends = np.ones(GRID)
    ends[[0, -1]] = 0.5
    total = ends * _cosines(_cosines(reads / ends) * factors)
    return _Smoother(factors, left, share, total)


def _cosines(values: Floats) -> Floats:
    """The cosine transform (DCT-I) along the last axis, [.., grid], its own inverse but for a constant."""
    transformed: Floats = np.fft.irfft(values, 2 * (GRID - 1))[..., :GRID]
    return transformed


def _between_grid_points(values: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """The grid point at or below each value (the last but one for 1), and how far the value is to the next."""
    place = values * (GRID - 1)
    left = np.minimum(place.astype(np.intp), GRID - 2)
    return left, place - left
