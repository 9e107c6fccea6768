"""Logistic regression with a few features: where it ends depends on the data, not on a processor's last bits."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.metrics.logistic import fit_logistic, sigmoid


@pytest.mark.parametrize("seed", [91, 151, 188, 222, 66, *range(20)])
def test_no_step_is_left_to_be_taken(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 60))
    confidence = rng.choice(rng.random(4).round(3), n).clip(0.01, 0.99)
    features = np.stack([np.ones(n), np.log(confidence / (1 - confidence))], axis=1)
    correct = (rng.random(n) < sigmoid(4 * features[:, 1] - 3)).astype(float)
    found = fit_logistic(features, correct)
    if found is None:  # right and wrong are apart, or all is one of them
        assert correct.min() == correct.max() or len(np.unique(confidence)) < 2 or separated(confidence, correct)
        return
    share = sigmoid(features @ found)
    information = (features * (share * (1 - share))[:, None]).T @ features
    step = np.linalg.solve(information, features.T @ (correct - share))
    assert np.abs(step).max() <= 1e-11 * (1 + np.abs(found).max())


def separated(confidence: np.ndarray, correct: np.ndarray) -> bool:
    right, wrong = confidence[correct == 1], confidence[correct == 0]
    return bool(right.min() >= wrong.max() or wrong.min() >= right.max())
