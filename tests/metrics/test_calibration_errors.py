"""ACE and ECE against scikit-learn and against sums done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from confidence_samples import samples
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from calprobe.metrics import MetricResult, ace, ace_weighted, ece, max_calibration_error

BINNED = (ace, ace_weighted, ece, max_calibration_error)


def sklearn_gaps(confidence: np.ndarray, correct: np.ndarray, n_bins: int, strategy: str) -> np.ndarray:
    """|mean confidence - accuracy| of the non-empty bins."""
    # Both labels are named, so that one class is no obstacle; it changes nothing in the bins.
    accuracy, mean = calibration_curve(correct, confidence, n_bins=n_bins, strategy=strategy, pos_label=True)
    return np.abs(accuracy - mean)


@given(samples(), st.sampled_from([1, 2, 3, 7, 10, 20, 100]))
@example((np.arange(21) / 20, np.arange(21) % 2 == 0), 20)  # every quantile falls on a value
def test_ace_is_that_of_scikit_learn(sample: tuple[np.ndarray, np.ndarray], n_bins: int) -> None:
    confidence, correct = sample
    expected = sklearn_gaps(confidence, correct, n_bins, "quantile").mean()
    assert ace(confidence, correct, n_bins).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_instances", [20, 21, 41, 101, 7731, 20_001])
@pytest.mark.parametrize("decimals", [1, 2, 16])
def test_ace_of_many_instances_is_that_of_scikit_learn(n_instances: int, decimals: int) -> None:
    rng = np.random.default_rng([n_instances, decimals])
    confidence = rng.beta(0.5, 2, n_instances).round(decimals)
    correct = rng.random(n_instances) < confidence**2
    expected = sklearn_gaps(confidence, correct, 20, "quantile").mean()
    assert ace(confidence, correct).value == pytest.approx(expected, abs=1e-12)


@given(samples(), st.sampled_from([1, 3, 10, 15]))
def test_largest_gap_is_that_of_scikit_learn(sample: tuple[np.ndarray, np.ndarray], n_bins: int) -> None:
    confidence, correct = sample
    expected = sklearn_gaps(confidence, correct, n_bins, "uniform").max()
    assert max_calibration_error(confidence, correct, n_bins).value == pytest.approx(expected, abs=1e-12)


@given(samples(), st.sampled_from([1, 3, 10, 15]))
def test_ece_weighs_bins_by_their_instances(sample: tuple[np.ndarray, np.ndarray], n_bins: int) -> None:
    confidence, correct = sample
    inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    expected = 0.0
    for b in range(n_bins):
        inside = [i for i, value in enumerate(confidence) if sum(edge < value for edge in inner) == b]
        if inside:
            gap = abs(sum(confidence[inside]) / len(inside) - sum(correct[inside]) / len(inside))
            expected += len(inside) / len(confidence) * gap
    assert ece(confidence, correct, n_bins).value == pytest.approx(expected, abs=1e-12)


@given(samples(), st.sampled_from([1, 2, 7, 20]))
def test_weighted_ace_weighs_its_bins_by_their_instances(sample: tuple[np.ndarray, np.ndarray], n_bins: int) -> None:
    confidence, correct = sample
    inner = np.percentile(confidence, np.linspace(0, 1, n_bins + 1) * 100)[1:-1]
    expected = 0.0
    for b in range(n_bins):
        inside = [i for i, value in enumerate(confidence) if sum(edge < value for edge in inner) == b]
        if inside:
            gap = abs(sum(confidence[inside]) / len(inside) - sum(correct[inside]) / len(inside))
            expected += len(inside) / len(confidence) * gap
    assert ace_weighted(confidence, correct, n_bins).value == pytest.approx(expected, abs=1e-12)


def test_ece_by_hand() -> None:
    # Ten bins: (0.0 | 0.05 | 0.1) in the first, 0.15 in the second, (0.95 | 1.0) in the last.
    confidence = [0.0, 0.05, 0.1, 0.15, 0.95, 1.0]
    correct = [False, False, True, False, True, False]
    found = ece(confidence, correct)
    assert found.bins is not None
    assert found.bins.count.tolist() == [3, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    gaps = [abs(0.05 - 1 / 3), 0.15, abs(0.975 - 0.5)]
    assert found.value == pytest.approx((3 * gaps[0] + gaps[1] + 2 * gaps[2]) / 6, abs=1e-15)
    assert max_calibration_error(confidence, correct).value == pytest.approx(0.475, abs=1e-15)


def test_ece_of_fifteen_bins_by_hand() -> None:
    found = ece([0.0, 0.07, 1.0, 0.94], [True, False, True, True], n_bins=15)
    assert found.bins is not None
    assert found.bins.count.tolist() == [1, 1, *[0] * 12, 2]
    assert found.value == pytest.approx((1 + 0.07 + 2 * 0.03) / 4, abs=1e-15)


@pytest.mark.parametrize("decimals", [12, 16])
def test_shares_on_the_edge_of_a_bin_go_to_the_lower_one_however_they_are_rounded(decimals: int) -> None:
    """Of three samples: 1/3 and 2/3 end bins 5 and 10 of fifteen; each shares its bin with a value below it."""
    confidence = np.array([1 / 3, 0.3, 2 / 3, 0.63]).round(decimals)  # at twelve decimals 2/3 lies above its edge
    correct = [True, False, True, False]
    assert [int(n) for n in ece(confidence, correct, 15).bins.count if n] == [2, 2]
    expected = (abs(1 / 3 + 0.3 - 1) + abs(2 / 3 + 0.63 - 1)) / 4
    assert ece(confidence, correct, 15).value == pytest.approx(expected, abs=1e-11)


def test_certain_and_impossible_land_in_the_outer_bins() -> None:
    for metric in BINNED:
        found = metric([0.0, 1.0], [False, True])
        assert found.bins is not None
        assert (found.value, found.bins.count[0], found.bins.count[-1]) == (0, 1, 1)


def test_ties_make_ace_and_its_weighted_form_differ() -> None:
    # Five levels of a vote: the quantile bins collapse to one a level, of 4, 3, 1, 1 and 1 instances.
    confidence = np.repeat([0.2, 0.4, 0.6, 0.8, 1.0], [4, 3, 1, 1, 1])
    correct = np.array([1, 0, 0, 0, 1, 0, 0, 0, 1, 1], bool)
    gaps = np.array([0.05, 0.4 - 1 / 3, 0.6, 0.2, 0.0])
    assert ace(confidence, correct).value == pytest.approx(gaps.mean(), abs=1e-15)
    assert ace_weighted(confidence, correct).value == pytest.approx(gaps @ [4, 3, 1, 1, 1] / 10, abs=1e-15)


@given(samples(least=2))
def test_bins_hold_what_the_value_is_made_of(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample
    bins = ace(confidence, correct).bins
    assert bins is not None
    filled = bins.count > 0
    assert bins.count.sum() == len(confidence)
    assert np.isnan(bins.accuracy[~filled]).all()
    assert (bins.gap[~filled] == 0).all()
    assert bins.gap[filled].mean() == pytest.approx(ace(confidence, correct).value, abs=1e-15)
    assert bins.edges[[0, -1]].tolist() == [confidence.min(), confidence.max()]
    assert (bins.count @ np.nan_to_num(bins.accuracy)) == pytest.approx(correct.sum())


@given(samples())
def test_order_of_instances_does_not_matter(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample
    for metric in BINNED:
        there, back = metric(confidence, correct).value, metric(confidence[::-1], correct[::-1]).value
        assert there == pytest.approx(back, abs=1e-14)


@pytest.mark.parametrize("metric", BINNED)
def test_few_instances(metric: object) -> None:
    assert callable(metric)
    assert np.isnan(metric([], []).value)
    assert metric([0.3], [True]).value == pytest.approx(0.7)
    one_class: MetricResult = metric([0.25, 0.25], [False, False])
    assert (one_class.value, float(one_class)) == (0.25, 0.25)


def test_a_million_ties_keep_their_digits() -> None:
    confidence = np.full(1_000_000, 0.1)
    assert ace(confidence, np.arange(1_000_000) % 10 == 0).value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n_bins", [0, -1, 2.0, True])
def test_impossible_number_of_bins_is_refused(n_bins: object) -> None:
    with pytest.raises(ValueError, match=f"n_bins must be a whole number of at least 1; got {n_bins}"):
        ace([0.5], [True], n_bins)  # type: ignore[arg-type]
