"""Entropy of bins and calibration errors by the places of bins: closed forms, and the published example."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from calprobe.metrics import bootstrap_many, ece
from calprobe.metrics.concentration import (
    bin_entropy,
    ece_of_centred_bins,
    ece_of_middles,
    largest_bin,
    largest_bin_entropy,
    place_metrics,
)
from calprobe.metrics.resamples import Resampling


def test_entropy_is_that_of_the_counts() -> None:
    assert bin_entropy([0.97] * 50) == 0
    assert bin_entropy((np.arange(15) + 0.5) / 15) == pytest.approx(1)
    # Two bins of B hold half each: log 2 / log B.
    assert bin_entropy([0.1, 0.9], n_bins=8) == pytest.approx(1 / 3)
    assert bin_entropy([0.1] * 3 + [0.9], n_bins=4) == pytest.approx((0.75 * np.log2(4 / 3) + 0.25 * 2) / 2)
    assert largest_bin([0.1] * 3 + [0.9], n_bins=4) == 0.75
    assert np.isnan(bin_entropy([]))


def test_middles_judge_a_constant_confidence_by_half_a_bin() -> None:
    """Always 1 at accuracy 0.95: 0 by the middle of ten bins, 0.05 by the mean confidence."""
    right = np.arange(20) < 19
    assert ece_of_middles(np.ones(20), right, 10) == pytest.approx(0)
    assert float(ece(np.ones(20), right, 10)) == pytest.approx(0.05)
    # All in the last of 15 bins: its middle is 29/30, its centre 1.
    assert ece_of_middles(np.ones(20), right) == pytest.approx(29 / 30 - 0.95)
    assert ece_of_centred_bins(np.ones(20), right) == pytest.approx(0.05)


def test_centred_bins_have_the_ece_of_frequencies() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 11, 400) / 10
    right = rng.random(400) < values**2
    expected = sum(abs((values == own).mean() * own - (right & (values == own)).mean()) for own in np.unique(values))
    assert ece_of_centred_bins(values, right, 11) == pytest.approx(expected)


@pytest.mark.parametrize("accuracy", [0.02, 0.3, 0.6, 0.9, 0.99])
def test_the_largest_entropy_is_what_an_optimiser_finds(accuracy: float) -> None:
    edges = np.linspace(0, 1, 6)

    def negative(shares: np.ndarray) -> float:
        return float((shares * np.log(np.maximum(shares, 1e-12))).sum())

    found = minimize(
        negative,
        np.full(5, 0.2),
        bounds=[(0, 1)] * 5,
        constraints=[
            {"type": "eq", "fun": lambda s: s.sum() - 1},
            {"type": "ineq", "fun": lambda s: s @ edges[1:] - accuracy},
            {"type": "ineq", "fun": lambda s: accuracy - s @ edges[:-1]},
        ],
    )
    assert largest_bin_entropy(accuracy, 5) == pytest.approx(-found.fun / np.log(5), abs=2e-3)


def test_calibrated_confidences_stay_below_the_largest_entropy() -> None:
    rng = np.random.default_rng(1)
    for shape in ((8, 1), (2, 2), (30, 0.5), (1, 6)):
        confidence = rng.beta(*shape, 4000)
        assert bin_entropy(confidence) <= largest_bin_entropy(float(confidence.mean())) + 1e-9


def test_metrics_are_those_of_the_functions_and_do_not_depend_on_order() -> None:
    rng = np.random.default_rng(2)
    confidence, right = rng.random(60), rng.random(60) < 0.5
    order = rng.permutation(60)
    metrics = place_metrics()
    found = [
        bootstrap_many(metrics, {"one": own}, Resampling(20))["one"]
        for own in ((confidence, right), (confidence[order], right[order]))
    ]
    assert bin_entropy(confidence) == bin_entropy(confidence[order])
    assert found[0]["ece_15_middle"].value == pytest.approx(ece_of_middles(confidence, right))
    assert found[0]["ece_15_centred"].value == pytest.approx(ece_of_centred_bins(confidence, right))
    for metric in metrics:
        assert found[0][metric.name].value == pytest.approx(found[1][metric.name].value)
        assert found[0][metric.name].low <= found[0][metric.name].value <= found[0][metric.name].high
