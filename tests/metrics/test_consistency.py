"""Deviation of confidences over prompts: by hand, its maximum by all corners, properties; means that miss values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from calprobe.metrics import Resampling
from calprobe.metrics.consistency import answer_deviations, largest_deviation
from calprobe.metrics.intervals import Draws, interval
from calprobe.metrics.known_means import known_mean, mean_over_sets


def test_deviations_are_the_papers_equation() -> None:
    confidence = np.random.default_rng(1).random((4, 30))
    mean = confidence.mean(axis=0)
    by_hand = np.sqrt(((confidence - mean) ** 2).sum(axis=0) / 3)
    assert answer_deviations(confidence) == pytest.approx(by_hand)


@pytest.mark.parametrize(("k", "largest"), [(2, 0.7071), (3, 0.5774), (10, 0.5270)])
def test_the_largest_deviation_is_that_of_the_worst_corner(k: int, largest: float) -> None:
    corners = np.array(list(product([0.0, 1.0], repeat=k))).T
    assert answer_deviations(corners).max() == pytest.approx(largest_deviation(k))
    assert largest_deviation(k) == pytest.approx(largest, abs=5e-5)
    inside = np.random.default_rng(k).random((k, 2000))
    assert answer_deviations(inside).max() < largest_deviation(k)


def test_one_prompt_has_no_deviation() -> None:
    assert np.isnan(answer_deviations([[0.2, 0.4]])).all()
    assert np.isnan(largest_deviation(1))


def test_equal_confidences_deviate_by_exactly_0() -> None:
    assert answer_deviations(np.full((3, 2), 0.1)).tolist() == [0.0, 0.0]


def test_an_answer_without_one_of_the_confidences_is_left_out() -> None:
    found = answer_deviations([[0.1, 0.9], [0.1, np.nan]])
    assert found[0] == 0
    assert np.isnan(found[1])
    assert known_mean(found[None]).value == 0


def test_confidences_beyond_the_scale_are_refused() -> None:
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        answer_deviations([[0.5], [1.5]])


def test_a_mean_of_known_values_is_the_mean_of_the_rows_means() -> None:
    values = np.array([[0.0, 1.0, np.nan, np.nan], [0.5, np.nan, 0.7, 0.9]])
    assert known_mean(values).value == pytest.approx((0.5 + 0.7) / 2)
    assert np.isnan(known_mean([[np.nan, np.nan]]).value)
    assert np.isnan(known_mean(np.zeros((0, 4))).value)


def test_draws_of_known_values_are_means_of_resampled_answers() -> None:
    rng = np.random.default_rng(2)
    values = rng.random((2, 200))
    values[rng.random((2, 200)) < 0.2] = np.nan
    draws = known_mean(values, Resampling(2000))
    n, spread = 200 * 0.8, np.nanstd(values)
    assert draws.resampled.std() == pytest.approx(spread / np.sqrt(2 * n), rel=0.1)
    found = interval(draws)
    assert found.low < found.value < found.high


def test_clusters_are_drawn_together() -> None:
    values = np.repeat(np.random.default_rng(3).random(30), 5)[None]
    alone = known_mean(values, Resampling(800))
    together = known_mean(values, Resampling(800), np.repeat(np.arange(30), 5))
    assert together.resampled.std() == pytest.approx(alone.resampled.std() * np.sqrt(5), rel=0.2)


def test_a_macro_mean_draws_each_set_by_itself() -> None:
    # Two sets of equal values and one seed: were their draws paired, the mean would vary as much as each of them.
    one = known_mean(np.random.default_rng(4).random((1, 100)), Resampling(4000))
    both = mean_over_sets([one, one])
    assert both.value == pytest.approx(one.value)
    assert both.resampled.std() == pytest.approx(one.resampled.std() / np.sqrt(2), rel=0.05)
    assert not len(mean_over_sets([one, Draws(0.5, np.empty(0))]).resampled)
