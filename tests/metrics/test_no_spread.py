"""Intervals where resamples agree, or few answers are right or wrong: exact ones of proportions, none of orders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from calprobe.metrics import (
    PairedDraws,
    Resampling,
    bootstrap,
    bootstrap_mean,
    mean_draws,
    paired_differences,
    standard_metrics,
)
from calprobe.metrics.bootstrap import draw_samples, draw_share
from calprobe.metrics.intervals import FEW, interval, mean_beyond
from calprobe.metrics.partial import draw_known
from calprobe.metrics.ranking import AUROC
from calprobe.metrics.scoring_rules import ACCURACY, CONFIDENCE_GAP

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


@pytest.mark.parametrize(("right", "n"), [(1, 60), (9, 60), (59, 60), (9, 5000), (3, 8)])
def test_an_accuracy_with_few_right_or_wrong_answers_has_its_exact_interval(right: int, n: int) -> None:
    correct = np.arange(n) < right
    exact = binomtest(right, n).proportion_ci(0.95, "exact")
    sure = np.linspace(0.5, 1, n)
    partly = draw_known([ACCURACY], {"": (np.append(sure, np.nan), np.append(correct, True))}, QUICK)[""]["accuracy"]
    for found in (
        bootstrap([ACCURACY], sure, correct, QUICK)["accuracy"],
        bootstrap_mean(correct, QUICK),
        interval(partly, ACCURACY),
    ):
        assert (found.value, found.low, found.high) == pytest.approx((right / n, exact.low, exact.high))
    assert math.isnan(bootstrap_mean(correct, Resampling(0)).low)


def test_of_many_right_and_wrong_answers_of_clusters_and_of_shares_resamples_make_the_interval() -> None:
    for values, clusters in (
        (np.arange(60) < FEW, None),
        (np.arange(60) < 5, np.arange(60) // 2),
        (np.append(np.zeros(59), 0.5), None),
    ):
        found, draws = bootstrap_mean(values, QUICK, clusters), mean_draws(values, QUICK, clusters)
        assert (found.low, found.high) == pytest.approx(tuple(np.percentile(draws.resampled, (2.5, 97.5))))


@pytest.mark.parametrize("right", [FEW - 1, FEW, 60 - FEW, 60 - FEW + 1])
def test_the_order_of_few_right_or_wrong_answers_has_a_value_and_no_interval(right: int) -> None:
    sure, correct = np.random.default_rng(0).random(60), np.arange(60) < right
    few = min(right, 60 - right) < FEW
    for clusters in (None, np.arange(60)):
        found = bootstrap(standard_metrics(), sure, correct, QUICK, clusters)
        for name in ("auroc", "aurc", "e_aurc", "augrc", "prr"):
            assert not math.isnan(found[name].value)
            assert math.isnan(found[name].low) == few, name
        assert not math.isnan(found["brier"].low)
    pairs = np.tile(np.arange(30), 2)  # a cluster counts once for each outcome
    assert math.isnan(bootstrap(standard_metrics(), sure, np.arange(60) % 30 < FEW - 1, QUICK, pairs)["auroc"].low)
    partly = draw_known([AUROC], {"": (np.append(sure, np.nan), np.append(correct, True))}, QUICK)[""]["auroc"]
    assert math.isnan(interval(partly, AUROC).low) == few


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


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("clusters", [None, np.repeat(np.arange(12), 3)])
def test_some_of_all_answers_have_the_intervals_of_these_alone(right: bool, clusters: np.ndarray | None) -> None:
    """Of 36 answers, those of the first ten clusters have a confidence."""
    confidence = np.where(np.arange(36) < 30, 0.7, np.nan)
    correct = np.full(36, right)
    draws = draw_known([ACCURACY, CONFIDENCE_GAP], {"": (confidence, correct)}, QUICK, clusters)[""]
    alone = None if clusters is None else clusters[:30]
    expected = bootstrap([ACCURACY, CONFIDENCE_GAP], confidence[:30], correct[:30], QUICK, alone)
    for name, estimate in expected.items():
        found = interval(draws[name])
        assert (found.value, found.low, found.high) == pytest.approx((estimate.value, estimate.low, estimate.high))
        assert found.low < found.high


@pytest.mark.parametrize("right", [True, False])
def test_a_gap_is_told_from_0_where_its_interval_leaves_it_out(right: bool) -> None:
    for n, confidence in ((12, 0.9), (12, 0.1), (36, 0.5)):
        sample = {"": (np.full(n, confidence), np.full(n, right))}
        draws = draw_samples([CONFIDENCE_GAP], sample, QUICK, None)[""]["confidence_gap"]
        difference = PairedDraws.from_0(draws).difference()
        estimate = interval(draws)
        assert (difference.value, difference.low, difference.high) == (estimate.value, estimate.low, estimate.high)
        assert (difference.p_value < 0.05) == (not difference.low <= 0 <= difference.high)


def test_a_difference_that_no_resample_moves_has_no_interval() -> None:
    """Also where rounding moves it: differences of tenths are .18 but for their last digits."""
    right = np.arange(40) % 2 == 0
    samples = {"one": (np.tile([0.3, 0.98], 20), right), "other": (np.tile([0.12, 0.8], 20), right)}
    found = paired_differences(standard_metrics(), samples, [("one", "other")], QUICK)["one", "other"]
    assert found["mean_confidence"].value == pytest.approx(0.18)
    for name in ("accuracy", "mean_confidence", "confidence_gap"):
        assert math.isnan(found[name].low), name
    assert found["mean_confidence"].p_value < 0.05
    samples = {"one": (np.full(40, 0.8), np.ones(40, bool)), "other": (np.full(40, 0.8), np.zeros(40, bool))}
    found = paired_differences(standard_metrics(), samples, [("one", "other")], QUICK)["one", "other"]
    for name in ("accuracy", "ace", "ece", "brier", "brier_reliability", "smooth_ece"):
        assert math.isnan(found[name].low), name
        assert math.isnan(found[name].high), name
        assert found[name].p_value < 0.05, name
    assert math.isnan(mean_draws(0.5 + 1e-7 * np.arange(20) / 20, QUICK).difference().low)


@pytest.mark.parametrize("trials", [[4], [3] * 20, [1, 2, 50]])
def test_a_mean_over_groups_has_the_least_accuracy_that_could_give_right_answers_alone(trials: list[int]) -> None:
    draws = [draw_share(np.ones(n), QUICK, None) for n in trials]
    below, above = mean_beyond(draws)
    shares = np.random.default_rng(1).dirichlet(np.full(len(trials), 0.3), 4000)
    means = (0.025 ** (shares / trials)).mean(axis=1)  # all of them give only right answers in 2.5 % of samples
    assert above == 0
    assert -1e-12 < means.min() - (1 - below) < 0.05
    if len(set(trials)) == 1:  # then as if all were of one group
        assert 1 - below == pytest.approx(binomtest(sum(trials), sum(trials)).proportion_ci(0.95, "exact").low)
