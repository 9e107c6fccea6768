"""Confidences that are a handful of values: how they are used, and ECE with a bin for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.metrics import Resampling, bootstrap, bootstrap_many, standard_metrics
from calprobe.metrics.bootstrap import Predictions
from calprobe.metrics.distinct import ECE_VALUES, ValueShares, ece_values, value_shares, value_use
from calprobe.metrics.intervals import interval
from calprobe.metrics.partial import draw_known


def test_use_of_values_by_hand() -> None:
    found = value_use([0.9] * 6 + [0.5] * 3 + [1.0])
    assert (found.instances, found.distinct, found.mode, found.mode_share) == (10, 3, 0.9, 0.6)
    assert found.entropy == pytest.approx(-(0.6 * np.log(0.6) + 0.3 * np.log(0.3) + 0.1 * np.log(0.1)))
    assert not found.constant


def test_rounding_makes_no_new_value() -> None:
    found = value_use([0.3, 1 - 0.7])
    assert found.distinct == 1
    assert found.constant
    assert found.entropy == 0
    assert not value_use([0.3]).constant  # one answer says nothing of it


def test_nothing_has_no_mode() -> None:
    found = value_use([])
    assert (found.instances, found.distinct) == (0, 0)
    assert np.isnan(found.mode)


@pytest.mark.parametrize("seed", range(3))
def test_ece_over_values_is_a_sum_over_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    confidence, correct = rng.integers(0, 11, 100) / 10, rng.random(100) < 0.4
    by_hand = sum(
        (confidence == value).mean() * abs(value - correct[confidence == value].mean())
        for value in np.unique(confidence)
    )
    assert ece_values(confidence, correct) == pytest.approx(by_hand)
    order = rng.permutation(100)
    assert ece_values(confidence[order], correct[order]) == pytest.approx(by_hand)
    assert ece_values(np.tile(confidence, 2), np.tile(correct, 2)) == pytest.approx(by_hand)
    found = bootstrap([ECE_VALUES], confidence, correct)["ece_values"]
    assert found.low <= found.value <= found.high


def test_ece_over_values_of_nothing_is_undefined() -> None:
    assert np.isnan(ece_values([], []))


def test_samples_without_gaps_have_the_numbers_of_the_bootstrap() -> None:
    rng = np.random.default_rng(5)
    samples = {name: (rng.integers(0, 11, 80) / 10, rng.random(80) < 0.5) for name in ("a", "b")}
    metrics = [own for own in standard_metrics() if own.name in ("brier", "ece", "auroc", "ace")]
    for clusters in (None, np.arange(80) % 20):
        known = draw_known(metrics, samples, Resampling(50), clusters)
        plain = bootstrap_many(metrics, samples, Resampling(50), clusters)
        for name, found in known.items():
            for metric in metrics:
                own, other = interval(found[metric.name], metric), plain[name][metric.name]
                numbers = (other.value, other.low, other.high)
                assert (own.value, own.low, own.high) == pytest.approx(numbers, abs=1e-12, nan_ok=True)


def test_samples_with_gaps_have_the_values_of_what_is_known() -> None:
    confidence, correct = np.array([0.9, np.nan, 0.2, 0.6]), np.array([True, True, False, False])
    (brier,) = [own for own in standard_metrics() if own.name == "brier"]
    found = draw_known([brier], {"some": (confidence, correct), "none": (np.full(4, np.nan), correct)}, Resampling(200))
    assert found["some"]["brier"].value == pytest.approx((0.01 + 0.04 + 0.36) / 3)
    assert np.isfinite(found["some"]["brier"].resampled).mean() > 0.95  # 1/256 of the resamples hold none of the three
    assert np.isnan(found["none"]["brier"].value)
    assert np.isnan(found["none"]["brier"].resampled).all()


@pytest.mark.parametrize("more", [{"b": ([0.5], [True])}, {"b": ([0.5, np.nan], [True])}])
def test_samples_of_other_instances_are_refused(more: dict[str, Predictions]) -> None:
    with pytest.raises(ValueError, match=r"must be of the same instances; got \[1, 2\]"):
        draw_known(standard_metrics(), {"a": ([0.5, 0.6], [True, False]), **more})


def test_shares_of_values_and_how_many_are_rare() -> None:
    found = value_shares([0.3, 1 - 0.7] * 5 + [0.9] * 9 + [1.0], least=0.1)  # 0.3 and 1 - 0.7 differ by rounding
    assert found.values == pytest.approx((0.3, 0.9))
    assert (found.shares, found.rare, found.others) == ((0.5, 0.45), 1, 0.05)
    assert value_shares([]) == ValueShares((), (), 0, 0.0)


@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), min_size=1), st.floats(0, 1))
def test_shares_of_values_and_others_add_up_to_1(values: list[float], least: float) -> None:
    found, use = value_shares(values, least), value_use(values)
    assert sum(found.shares) + found.others == pytest.approx(1)
    assert len(found.values) + found.rare == use.distinct
    assert all(share >= least for share in found.shares)
    assert (use.mode in found.values) == (use.mode_share >= least)
