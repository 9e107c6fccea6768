"""The temperature that is fitted to the top label, against SciPy and by hand; and why it differs from the other one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from calprobe.confidence import Distributions, fit_temperature, fit_top_temperature, top_temperature_confidence


def loss(log_temperature: float, scores: np.ndarray, right: np.ndarray) -> float:
    top = softmax(scores / math.exp(log_temperature), axis=1).max(axis=1).clip(1e-12, 1 - 1e-12)
    return float(-np.where(right, np.log(top), np.log1p(-top)).mean())


@pytest.mark.parametrize("seed", range(5))
def test_no_other_temperature_has_a_smaller_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, answers = rng.normal(0, 1 + seed, (80, 6)), rng.integers(0, 6, 80)
    answers = np.where(rng.random(80) < 0.5, scores.argmax(axis=1), answers)
    right = scores.argmax(axis=1) == answers
    found = fit_top_temperature(scores.ravel(), np.arange(81) * 6, answers)
    best = min(
        (minimize_scalar(loss, bounds=(a, a + 1), args=(scores, right), method="bounded") for a in np.arange(-7, 7)),
        key=lambda one: one.fun,
    )
    assert loss(math.log(found), scores, right) == pytest.approx(best.fun, abs=1e-10)
    assert math.log(found) == pytest.approx(best.x, abs=1e-3)


def test_limits_and_flat_losses() -> None:
    offsets = [0, 2, 4]
    assert fit_top_temperature([1.0, 0.0, 1.0, 0.0], offsets, [0, 0]) == pytest.approx(0.001, rel=0.5)
    assert fit_top_temperature([1.0, 0.0, 1.0, 0.0], offsets, [1, 1]) == pytest.approx(1000, rel=1e-6)
    assert fit_top_temperature([1.0, 1.0, 1.0, 1.0], offsets, [0, 1]) == 1
    assert fit_top_temperature([], [0], []) == 1
    assert fit_top_temperature([math.nan, 0.0], [0, 2], [0]) == 1


def test_it_follows_the_top_label_where_the_other_follows_all_candidates() -> None:
    # The first is right half of the time at even odds; the tail of eight is never right, though p gives it half.
    n = 400
    scores = np.tile(np.log([0.3, 0.2, *[0.0625] * 8]), n)
    answers = np.tile([0, 1], n // 2)
    offsets = np.arange(n + 1) * 10
    top, every = fit_top_temperature(scores, offsets, answers), fit_temperature(scores, offsets, answers)
    spaces = Distributions.from_scores(scores[None], offsets, answers)
    confidence = top_temperature_confidence(spaces).confidence
    assert confidence == pytest.approx(np.full(n, 0.5), abs=0.03)
    assert top != pytest.approx(every, rel=0.01)


def test_the_fitted_temperatures_are_kept() -> None:
    rng = np.random.default_rng(0)
    spaces = Distributions.from_scores(rng.normal(size=(1, 120)), np.arange(41) * 3, rng.integers(0, 3, 40))
    found = top_temperature_confidence(spaces)
    assert len(found.fitted) == 5
    assert all(0.001 <= temperature <= 1000 for temperature in found.fitted)
