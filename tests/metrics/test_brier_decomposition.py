"""The Brier score's terms against plain loops, and that they add up to it."""

from __future__ import annotations

import numpy as np
import pytest
from confidence_samples import samples
from hypothesis import given
from hypothesis import strategies as st

from calprobe.metrics import BrierDecomposition, ace, brier, brier_decomposition
from calprobe.metrics.metric import evaluate
from calprobe.metrics.sample import sort_instances
from calprobe.metrics.scoring_rules import decomposition_metrics

METRICS = ("brier_reliability", "brier_resolution", "brier_uncertainty", "brier_within_bins")


def by_definition(confidence: np.ndarray, correct: np.ndarray, n_bins: int) -> list[float]:
    """Reliability, resolution, uncertainty, variance and covariance, instance by instance; bins as scikit-learn's."""
    inner = np.percentile(confidence, np.linspace(0, 1, n_bins + 1) * 100)[1:-1]
    n, overall = len(confidence), sum(correct) / len(correct)
    reliability = resolution = variance = covariance = 0.0
    for b in range(n_bins):
        inside = [i for i, value in enumerate(confidence) if sum(edge < value for edge in inner) == b]
        if not inside:
            continue
        mean, share = sum(confidence[inside]) / len(inside), sum(correct[inside]) / len(inside)
        reliability += len(inside) / n * (mean - share) ** 2
        resolution += len(inside) / n * (share - overall) ** 2
        for i in inside:
            variance += (confidence[i] - mean) ** 2 / n
            covariance += 2 * (confidence[i] - mean) * (float(correct[i]) - share) / n
    return [reliability, resolution, overall * (1 - overall), variance, covariance]


def terms(found: BrierDecomposition) -> list[float]:
    between = [found.reliability, found.resolution, found.uncertainty]
    return [*between, found.within_bin_variance, found.within_bin_covariance]


@given(samples(), st.sampled_from([1, 2, 7, 20]))
def test_terms_are_what_their_definitions_say(sample: tuple[np.ndarray, np.ndarray], n_bins: int) -> None:
    found = brier_decomposition(*sample, n_bins)
    np.testing.assert_allclose(terms(found), by_definition(*sample, n_bins), rtol=0, atol=1e-12)


@given(samples(), st.sampled_from([1, 2, 7, 20]))
def test_terms_add_up_to_the_brier_score(sample: tuple[np.ndarray, np.ndarray], n_bins: int) -> None:
    found = brier_decomposition(*sample, n_bins)
    expected = brier(*sample).value
    assert found.brier == pytest.approx(expected, abs=1e-12)
    between = found.reliability - found.resolution + found.uncertainty
    assert between + found.within_bins == pytest.approx(expected, abs=1e-12)
    assert 0 <= found.resolution <= found.uncertainty + 1e-12


@pytest.mark.parametrize("decimals", [1, 2, 16])
def test_terms_of_many_instances_add_up(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    confidence = rng.beta(0.5, 2, 20_001).round(decimals)
    correct = rng.random(20_001) < confidence**2
    assert brier_decomposition(confidence, correct).brier == pytest.approx(brier(confidence, correct).value, abs=1e-12)


@given(samples(), st.sampled_from([1, 20]))
def test_metrics_are_the_terms(sample: tuple[np.ndarray, np.ndarray], n_bins: int) -> None:
    metrics = decomposition_metrics(n_bins)
    assert tuple(metric.name for metric in metrics) == METRICS
    assert [metric.biased for metric in metrics] == [True, False, False, False]
    values = evaluate(metrics, sort_instances(*sample).sample())
    found = brier_decomposition(*sample, n_bins)
    expected = [found.reliability, found.resolution, found.uncertainty, found.within_bins]
    np.testing.assert_allclose([values[name][0] for name in METRICS], expected, rtol=0, atol=1e-12)


def test_bins_are_those_of_ace() -> None:
    confidence, correct = np.linspace(0, 1, 57), np.arange(57) % 3 == 0
    found = ace(confidence, correct).bins
    assert found is not None
    bins = brier_decomposition(confidence, correct).bins
    np.testing.assert_array_equal(bins.edges, found.edges)
    np.testing.assert_array_equal(bins.count, found.count)


def test_by_hand() -> None:
    # Two bins, (0.1, 0.3, 0.6) with two right and (0.8, 0.8) with one right; three of five in all.
    found = brier_decomposition([0.1, 0.3, 0.6, 0.8, 0.8], [False, True, True, True, False], n_bins=2)
    assert found.bins.count.tolist() == [3, 2]  # the median goes to the lower one
    mean, share = np.array([1 / 3, 0.8]), np.array([2 / 3, 0.5])
    weight = np.array([0.6, 0.4])
    assert found.reliability == pytest.approx(weight @ (mean - share) ** 2, abs=1e-15)
    assert found.resolution == pytest.approx(weight @ (share - 0.6) ** 2, abs=1e-15)
    assert found.uncertainty == pytest.approx(0.24, abs=1e-15)
    away, apart = np.array([0.1, 0.3, 0.6]) - 1 / 3, np.array([0, 1, 1]) - 2 / 3
    assert found.within_bin_variance == pytest.approx(away @ away / 5, abs=1e-15)
    assert found.within_bin_covariance == pytest.approx(2 * away @ apart / 5, abs=1e-15)
    assert found.brier == pytest.approx((0.01 + 0.49 + 0.16 + 0.04 + 0.64) / 5, abs=1e-15)


def test_ties_leave_nothing_within_bins() -> None:
    found = brier_decomposition(np.repeat([0.0, 0.2, 0.4, 1.0], 5), np.arange(20) % 2 == 0)
    assert found.within_bin_variance == pytest.approx(0, abs=1e-30)
    assert found.within_bin_covariance == pytest.approx(0, abs=1e-15)


def test_few_instances() -> None:
    nothing = brier_decomposition([], [])
    assert np.isnan([*terms(nothing), nothing.within_bins, nothing.brier]).all()
    assert nothing.bins.count.tolist() == [0] * 20
    assert terms(brier_decomposition([0.25], [True])) == [0.5625, 0, 0, 0, 0]
    one_class = brier_decomposition([0.0, 0.0, 1.0], [True, True, True], n_bins=2)
    assert (one_class.resolution, one_class.uncertainty, one_class.within_bins) == (0, 0, 0)
    assert one_class.reliability == pytest.approx(2 / 3)


@pytest.mark.parametrize(("confidence", "message"), [([1.5], r"\[0, 1\]"), ([float("nan")], "not be NaN")])
def test_what_is_no_confidence_is_refused(confidence: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        brier_decomposition(confidence, [True])
    with pytest.raises(ValueError, match="n_bins must be a whole number of at least 1; got 0"):
        brier_decomposition([0.5], [True], 0)
