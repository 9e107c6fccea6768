"""The errors of a published study: its cells of constant models, its bins' edges, and its definition in plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calprobe.metrics import smooth_ece
from calprobe.metrics.stated2025 import ece_lower_edges, lower_edge_bins, smooth_ece_relplot10

N = 1000


def constant(value: float, accuracy: float) -> tuple[np.ndarray, np.ndarray]:
    return np.full(N, value), np.arange(N) < round(N * accuracy)


@pytest.mark.parametrize(("value", "accuracy", "old"), [(0.0, 0.374, 0.187), (1.0, 0.376, 0.287), (1.0, 0.375, 0.287)])
def test_cells_of_constant_models_are_relplots_old_ones(value: float, accuracy: float, old: float) -> None:
    sample = constant(value, accuracy)
    assert smooth_ece_relplot10(*sample) == pytest.approx(old, abs=5e-4)
    assert float(smooth_ece(*sample)) == pytest.approx(abs(value - accuracy), abs=1e-3)


@pytest.mark.parametrize(
    ("value", "old"), [(0.5, 0.123), (0.8, 0.356), (0.9, 0.408), (0.95, 0.432), (0.99, 0.450), (1.0, 0.287)]
)
def test_it_falls_short_of_the_gap_towards_1(value: float, old: float) -> None:
    assert smooth_ece_relplot10(*constant(value, 0.376)) == pytest.approx(old, abs=5e-4)


def by_loops(confidence: np.ndarray, correct: np.ndarray) -> float:
    """The definition, an instance and a point at a time: no grid."""

    def error(width: float) -> float:
        total, mesh = 0.0, np.linspace(0, 1, max(200, round(10 / width)))
        for t in mesh:
            smoothed = 0.0
            for own, right in zip(confidence, correct, strict=True):
                for image in {own, -own, 2 - own}:
                    if abs(t - image) <= 0.5:
                        kernel = math.exp(-((t - image) ** 2) / (2 * width**2)) / (math.sqrt(2 * math.pi) * width)
                        smoothed += kernel * (own - right) / len(confidence)
            total += abs(smoothed)
        return total / len(mesh)

    low, high = 0.0, 1.0
    for _ in range(10):
        middle = (low + high) / 2
        if middle < 0.001 or middle < error(middle):
            low = middle
        else:
            high = middle
    return error(high)


def test_it_is_the_definition() -> None:
    rng = np.random.default_rng(2)
    confidence, correct = rng.integers(1, 10, 12) / 10, rng.random(12) < 0.4
    assert smooth_ece_relplot10(confidence, correct) == pytest.approx(by_loops(confidence, correct), abs=2e-3)


def test_order_and_copies_change_nothing() -> None:
    rng = np.random.default_rng(3)
    confidence, correct = rng.integers(0, 11, 50) / 10, rng.random(50) < 0.5
    value, order = smooth_ece_relplot10(confidence, correct), rng.permutation(50)
    assert smooth_ece_relplot10(confidence[order], correct[order]) == pytest.approx(value)
    assert smooth_ece_relplot10(np.tile(confidence, 3), np.tile(correct, 3)) == pytest.approx(value)


def test_floating_edges_move_three_tenths_and_exact_ones_do_not() -> None:
    tenths = np.arange(11) / 10
    floating = np.digitize(tenths, np.arange(0, 1, 0.1)) - 1
    assert [round(own, 1) for own, place in zip(tenths, floating, strict=True) if place != min(round(10 * own), 9)] == [
        0.3,
        0.6,
        0.7,
    ]
    assert lower_edge_bins(tenths).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    assert lower_edge_bins(1 - tenths).tolist() == [9, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert lower_edge_bins(np.array([0.2999, 0.3001])).tolist() == [2, 3]


def test_ece_with_lower_edges_by_hand() -> None:
    # 0.8 and 0.85 share the bin [0.8, 0.9): mean 0.825, accuracy 0.5; 0.7 has one of its own.
    assert ece_lower_edges([0.8, 0.85, 0.7], [True, False, True]) == pytest.approx((2 * 0.325 + 0.3) / 3)


def test_nothing_has_no_error() -> None:
    assert np.isnan(ece_lower_edges([], []))
    assert np.isnan(smooth_ece_relplot10([], []))
