"""Smooth ECE: calibration error without bins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.metrics.metric import SampleMetric
from calprobe.metrics.result import MetricResult
from calprobe.metrics.sample import Sample, sort_instances
from calprobe.metrics.smoothing import OnGrid, lay_on_grid, mean_absolute_residual, smoothed_gap

STEPS = 1024  # bandwidths are whole multiples of 1/1024
LEAST = 2  # of these steps
FIRST = 32  # the first to be tried: between those of well and of badly calibrated samples
HALVE = 4  # every fourth time the steps left are halved, in case that the error is nothing like a line
ROUNDING = 1e-12  # the last bit must not decide where an error equals the bandwidth, as that of tied instances can


def smooth_ece(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Smooth ECE: mean |smoothed (correct - confidence)| along [0, 1], at the bandwidth that equals it.

    With `K` a Gaussian of bandwidth s, reflected at 0 and 1, and `t` on a mesh of [0, 1],
    `smECE_s = sum_t |sum_i K(t, conf_i) (correct_i - conf_i)| / sum_t sum_i K(t, conf_i)`; the value is `smECE_s` at
    the smallest s with `smECE_s <= s`, of the multiples of 1/1024 from 2/1024. Source: Blasiok and Nakkiran 2023,
    "Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing", in the form that the authors' package relplot
    1.0.3 computes, which is not quite the paper's: the kernel is cut at a distance of 1/2, and instances at exactly 0
    or 1 weigh half. docs/methods.md says what the two come to. Smaller is better.

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
    sample = sort_instances(confidence, correct).whole()
    if not len(sample.confidence):
        return MetricResult(float("nan"))
    on_grid = lay_on_grid(sample)
    value, bandwidth = _fixed_point(on_grid)
    return MetricResult(float(value[0]), smoothed=smoothed_gap(on_grid, float(bandwidth[0])))


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
    "smooth_ece", "smooth ECE", "mean smoothed gap at the bandwidth that equals it", "smaller", _smooth_ece, biased=True
)
