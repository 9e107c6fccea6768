"""Corrections and tests beside the bootstrap's p: max-T, McNemar, equivalence, means of any quantity."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from calprobe.metrics import (
    PairedDraws,
    Resampling,
    bootstrap_mean,
    holm,
    max_t,
    mcnemar,
    mean_draws,
    paired_differences,
    paired_draws,
    standard_metrics,
)

NAN = float("nan")
BY_NAME = {metric.name: metric for metric in standard_metrics()}


def test_max_t_by_hand() -> None:
    null = [[0.0, 1.0, 2.0, 3.0], [5.0, 0.0, 0.0, 0.0], [9.0, 9.0, 9.0, 9.0]]
    # The third is no test. The first has the larger statistic: held against both; the second against itself.
    assert max_t([2.5, 0.5, NAN], null)[:2].tolist() == [(1 + 2) / 5, (1 + 2) / 5]
    assert max_t([2.5, 0.0, NAN], null)[1] == 1.0
    assert math.isnan(max_t([2.5, 0.5, NAN], null)[2])
    assert max_t([], np.empty((0, 10))).tolist() == []


@given(st.integers(1, 6), st.integers(0, 2**31))
def test_max_t_is_the_loop_of_its_definition(n_tests: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    statistics, null = rng.exponential(size=n_tests).round(1), rng.exponential(size=(n_tests, 40)).round(1)
    order, before = sorted(range(n_tests), key=lambda j: -statistics[j]), 0.0
    for place, test in enumerate(order):
        reached = sum(max(null[j, b] for j in order[place:]) >= statistics[test] for b in range(40))
        before = max(before, (1 + reached) / 41)
        assert max_t(statistics, null)[test] == before


def test_tests_that_agree_are_not_corrected_and_independent_ones_as_sidak_says() -> None:
    rng = np.random.default_rng(1)
    one = np.abs(rng.normal(size=40_000))
    alone = float(max_t([2.0], one[None])[0])
    assert max_t([2.0] * 8, np.tile(one, (8, 1))).tolist() == [alone] * 8
    independent = float(max_t([2.0] * 8, np.abs(rng.normal(size=(8, 40_000))))[0])
    assert independent == pytest.approx(1 - (1 - alone) ** 8, abs=0.01)
    assert independent < holm([alone] * 8)[0]


def test_max_t_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"null must have a row for each of 2 tests; got shape \(1, 3\)"):
        max_t([1.0, 2.0], [[0.0, 1.0, 2.0]])
    with pytest.raises(ValueError, match="null must not be NaN"):
        max_t([1.0], [[0.0, NAN]])


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(first_only: int, second_only: int) -> None:
    found = mcnemar(first_only, second_only)
    draws = first_only + second_only
    expected = scipy.stats.binomtest(first_only, draws).pvalue if draws else 1.0
    assert found == pytest.approx(expected, rel=1e-9)
    assert found == mcnemar(second_only, first_only)


def test_mcnemar_of_thousands_and_of_nonsense() -> None:
    assert mcnemar(900, 1100) == pytest.approx(scipy.stats.binomtest(900, 2000).pvalue, rel=1e-9)
    with pytest.raises(ValueError, match="got -1 and 3"):
        mcnemar(-1, 3)


def test_equivalence_is_two_one_sided_tests() -> None:
    resampled = np.linspace(-0.03, 0.05, 81)  # steps of .001 around .01
    draws = PairedDraws(0.01, resampled)
    assert draws.equivalence(0.0405) == (1 + 10) / 82  # .041 to .05 lie beyond
    assert draws.equivalence(0.06) == 1 / 82
    assert draws.equivalence(0.001) > 0.5
    assert math.isnan(PairedDraws(0.0, np.empty(0)).equivalence(0.1))
    # Below .05 where the middle 90 % lie within the margin, and not where they do not.
    low, high = np.percentile(resampled, [5, 95])
    margin = max(-low, high)
    assert draws.equivalence(margin + 0.002) < 0.05 < draws.equivalence(margin - 0.002)


def test_equivalence_of_errors_allows_for_what_chance_may_have_added() -> None:
    rng = np.random.default_rng(3)
    confidence = rng.random((2, 200))
    correct = rng.random((2, 200)) < confidence
    samples = {name: (confidence[at], correct[at]) for at, name in enumerate("ab")}
    draws = paired_draws([BY_NAME["ace"], BY_NAME["brier"]], samples, [("a", "b")], Resampling(200))["a", "b"]
    # Two errors that chance alone may have made are within any margin below them only by luck: never shown.
    assert draws["ace"].equivalence(0.01) > 0.05
    assert draws["ace"].statistic == 0.0
    assert draws["brier"].statistic == pytest.approx(
        abs(draws["brier"].value) / draws["brier"].resampled.std(), abs=1e-12
    )
    null = draws["brier"].null_statistics()
    assert (null.shape, null.min() >= 0, float((null**2).mean())) == ((200,), True, pytest.approx(1.0))


def test_a_difference_without_spread() -> None:
    assert PairedDraws(0.5, np.full(9, 0.5)).statistic == math.inf
    assert PairedDraws(0.0, np.zeros(9)).statistic == 0.0
    assert PairedDraws(0.0, np.zeros(9)).null_statistics().tolist() == [0.0] * 9
    assert math.isnan(PairedDraws(NAN, np.zeros(9)).statistic)


def test_means_of_any_quantity_have_the_interval_of_the_bootstrap() -> None:
    values = np.random.default_rng(4).random(50)
    clusters = np.arange(50) % 12
    for labels in (None, clusters):
        found = mean_draws(4 * values - 2, Resampling(100, 5), labels).difference()
        mean = bootstrap_mean(values, Resampling(100, 5), labels)
        assert [found.value, found.low, found.high] == pytest.approx(
            [4 * x - 2 for x in (mean.value, mean.low, mean.high)]
        )
    with pytest.raises(ValueError, match="values must be finite"):
        mean_draws([0.0, math.inf])


@pytest.mark.proof
def test_intervals_of_differences_stay_within_what_is_possible() -> None:
    # One model is surely wrong on a handful of instances, the other surely right: shifts would lead beyond 1.
    rng = np.random.default_rng(6)
    widest = 0.0
    for _ in range(20):
        wrong = rng.uniform(0.7, 1.0, 10), np.zeros(10)
        right = rng.uniform(0.7, 1.0, 10), rng.random(10) < 0.8
        found = paired_differences(BY_NAME.values(), {"a": wrong, "b": right}, [("a", "b"), ("b", "a")], Resampling(50))
        for own in found.values():
            for name in ("ace", "ece", "max_calibration_error", "smooth_ece", "brier", "accuracy", "auroc"):
                if not math.isnan(own[name].low):
                    assert -1 <= own[name].low <= own[name].value <= own[name].high <= 1, name
                    widest = max(widest, own[name].high)
    assert widest == 1.0
