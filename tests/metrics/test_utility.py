"""Utilities at stakes: by loops, by integration, as a proper score."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calprobe.metrics.utility import cost_of_error, mean_utilities, utilities


@pytest.mark.parametrize("stakes", [0.0, 0.3, 0.5, 0.9, 0.99])
def test_utilities_are_those_of_loops(stakes: float) -> None:
    rng = np.random.default_rng(0)
    confidence, correct = rng.random(200).round(1), rng.random(200) < 0.5
    by_loops = []
    for sure, right in zip(confidence, correct, strict=True):
        by_loops.append(0.0 if sure < stakes else 1.0 if right else -stakes / (1 - stakes))
    assert utilities(confidence, correct, stakes) == pytest.approx(by_loops, abs=1e-12)


@pytest.mark.parametrize("most", [0.2, 0.9, 0.99])
def test_the_mean_over_stakes_is_their_integral(most: float) -> None:
    rng = np.random.default_rng(1)
    confidence, correct = np.append(rng.random(50), [0, 1, 1, most]), np.append(rng.random(50) < 0.5, [0, 0, 1, 0])
    steps = (np.arange(200_000) + 0.5) / 200_000 * most
    for sure, right, worth in zip(confidence, correct, mean_utilities(confidence, correct, most), strict=True):
        value = np.where(sure >= steps, 1.0 if right else -steps / (1 - steps), 0.0).mean()
        assert worth == pytest.approx(value, abs=2e-4)


def test_no_confidence_is_worth_more_than_the_probability_to_be_right() -> None:
    grid = np.arange(0, 901) / 1000
    right, wrong = (mean_utilities(grid, np.full(901, y)) for y in (True, False))
    for p in (0.0, 0.2, 0.55, 0.9):
        assert grid[np.argmax(p * right + (1 - p) * wrong)] == pytest.approx(p, abs=1e-9)


def test_ends() -> None:
    assert utilities([], [], 0.5).tolist() == []
    assert utilities([0.2, 0.9], [1, 0], 0.0).tolist() == [1, 0]  # at no stakes the mean is the accuracy
    assert mean_utilities([1.0], [False])[0] == pytest.approx(1 + math.log(0.1) / 0.9)
    for bad in (-0.1, 1.0):
        with pytest.raises(ValueError, match="stakes must be at least 0 and below 1"):
            cost_of_error(bad)
    with pytest.raises(ValueError, match="most must lie between 0 and 1; got 1"):
        mean_utilities([0.5], [True], 1)
