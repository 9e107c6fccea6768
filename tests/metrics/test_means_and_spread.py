"""Spread over variants, recovered shares, statistics of means: by hand, by closed forms, by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calprobe.metrics import (
    Resampling,
    bootstrap_of_means,
    recovered_share,
    spearman,
    spearman_p_value,
    spread,
    spread_by_chance,
)


def test_spread_by_hand() -> None:
    correct = [[1, 1, 1, 0], [1, 0, 1, 0], [0, 1, 0, 0]]
    found = spread(correct)
    assert found.value == 0.5
    assert 0 <= found.low <= 0.5 <= found.high <= 1


def test_equal_variants_have_spread_0_without_an_interval() -> None:
    found = spread([[1, 0, 1], [1, 0, 1]])
    assert found.value == 0
    assert np.isnan(found.low)
    assert spread_by_chance([[1, 0, 1], [1, 0, 1]]) == 0


def test_spread_without_rows_or_resamples() -> None:
    assert np.isnan(spread(np.zeros((3, 0))).value)
    assert np.isnan(spread([[1, 0], [0, 0]], Resampling(0)).low)
    assert np.isnan(spread_by_chance([[1, 0], [0, 0]], Resampling(0)))


def test_the_order_of_variants_and_of_rows_changes_no_value() -> None:
    rng = np.random.default_rng(0)
    correct = rng.integers(2, size=(4, 60))
    values = {spread(own).value for own in (correct, correct[::-1], correct[:, ::-1])}
    assert len(values) == 1


def test_by_chance_of_two_variants_is_the_folded_binomial() -> None:
    # Two variants that differ in d rows: swapping each of them at random gives |d - 2 Binomial(d, 1/2)| / n.
    n, d = 40, 12
    correct = np.ones((2, n))
    correct[0, :d] = 0
    expected = sum(stats.binom.pmf(k, d, 0.5) * abs(d - 2 * k) / n for k in range(d + 1))
    assert spread_by_chance(correct, Resampling(20_000)) == pytest.approx(expected, rel=0.02)


def _covered(accuracies: np.ndarray, n: int, *, percentile: bool, trials: int = 150) -> float:
    """How often the interval holds the true spread."""
    rng = np.random.default_rng(7)
    truth = np.ptp(accuracies)
    hits = 0
    for _ in range(trials):
        ease = rng.random(n)  # rows are easy or hard for all variants
        correct = ease[None, :] < accuracies[:, None]
        flips = rng.random(correct.shape) < 0.15
        own = np.where(flips, rng.random(correct.shape) < accuracies[:, None], correct)
        found = spread(own, Resampling(200), percentile=percentile)
        hits += found.low - 1e-12 <= truth <= found.high + 1e-12
    return hits / trials


def test_the_shifted_interval_covers_where_plain_percentiles_do_not() -> None:
    equal = np.full(4, 0.5)
    assert _covered(equal, 120, percentile=False) >= 0.93
    assert _covered(equal, 120, percentile=True) <= 0.10  # a spread of 0 is never within them
    assert _covered(np.array([0.45, 0.5, 0.55, 0.75]), 120, percentile=False) >= 0.90


def test_clusters_are_drawn_and_swapped_together() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(2, size=(3, 30))
    doubled, clusters = np.repeat(rows, 4, axis=1), np.repeat(np.arange(30), 4)
    alone, together = spread(rows), spread(doubled, clusters=clusters)
    assert together.value == alone.value
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=1e-12)
    assert spread_by_chance(doubled, clusters=clusters) == pytest.approx(spread_by_chance(rows))


def test_a_statistic_of_means_has_the_interval_of_paired_resamples() -> None:
    rng = np.random.default_rng(2)
    values = rng.random((2, 80))
    found = bootstrap_of_means(values, lambda means: means[:, 0] - means[:, 1])
    assert found.value == pytest.approx(values[0].mean() - values[1].mean())
    error = (values[0] - values[1]).std(ddof=1) / np.sqrt(80)
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_recovered_share_by_hand() -> None:
    shares = recovered_share([0.2, 0.2, 0.2, 0.5], [0.8, 0.9, 0.1, 0.6], [0.8, 0.8, 0.8, 0.5])
    assert shares[:3] == pytest.approx([1.0, 7 / 6, -1 / 6])
    assert np.isnan(shares[3])


@pytest.mark.parametrize("values", [[1.0, 0.0], [[1.0, np.nan]]])
def test_values_that_are_no_table_of_numbers_are_refused(values: object) -> None:
    with pytest.raises(ValueError, match="values must be finite numbers in two dimensions"):
        spread(values)  # type: ignore[arg-type]  # on purpose


def test_p_of_a_rank_correlation_is_scipys() -> None:
    rng = np.random.default_rng(4)
    for n in (4, 10, 25):
        x, y = rng.random(n).round(1), rng.random(n)
        rho = spearman(x, y).value
        assert spearman_p_value(rho, n) == pytest.approx(stats.spearmanr(x, y).pvalue, abs=1e-12)
    assert spearman_p_value(1.0, 5) == 0
    assert np.isnan(spearman_p_value(float("nan"), 5))
