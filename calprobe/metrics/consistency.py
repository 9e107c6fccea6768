"""Consistency: how far confidences in one and the same answer move when they are asked for in other words."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_numbers


def answer_deviations(confidence: npt.ArrayLike) -> Floats:
    """The standard deviation (k - 1) of each answer's confidences over k prompts; their mean is the MSD.

    `MSD = 1/n sum_i sqrt(1/(k-1) sum_j (c_ij - mean_j c_ij)^2)`. Source: "Quantifying the Consistency, Fidelity, and
    Reliability of LLM Verbalized Confidence", equation 1. Smaller is steadier; a model that always says the same is
    perfectly steady.

    Args:
        confidence: [prompts, answers], in [0, 1]; NaN where a prompt's confidence could not be read.
    Returns:
        [answers], in [0, largest_deviation(k)]; NaN for an answer that lacks any of the confidences, and for k < 2.
    Raises:
        ValueError: not two-dimensional, or a value out of range.

    >>> answer_deviations([[0.0, 0.5, 0.9], [1.0, 0.5, float("nan")]]).round(3).tolist()
    [0.707, 0.0, nan]
    """
    values = check_numbers("confidence", confidence)
    if values.ndim != 2 or (values < 0).any() or (values > 1).any():
        raise ValueError(f"confidence must be [prompts, answers] in [0, 1] or NaN; got shape {values.shape}")
    if len(values) < 2:
        return np.full(values.shape[1], np.nan)
    deviations: Floats = values.std(axis=0, ddof=1)
    # Equal confidences deviate by 0, whatever rounding makes of their mean.
    return np.where(np.ptp(values, axis=0) == 0, 0.0, deviations)


def largest_deviation(k: int) -> float:
    """The largest standard deviation (k - 1) that k numbers in [0, 1] can have: half of them 0, half of them 1.

    `sqrt(m (k - m) / (k (k - 1)))` with `m = floor(k / 2)`. An MSD goes from 0 to this, so MSDs of groups of different
    sizes cannot be compared. NaN for k < 2.

    >>> [round(largest_deviation(k), 4) for k in (2, 3, 10)]
    [0.7071, 0.5774, 0.527]
    """
    if k < 2:
        return float("nan")
    ones = k // 2
    return math.sqrt(ones * (k - ones) / (k * (k - 1)))
