"""Metrics of distributions against scikit-learn, plain loops and sums done by hand."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_functions import ON_DISTRIBUTIONS, Forecast, drawn
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from calprobe.metrics import MetricResult, brier_mean, brier_sum, multiclass_metrics, static_calibration_error
from calprobe.metrics.bins import Binning, bin_sample
from calprobe.metrics.forecasts import check_forecasts
from calprobe.metrics.sample import sort_instances


@st.composite
def forecasts(draw: st.DrawFn) -> Forecast:
    """One to thirty instances of 1 to 8 candidates; weights are small whole numbers, so that ties and edges occur."""
    widths = draw(st.lists(st.integers(1, 8), min_size=1, max_size=30))
    pieces, answers = [], []
    for width in widths:
        weights = np.array(draw(st.lists(st.integers(0, 15), min_size=width, max_size=width).filter(any)))
        pieces.append(weights / weights.sum())
        answers.append(draw(st.integers(0, width - 1)))
    return np.concatenate(pieces), np.concatenate([[0], np.cumsum(widths)]), np.array(answers)


def by_instance(forecast: Forecast) -> list[tuple[np.ndarray, np.ndarray]]:
    """Probabilities and one-hot answers of each instance."""
    probabilities, offsets, answers = forecast
    return [
        (probabilities[start:end], (np.arange(end - start) == answer).astype(float))
        for start, end, answer in zip(offsets[:-1], offsets[1:], answers, strict=True)
    ]


@given(forecasts())
def test_briers_are_those_of_a_plain_loop(forecast: Forecast) -> None:
    errors = [(p - y) ** 2 for p, y in by_instance(forecast)]
    assert brier_sum(*forecast).value == pytest.approx(np.mean([e.sum() for e in errors]), abs=1e-12)
    assert brier_mean(*forecast).value == pytest.approx(np.mean([e.mean() for e in errors]), abs=1e-12)


@given(forecasts(), st.sampled_from([1, 2, 10, 15]))
def test_static_calibration_error_is_that_of_a_plain_loop(forecast: Forecast, n_bins: int) -> None:
    inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    gaps, pairs = np.zeros(n_bins), 0
    for p, y in by_instance(forecast):
        for probability, truth in zip(p, y, strict=True):
            gaps[sum(edge < probability for edge in inner)] += probability - truth
            pairs += 1
    found = static_calibration_error(*forecast, n_bins)
    assert found.value == pytest.approx(np.abs(gaps).sum() / pairs, abs=1e-12)
    assert found.bins is not None
    assert found.bins.count.sum() == pairs


@pytest.mark.parametrize("width", [2, 3, 25])
def test_scikit_learn_agrees_where_all_answer_spaces_are_of_one_size(width: int) -> None:
    forecast = drawn(np.random.default_rng(width), np.full(400, width), 0.3)
    probabilities, _, answers = forecast
    table = probabilities.reshape(-1, width)
    complete = brier_score_loss(answers, table, labels=range(width), scale_by_half=False)
    assert brier_sum(*forecast).value == pytest.approx(complete, abs=1e-12)
    by_class = [brier_score_loss(answers == k, table[:, k]) for k in range(width)]  # as lm-pub-quiz does it
    assert brier_mean(*forecast).value == pytest.approx(np.mean(by_class), abs=1e-12)
    truths = (answers[:, None] == np.arange(width)).ravel()
    share, mean = calibration_curve(truths, probabilities, n_bins=15)
    count = np.histogram(np.searchsorted(np.linspace(0, 1, 16)[1:-1], probabilities), np.arange(16))[0]
    expected = np.abs(share - mean) @ count[count > 0] / len(probabilities)
    assert static_calibration_error(*forecast).value == pytest.approx(expected, abs=1e-12)


@given(forecasts())
def test_sums_over_instances_give_the_values_of_the_functions(forecast: Forecast) -> None:
    checked = check_forecasts(*forecast)
    for metric in multiclass_metrics():
        assert metric.value(checked) == pytest.approx(ON_DISTRIBUTIONS[metric.name](*forecast).value, abs=1e-12)


def test_every_metric_of_a_report_has_its_function() -> None:
    assert [metric.name for metric in multiclass_metrics()] == list(ON_DISTRIBUTIONS)
    assert [metric.biased for metric in multiclass_metrics()] == [False, False, True]


def test_bins_are_those_of_the_pooled_pairs() -> None:
    forecast = drawn(np.random.default_rng(0), np.array([2, 5, 9, 1] * 20), 0.4)
    hits = np.concatenate([y for _, y in by_instance(forecast)])
    expected = bin_sample(sort_instances(forecast[0], hits).sample(), Binning("width", 15)).row(0)
    bins = static_calibration_error(*forecast).bins
    assert bins is not None
    np.testing.assert_array_equal(bins.count, expected.count)
    np.testing.assert_array_equal(bins.accuracy, expected.accuracy)


def test_by_hand() -> None:
    # Two instances: (0.5, 0.25, 0.25), right at its head, and (0.125, 0.875), wrong at its head.
    forecast = [0.5, 0.25, 0.25, 0.125, 0.875], [0, 3, 5], [0, 0]
    first, second = 0.25 + 2 * 0.0625, 2 * 0.875**2
    assert brier_sum(*forecast).value == pytest.approx((first + second) / 2, abs=1e-15)
    assert brier_mean(*forecast).value == pytest.approx((first / 3 + second / 2) / 2, abs=1e-15)
    # Bins of 1/15: 0.125 (right) in the second, twice 0.25 (wrong) in the fourth, 0.5 (right), 0.875 (wrong).
    found = static_calibration_error(*forecast)
    assert found.value == pytest.approx((0.875 + 2 * 0.25 + 0.5 + 0.875) / 5, abs=1e-15)
    assert found.bins is not None
    assert found.bins.count.tolist() == [0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0]


def test_extremes() -> None:
    sure = [1.0, 0.0, 0.0, 1.0], [0, 2, 4]
    for metric in ON_DISTRIBUTIONS.values():
        assert metric(*sure, [0, 1]).value == 0
    assert brier_sum(*sure, [1, 0]).value == 2
    assert brier_mean(*sure, [1, 0]).value == 1
    assert static_calibration_error(*sure, [1, 0]).value == 1
    uniform = np.full(25, 1 / 25), [0, 25], [3]
    assert brier_sum(*uniform).value == pytest.approx(1 - 1 / 25)
    assert brier_mean(*uniform).value == pytest.approx(24 / 25**2)
    assert static_calibration_error(*uniform).value == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("metric", ON_DISTRIBUTIONS.values(), ids=ON_DISTRIBUTIONS)
def test_a_single_candidate_says_nothing(metric: Callable[..., MetricResult]) -> None:
    assert metric([1.0], [0, 1], [0]).value == 0


@pytest.mark.parametrize("metric", ON_DISTRIBUTIONS.values(), ids=ON_DISTRIBUTIONS)
def test_failed_instances_are_left_out(metric: Callable[..., MetricResult]) -> None:
    nan = float("nan")
    without = metric([0.25, 0.75, 0.5, 0.25, 0.25], [0, 2, 5], [0, 2])
    failed = metric([nan, nan, nan, 0.25, 0.75, nan, 0.5, 0.25, 0.25], [0, 3, 5, 6, 9], [1, 0, 0, 2])
    assert failed.value == without.value
    assert np.isnan(metric([nan, nan], [0, 2], [1]).value)


@pytest.mark.parametrize("metric", ON_DISTRIBUTIONS.values(), ids=ON_DISTRIBUTIONS)
def test_no_instances_leave_every_metric_undefined(metric: Callable[..., MetricResult]) -> None:
    assert np.isnan(metric([], [0], []).value)


def test_float32_probabilities_pass() -> None:
    probabilities, offsets, answers = drawn(np.random.default_rng(1), np.full(50, 60), 0.1)
    exact = brier_sum(probabilities, offsets, answers).value
    assert brier_sum(probabilities.astype(np.float32), offsets, answers).value == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("metric", ON_DISTRIBUTIONS.values(), ids=ON_DISTRIBUTIONS)
@pytest.mark.parametrize(
    ("probabilities", "offsets", "answer_idx", "message"),
    [
        ([1.5, -0.5], [0, 2], [0], "probabilities must lie in [0, 1] and not be NaN; got 1.5 at place 0"),
        ([0.5, np.nan, 0.5], [0, 1, 3], [0, 0], "probabilities must lie in [0, 1] and not be NaN; got nan at place 1"),
        ([1, 0.5, 0.4], [0, 1, 3], [0, 0], "probabilities must sum to 1; those of instance 1 sum to 0.9"),
        ([np.nan, 0.5], [0, 1, 2], [0, 0], "probabilities must sum to 1; those of instance 1 sum to 0.5"),
        ([[1.0]], [0, 1], [0], "probabilities must have one dimension, [candidates]; got shape (1, 1)"),
        (["a"], [0, 1], [0], "probabilities must be an array of numbers; got ['a']"),
        ([0.5, 0.5], [0, 1], [0], "offsets must go from 0 to the number of candidates, 2; got [0 1]"),
        ([0.5, 0.5], [1, 2], [0], "offsets must go from 0 to the number of candidates, 2; got [1 2]"),
        ([], [], [], "offsets must go from 0 to the number of candidates, 0; got []"),
        ([1.0], [0, 1, 1], [0, 0], "offsets must give each instance at least one candidate; instance 1 has none"),
        ([0.5, 0.5], [0, 0.5, 2], [0, 0], "offsets must be whole numbers; got 0.5 at place 1"),
        ([0.5, 0.5], [0, 2], [2], "answer_idx must be a place among the instance's candidates; got 2 at place 0"),
        ([0.5, 0.5], [0, 2], [-1], "answer_idx must be a place among the instance's candidates; got -1 at place 0"),
        ([0.5, 0.5], [0, 2], [0.5], "answer_idx must be whole numbers; got 0.5 at place 0"),
        ([0.5, 0.5], [0, 2], [np.inf], "answer_idx must be whole numbers; got inf at place 0"),
        ([0.5, 0.5], [0, 2], [0, 1], "answer_idx must have an entry for each of 1 instances; got 2"),
    ],
)  # fmt: skip
def test_what_is_no_distribution_is_refused(
    metric: Callable[..., MetricResult], probabilities: list, offsets: list, answer_idx: list, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        metric(probabilities, offsets, answer_idx)


def test_impossible_number_of_bins_is_refused() -> None:
    with pytest.raises(ValueError, match="n_bins must be a whole number of at least 1; got 0"):
        static_calibration_error([1.0], [0, 1], [0], n_bins=0)
