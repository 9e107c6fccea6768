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
