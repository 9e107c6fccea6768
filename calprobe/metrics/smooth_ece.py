"""Smooth ECE: calibration error without bins, by smoothing along [0, 1] with a reflected Gaussian.

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

from calprobe.arrays import Floats, Ints
from calprobe.metrics.metric import MetricResult, SampleMetric, SmoothedGap
from calprobe.metrics.sample import Sample, row_sums, sort_instances

STEPS = 1024  # bandwidths are whole multiples of 1/1024
LEAST = 2  # of these steps
FIRST = 32  # the first to be tried: between those of well and of badly calibrated samples
HALVE = 4  # every fourth time the steps left are halved, in case that the error is nothing like a line
ROUNDING = 1e-12  # the last bit must not decide where an error equals the bandwidth, as that of tied instances can

GRID = 1001  # points of the grid on [0, 1], both ends included
MESH = 200  # points at least at which a smoothed curve is read; 10 to each bandwidth where that is more
REACH = 0.5  # the kernel is cut where the distance is half the length of [0, 1]


def smooth_ece(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Smooth ECE: mean |smoothed (correct - confidence)| along [0, 1], at the bandwidth that equals it.

    With `K` a Gaussian of bandwidth s, reflected at 0 and 1, and `t` on a mesh of [0, 1],
    `smECE_s = sum_t |sum_i K(t, conf_i) (correct_i - conf_i)| / sum_t sum_i K(t, conf_i)`; the value is `smECE_s` at
    the smallest s with `smECE_s <= s`, of the multiples of 1/1024 from 2/1024. Source: Blasiok and Nakkiran 2023,
    "Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing", in the form that the authors' package relplot
    1.0.3 computes, which is not quite the paper's: the kernel is cut at a distance of 1/2, and instances at exactly 0
    or 1 weigh half. docs/methods/metrics.md says what the two come to. Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1] with the smoothed curve (`smoothed`; None without instances). Ties need no rule. With one
        instance, or where all are tied, |mean confidence - accuracy|. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> found = smooth_ece([0.2, 0.4, 0.6, 0.8], [False, True, True, False])
    >>> round(found.value, 3), round(found.smoothed.bandwidth, 3)
    (0.204, 0.204)
    """
    sample = sort_instances(confidence, correct).sample()
    if not len(sample.confidence):
        return MetricResult(float("nan"))
    on_grid = lay_on_grid(sample)
    value, bandwidth = _fixed_point(on_grid)
    right = lay_on_points(sample.confidence, sample.right)
    return MetricResult(float(value[0]), smoothed=smoothed_gap(on_grid, right, float(bandwidth[0])))


def _smooth_ece(sample: Sample) -> Floats:
    if not len(sample.confidence):
        return np.full(len(sample.counts), np.nan)
    return _fixed_point(lay_on_grid(sample))[0]


def _fixed_point(on_grid: OnGrid) -> tuple[Floats, Floats]:
    """Smooth ECE and bandwidth of each resample, both [resamples], by false position for all of them at once.

    A step is wide enough if the error at it is not above it. `low` is not, `high` is, until they are neighbours.
    Between two steps the error is nearly a straight line: three to five tries do, where halving takes nine.
    """
    mass = np.broadcast_to(on_grid.mass, on_grid.spectrum.shape)
    low = np.full(len(mass), LEAST - 1)
    high = np.full(len(mass), 2 * STEPS)  # more than any needs, errors being at most 1
    at_low, at_high = np.full((2, len(mass)), np.nan)
    step, turn = np.full(len(mass), FIRST), 0
    while len(rows := np.flatnonzero(high - low > 1)):
        tried = step[rows]
        error = mean_absolute_residual(OnGrid(mass[rows], on_grid.spectrum[rows]), (tried / STEPS).tolist())
        enough = error <= tried / STEPS + ROUNDING
        wide, narrow = rows[enough], rows[~enough]
        high[wide], at_high[wide] = tried[enough], error[enough]
        low[narrow], at_low[narrow] = tried[~enough], error[~enough]
        turn += 1
        step = (low + high) // 2 if turn % HALVE == 0 else _crossing(low, high, at_low, at_high)
    return at_high, high / STEPS


def _crossing(low: Ints, high: Ints, at_low: Floats, at_high: Floats) -> Ints:
    """The first step between two where the line through their errors is not above the bandwidth, [resamples].

    As long as the error at one of them is not known (NaN), it is taken for the other's.
    """
    above_low = np.where(np.isnan(at_low), at_high, at_low) * STEPS - low
    above_high = np.where(np.isnan(at_high), at_low, at_high) * STEPS - high
    line = low + (high - low) * above_low / (above_low - above_high)
    step: Ints = np.clip(np.ceil(line), low + 1, high - 1).astype(np.int64)
    return step


SMOOTH_ECE = SampleMetric(
    "smooth_ece",
    "smooth ECE",
    "mean smoothed gap at the bandwidth that equals it",
    "smaller",
    _smooth_ece,
    biased=True,
    source="Błasiok and Nakkiran 2023, as in relplot",
    priority=7,
)


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
    return OnGrid(
        lay_on_points(sample.confidence, sample.weights),
        _cosines(lay_on_points(sample.confidence, sample.right - sample.mass)),
    )


def lay_on_points(confidence: Floats, values: Floats) -> Floats:
    """Sums of values [resamples, instances] over the grid, each shared between two neighbours: [resamples, grid]."""
    left, share = _between_grid_points(confidence)
    starts = np.flatnonzero(np.diff(left, prepend=-1))
    total, upper = np.add.reduceat(values, starts, axis=1), np.add.reduceat(values * share, starts, axis=1)
    grid = np.zeros((len(values), GRID))
    grid[:, left[starts]] = total - upper
    grid[:, left[starts] + 1] += upper
    return grid


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


def smoothed_gap(on_grid: OnGrid, right: Floats, bandwidth: float) -> SmoothedGap:
    """The curves of a single resample that holds instances; `right` [1, grid] are the correct ones."""
    smoother = _smoother(bandwidth)
    spectra = np.concatenate([_cosines(on_grid.mass), on_grid.spectrum, _cosines(right)])
    confidence = np.linspace(0, 1, len(smoother.left))
    curves = _read(_cosines(spectra * smoother.factors), smoother)
    density, residual, correct = curves / curves[0].mean()
    return SmoothedGap(bandwidth, confidence, density, residual, correct)


def _read(curves: Floats, smoother: _Smoother) -> Floats:
    """Curves [curves, grid] at the points of the mesh, [curves, mesh]."""
    low = curves[:, smoother.left]
    read: Floats = low + (curves[:, smoother.left + 1] - low) * smoother.share
    return read


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
    """The cosine transform (DCT-I) along the last axis, [.., grid], its own inverse but for a constant.

    By NumPy: scipy.fft has it too, and would have to be imported for every report.
    """
    transformed: Floats = np.fft.irfft(values, 2 * (GRID - 1))[..., :GRID]
    return transformed


def _between_grid_points(values: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """The grid point at or below each value (the last but one for 1), and how far the value is to the next."""
    place = values * (GRID - 1)
    left = np.minimum(place.astype(np.intp), GRID - 2)
    return left, place - left
