"""Intervals where all resamples agree: exact ones of proportions, none of anything else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from calprobe.metrics import Resampling, bootstrap, bootstrap_mean, standard_metrics

QUICK = Resampling(50)


@pytest.mark.parametrize(("right", "n"), [(True, 12), (False, 12), (True, 300)])
def test_all_right_or_all_wrong(right: bool, n: int) -> None:
    found = bootstrap(standard_metrics(), np.full(n, 0.75), np.full(n, right), QUICK)
    exact = binomtest(n * right, n).proportion_ci(0.95, "exact")
    assert (found["accuracy"].low, found["accuracy"].high) == pytest.approx((exact.low, exact.high))
    assert found["accuracy"].value == right
    for name in ("mean_confidence", "ace", "ece", "brier", "nll"):
        assert math.isnan(found[name].low), name
        assert not math.isnan(found[name].value)


def test_perfect_order_has_no_interval() -> None:
    found = bootstrap(standard_metrics(), [0.9, 0.8, 0.2, 0.1] * 30, [True, True, False, False] * 30, QUICK)
    assert found["auroc"].value == 1
    assert math.isnan(found["auroc"].low)
    assert found["accuracy"].low < 0.5 < found["accuracy"].high


def test_means_of_shares() -> None:
    exact = binomtest(0, 20).proportion_ci(0.95, "exact")
    assert bootstrap_mean(np.zeros(20), QUICK).high == pytest.approx(exact.high)
    assert math.isnan(bootstrap_mean(np.full(20, 0.5), QUICK).low)
    assert math.isnan(bootstrap_mean(np.ones(20), Resampling(0)).low)


def test_complete_relations_are_the_trials_where_they_are_drawn() -> None:
    clusters = np.repeat(np.arange(12), 5)
    exact = binomtest(12, 12).proportion_ci(0.95, "exact")
    assert bootstrap_mean(np.ones(60), QUICK, clusters).low == pytest.approx(exact.low)


@pytest.mark.parametrize("right", [True, False])
def test_the_gap_counts_an_accuracy_without_spread_by_its_exact_interval(right: bool) -> None:
    confidence = np.linspace(0.2, 0.6, 3)
    found = bootstrap(standard_metrics(), confidence, np.full(3, right), QUICK)
    gap, mean, accuracy = (found[name] for name in ("confidence_gap", "mean_confidence", "accuracy"))
    assert gap.low == pytest.approx(mean.low - accuracy.high)
    assert gap.high == pytest.approx(mean.high - accuracy.low)
    # Three wrong answers do not tell 0.4 from the accuracy, nor do three right ones.
    assert gap.low < 0 < gap.high


def test_the_gap_of_one_confidence_and_many_wrong_answers() -> None:
    exact = binomtest(0, 300).proportion_ci(0.95, "exact")
    gap = bootstrap(standard_metrics(), np.full(300, 0.4), np.zeros(300, bool), QUICK)["confidence_gap"]
    assert (gap.low, gap.high) == pytest.approx((0.4 - exact.high, 0.4))
    without = bootstrap(standard_metrics(), [0.4, 0.4], [False, False], Resampling(0))["confidence_gap"]
    assert math.isnan(without.low)
