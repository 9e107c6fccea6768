"""Correlations of stated confidences against NumPy and SciPy, on the sample and on every resample."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calprobe.metrics import Resampling
from calprobe.metrics.correlation import correlation
from calprobe.metrics.resamples import check_clusters, resample_counts


def two(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two confidences of a handful of values that go together, some missing."""
    rng = np.random.default_rng(seed)
    x = (rng.integers(0, 6, n) / 5).round(12)
    y = np.clip(x + rng.integers(-2, 3, n) / 10, 0, 1).round(12)
    x[rng.random(n) < 0.1] = np.nan
    y[rng.random(n) < 0.1] = np.nan
    return x, y


@pytest.mark.parametrize("seed", range(5))
def test_it_is_that_of_numpy_and_scipy_over_complete_pairs(seed: int) -> None:
    x, y = two(seed=seed)
    both = ~np.isnan(x) & ~np.isnan(y)
    found = correlation(x, y)
    assert found.instances == both.sum()
    assert found.pearson.value == pytest.approx(np.corrcoef(x[both], y[both])[0, 1])
    assert found.spearman.value == pytest.approx(stats.spearmanr(x[both], y[both]).statistic)
    assert found.linear.low < found.linear.value < found.linear.high
    assert found.of_ranks.low < found.of_ranks.value < found.of_ranks.high


@pytest.mark.parametrize("n_clusters", [0, 15])
def test_each_resample_is_that_of_its_instances(n_clusters: int) -> None:
    x, y = two()
    clusters = np.arange(60) % n_clusters if n_clusters else None
    resampling = Resampling(20, 3)
    found = correlation(x, y, resampling, clusters)
    counts = np.concatenate(list(resample_counts(60, resampling, check_clusters(clusters, 60))))
    for row, own in enumerate(counts):
        places = np.repeat(np.arange(60), own)
        places = places[~np.isnan(x[places]) & ~np.isnan(y[places])]
        assert found.pearson.resampled[row] == pytest.approx(np.corrcoef(x[places], y[places])[0, 1])
        assert found.spearman.resampled[row] == pytest.approx(stats.spearmanr(x[places], y[places]).statistic)


def test_a_constant_side_has_no_correlation() -> None:
    found = correlation([0.1 + 0.2, 0.3, 0.3], [0.1, 0.5, 0.9])  # 0.30000000000000004 is 0.3
    assert np.isnan(found.pearson.value)
    assert np.isnan(found.spearman.value)
    assert np.isnan(found.linear.low)


def test_few_instances_have_none() -> None:
    assert np.isnan(correlation([0.5], [0.5]).pearson.value)
    assert correlation([np.nan], [0.5]).instances == 0
    assert np.isnan(correlation([], []).pearson.value)


def test_order_changes_nothing_and_turning_one_round_changes_the_sign() -> None:
    x, y = two(seed=8)
    found, order = correlation(x, y), np.random.default_rng(1).permutation(60)
    assert correlation(x[order], y[order]).pearson.value == pytest.approx(found.pearson.value)
    turned = correlation(1 - x, y)
    assert turned.pearson.value == pytest.approx(-found.pearson.value)
    assert turned.spearman.value == pytest.approx(-found.spearman.value)


def test_equal_sides_correlate_entirely_without_an_interval() -> None:
    found = correlation([0.1, 0.5, 0.9] * 10, [0.1, 0.5, 0.9] * 10)
    assert found.pearson.value == pytest.approx(1)
    assert np.isnan(found.linear.low)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="one length; got 2 and 1"):
        correlation([0.1, 0.2], [0.1])
