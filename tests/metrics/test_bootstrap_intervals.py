"""The bootstrap against resamples written out, and its intervals against simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from confidence_samples import samples
from hypothesis import given
from hypothesis import strategies as st
from metric_functions import ON_ARRAYS
from proofs import few_of
from simulations import TRIALS, chance

from calprobe.metrics import (
    Resampling,
    bootstrap,
    bootstrap_mean,
    resamples,
    standard_metrics,
)
from calprobe.metrics.bins import Binning, bin_sample
from calprobe.metrics.bootstrap import draw_samples
from calprobe.metrics.intervals import SAME, Estimate, interval
from calprobe.metrics.metric import evaluate, is_resampled
from calprobe.metrics.ranking import AUROC
from calprobe.metrics.resamples import resample_counts
from calprobe.metrics.sample import sort_instances

BINNED = ("ace", "ace_weighted", "ece", "ece_15", "max_calibration_error", "debiased_ece", "brier_reliability")
SHIFTED = (*BINNED, "smooth_ece")


def test_every_metric_of_a_report_has_its_function() -> None:
    assert [metric.name for metric in standard_metrics() if is_resampled(metric)] == list(ON_ARRAYS)


@given(samples(), st.integers(0, 1000))
def test_metrics_of_counts_are_those_of_the_resample_written_out(
    sample: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    confidence, correct = sample
    (counts,) = resample_counts(len(confidence), Resampling(5, seed))
    found = evaluate(standard_metrics(), sort_instances(confidence, correct).resampled(counts))
    for row, count in enumerate(counts):
        drawn = np.repeat(np.arange(len(confidence)), count)
        for name, function in ON_ARRAYS.items():
            expected = function(confidence[drawn], correct[drawn]).value
            np.testing.assert_allclose(found[name][row], expected, rtol=1e-13, atol=1e-12, err_msg=name)


@given(samples(), st.sampled_from([2, 3, 20]))
def test_quantile_edges_of_a_resample_are_numpys_to_the_last_bit(
    sample: tuple[np.ndarray, np.ndarray], n_bins: int
) -> None:
    confidence, correct = sample
    (counts,) = resample_counts(len(confidence), Resampling(4))
    bins = bin_sample(sort_instances(confidence, correct).resampled(counts), Binning("quantile", n_bins))
    for edges, count in zip(bins.edges, counts, strict=True):
        expected = np.percentile(np.repeat(confidence, count), np.linspace(0, 1, n_bins + 1) * 100)
        assert edges.tolist() == expected.tolist()


def test_resamples_draw_every_instance_alike() -> None:
    counts = np.concatenate(list(resample_counts(50, Resampling(4000, seed=3))))
    assert counts.shape == (4000, 50)
    assert (counts.sum(axis=1) == 50).all()
    # Mean count 1 with variance 1 - 1/50 over 4,000 resamples: five standard errors are 0.078.
    assert np.abs(counts.mean(axis=0) - 1).max() < 0.078
    assert counts.var() == pytest.approx(1 - 1 / 50, abs=0.02)


def test_resamples_do_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = list(resample_counts(33, Resampling(100)))
    monkeypatch.setattr(resamples, "BLOCK_ENTRIES", 33 * 7)
    pieces = list(resample_counts(33, Resampling(100)))
    assert (len(complete), len(pieces)) == (1, 15)
    assert np.array_equal(np.concatenate(complete), np.concatenate(pieces))


def test_the_seed_decides() -> None:
    rng = np.random.default_rng(0)
    confidence, correct = rng.random(80), rng.random(80) < 0.5
    one, again, other = (bootstrap(standard_metrics(), confidence, correct, Resampling(50, seed)) for seed in (1, 1, 2))
    assert one == again
    assert one["brier"].value == other["brier"].value
    assert one["brier"].low != other["brier"].low


def test_estimates_are_equal_by_their_numbers_also_undefined_ones() -> None:
    nan = float("nan")
    assert Estimate(0.5, nan, -float("nan")) == Estimate(0.5)
    assert hash(Estimate(nan)) == hash(Estimate(-nan))
    assert Estimate(0.5) != Estimate(0.5, 0.4, 0.6)
    assert Estimate(0.5) != Estimate(nan)
    assert Estimate(0.5) != 0.5


def test_unbinned_metrics_get_plain_percentiles() -> None:
    rng = np.random.default_rng(1)
    confidence, correct = rng.random(60), rng.random(60) < 0.4
    found = bootstrap(standard_metrics(), confidence, correct, Resampling(200, 5))
    (counts,) = resample_counts(60, Resampling(200, 5))
    for name in ("accuracy", "mean_confidence", "brier", "auroc"):
        drawn = [np.repeat(np.arange(60), count) for count in counts]
        values = [ON_ARRAYS[name](confidence[i], correct[i]).value for i in drawn]
        assert (found[name].low, found[name].high) == pytest.approx(np.percentile(values, [2.5, 97.5]), abs=1e-12)


def test_binned_metrics_of_bad_calibration_are_shifted_by_the_bias() -> None:
    rng = np.random.default_rng(2)
    confidence = rng.uniform(0.4, 1, 300)
    correct = rng.random(300) < confidence - 0.35  # far from what calibration gives by chance
    found = bootstrap(standard_metrics(), confidence, correct, Resampling(200, 5))
    (counts,) = resample_counts(300, Resampling(200, 5))
    for name in SHIFTED:
        drawn = [np.repeat(np.arange(300), count) for count in counts]
        values = [ON_ARRAYS[name](confidence[i], correct[i]).value for i in drawn]
        bias = np.mean(values) - found[name].value
        low, high = np.percentile(values, [2.5, 97.5])
        assert bias > 0
        assert (found[name].low, found[name].high) == pytest.approx((low - 2 * bias, high - bias), abs=1e-12)


@pytest.mark.parametrize(
    "gap", few_of([0.0, 0.05, 0.2], lambda gap: gap == 0.2)
)  # none, of the size of the noise, large
def test_intervals_hold_the_value_and_cover_that_of_a_large_sample(gap: float) -> None:
    """Confidence exceeds the probability of being correct by `gap` everywhere: so errors of a large sample are `gap`.

    A plain percentile interval covers a gap of 0 never, and holds its own value in about half of the trials. The long
    form is bench/interval_coverage.py.
    """
    rng = np.random.default_rng([7, int(gap * 100)])
    truth = dict.fromkeys(("ace", "ece", "smooth_ece", "debiased_ece"), gap) | {"brier_reliability": gap**2}
    metrics = [metric for metric in standard_metrics() if metric.name in truth]
    covered = dict.fromkeys(truth, 0)
    for trial in range(TRIALS):
        confidence = rng.uniform(gap, 1, 600)
        correct = rng.random(600) < confidence - gap
        for name, found in bootstrap(metrics, confidence, correct, Resampling(100, trial)).items():
            assert 0 <= found.low <= found.value <= found.high <= 1
            covered[name] += found.low <= truth[name] <= found.high
    # A gap of the size of the noise, as 0.05 is here, costs more: 84 % is the least that the long form finds.
    rate = 0.84 if gap == 0.05 else 0.95
    assert min(covered.values()) / TRIALS >= rate - chance(rate) - 0.01, covered


@given(samples())
def test_intervals_of_binned_metrics_always_hold_their_value(sample: tuple[np.ndarray, np.ndarray]) -> None:
    metrics = [metric for metric in standard_metrics() if metric.name in SHIFTED]
    found = bootstrap(metrics, *sample, Resampling(20))
    draws = draw_samples(metrics, {"": sample}, Resampling(20), None)[""]
    for name in SHIFTED:
        own = found[name]
        if np.ptp(draws[name].resampled) < SAME:  # resamples that agree say nothing of other instances
            assert 0 <= own.value <= 1, name
            assert math.isnan(own.low), name
            assert math.isnan(own.high), name
        else:
            assert 0 <= own.low <= own.value <= own.high <= 1, name


def test_no_resamples_no_intervals() -> None:
    found = bootstrap(standard_metrics(), [0.5, 0.25], [True, False], Resampling(0))
    assert found["accuracy"].value == 0.5
    assert all(math.isnan(estimate.low) and math.isnan(estimate.high) for estimate in found.values())


def test_no_instances() -> None:
    found = bootstrap(standard_metrics(), [], [])
    assert all(math.isnan(number) for e in found.values() for number in (e.value, e.low, e.high))


def test_one_class_leaves_auroc_undefined_and_one_instance_is_all_there_is() -> None:
    found = bootstrap(standard_metrics(), [0.75], [True], Resampling(50))
    # All resamples agree: Clopper and Pearson's interval of 1 of 1, and none of what is no proportion.
    assert (found["accuracy"].low, found["accuracy"].high) == pytest.approx((0.025, 1))
    assert found["brier"].value == 0.0625
    assert math.isnan(found["brier"].low)
    assert math.isnan(found["brier"].high)
    assert math.isnan(found["auroc"].value)
    assert math.isnan(found["auroc"].low)


def test_resamples_of_one_class_are_left_out() -> None:
    # A resample of three instances is often of one class.
    samples = {"apart": ([0.2, 0.6, 0.4], [False, True, True]), "mixed": ([0.4, 0.6, 0.2], [False, True, True])}
    drawn = draw_samples([AUROC], samples, Resampling(100), None)
    # As if the outcomes were not too few for an interval.
    found = {name: interval(replace(draws["auroc"], ends=None)) for name, draws in drawn.items()}
    assert (found["mixed"].value, found["mixed"].low, found["mixed"].high) == (0.5, 0, 1)
    assert found["apart"].value == 1
    assert math.isnan(found["apart"].low)
    assert math.isnan(found["apart"].high)


def test_mean_of_shares() -> None:
    found = bootstrap_mean([1.0, 0.5, 0.0, 0.5], Resampling(500))
    assert found.value == 0.5
    assert found.low < 0.5 < found.high
    same = bootstrap_mean([0.2, 0.2])
    assert same.value == pytest.approx(0.2)
    assert math.isnan(same.low)
    assert math.isnan(same.high)
    assert math.isnan(bootstrap_mean([]).value)
    assert math.isnan(bootstrap_mean([0.5], Resampling(0)).low)


def test_mean_and_accuracy_share_their_resamples() -> None:
    correct = np.random.default_rng(3).random(40) < 0.3
    found = bootstrap(standard_metrics(), np.full(40, 0.5), correct, Resampling(100))["accuracy"]
    mean = bootstrap_mean(correct, Resampling(100))
    assert (mean.value, mean.low, mean.high) == pytest.approx((found.value, found.low, found.high))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1,), "n_resamples must be a whole number of at least 0; got -1"),
        ((10, -2), "seed must be a whole number of at least 0; got -2"),
    ],
)
def test_impossible_resampling_is_refused(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Resampling(*arguments)


def test_values_outside_their_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"values must lie in \[0, 1\] and not be NaN; got 2.0 at place 0"):
        bootstrap_mean([2.0])
