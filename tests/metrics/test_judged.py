"""Accuracy corrected for a judge's errors: closed forms, and simulated judges."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.metrics import Resampling
from calprobe.metrics.judged import JudgedAccuracy, judged_accuracy


def simulated(seed: int, n: int = 800, by_hand: int = 200) -> tuple[JudgedAccuracy, float]:
    """A judge with sensitivity 0.9 and specificity 0.7, and the accuracy that it does not see."""
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.4
    judged = np.where(right, rng.random(n) < 0.9, rng.random(n) < 0.3)
    hand = np.where(np.arange(n) < by_hand, right.astype(float), np.nan)
    return judged_accuracy(judged, hand, Resampling(200)), 0.4


def test_the_interval_has_the_accuracy_that_the_judge_overstates() -> None:
    found = [simulated(seed) for seed in range(60)]
    assert sum(own.accuracy.low <= truth <= own.accuracy.high for own, truth in found) >= 51  # of 57 expected
    assert np.mean([own.accuracy.value for own, _ in found]) == pytest.approx(0.4, abs=0.02)
    assert np.mean([own.judged.value for own, _ in found]) == pytest.approx(0.4 * 0.9 + 0.6 * 0.3, abs=0.02)
    # Wider than of so many answers without errors of the judge.
    assert all(own.accuracy.high - own.accuracy.low > own.judged.high - own.judged.low for own, _ in found)


def test_a_judge_without_errors_needs_no_correction() -> None:
    judged = [1, 1, 0, 0, 1, 0, 0, 0]
    found = judged_accuracy(judged, [1, np.nan, 0, 0, np.nan, np.nan, np.nan, np.nan], Resampling(0))
    assert (found.sensitivity.value, found.specificity.value, found.right, found.wrong) == (1, 1, 1, 2)
    assert found.accuracy.value == found.judged.value == 3 / 8


def test_nothing_is_corrected_without_both_kinds_or_by_a_judge_of_chance() -> None:
    assert np.isnan(judged_accuracy([1, 0], [1, np.nan], Resampling(0)).accuracy.value)
    chance = judged_accuracy([1, 0, 1, 0, 1], [1, 1, 0, 0, np.nan], Resampling(0))
    assert chance.sensitivity.value == 1 - chance.specificity.value
    assert np.isnan(chance.accuracy.value)
    with pytest.raises(ValueError, match="2 values of 0, 1 or NaN"):
        judged_accuracy([1, 0], [0.5, 1])
