"""Wilson's interval and Spearman's correlation, against SciPy and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, spearmanr

from calprobe.metrics import spearman, wilson_interval

NUMBERS = st.integers(-5, 5).map(float)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(proportion: tuple[int, int]) -> None:
    k, n = proportion
    low, high = wilson_interval([k], [n])
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert (low[0], high[0]) == (pytest.approx(expected.low, abs=1e-12), pytest.approx(expected.high, abs=1e-12))
    assert 0 <= low[0] <= k / n <= high[0] <= 1


def test_no_trials_have_no_interval() -> None:
    low, high = wilson_interval([0, 1], [0, 1])
    assert np.isnan([low[0], high[0]]).all()
    assert high[1] == 1
    assert low[1] == pytest.approx(1 / (1 + 1.959964**2), abs=1e-6)


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match=r"successes must lie within 0 and the number of trials; got 3\.0"):
        wilson_interval([1, 3], [2, 2])
    with pytest.raises(ValueError, match="of one length; got 1 and 2"):
        wilson_interval([1], [2, 2])


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=4, max_size=30))
def test_the_correlation_is_scipys(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    found = spearman(x, y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert math.isnan(found.value)
        return
    assert found.value == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert -1 <= found.value <= 1
    if abs(found.value) < 1:
        assert found.low < found.value < found.high
    else:
        assert math.isnan(found.low)


def test_the_interval_by_hand() -> None:
    # Ranks 1 2 3 4 5 6 against 2 1 3 4 6 5: sum of squared differences 4, rho = 1 - 6 * 4 / (6 * 35).
    found = spearman([10, 20, 30, 40, 50, 60], [0.2, 0.1, 0.3, 0.4, 0.6, 0.5])
    rho = 1 - 24 / 210
    reach = 1.959963984540054 * math.sqrt((1 + rho**2 / 2) / 3)
    assert found.value == pytest.approx(rho, abs=1e-12)
    assert found.low == pytest.approx(math.tanh(math.atanh(rho) - reach), abs=1e-12)
    assert found.high == pytest.approx(math.tanh(math.atanh(rho) + reach), abs=1e-12)


@pytest.mark.parametrize(("n", "least", "most"), [(5, 0.95, 1.0), (16, 0.92, 0.98)])
def test_the_interval_covers_a_correlation_at_about_its_rate(n: int, least: float, most: float) -> None:
    rng, rho, trials = np.random.default_rng(0), 0.6, 400
    truth = 6 / math.pi * math.asin(rho / 2)  # Spearman's of a bivariate normal
    held = 0
    for _ in range(trials):
        x, noise = rng.normal(size=(2, n))
        found = spearman(x, rho * x + math.sqrt(1 - rho**2) * noise)
        held += math.isnan(found.low) or found.low <= truth <= found.high
    assert least <= held / trials <= most


def test_three_pairs_say_nothing_and_a_perfect_order_has_no_interval() -> None:
    assert math.isnan(spearman([1, 2, 3], [3, 2, 1]).value)
    perfect = spearman([1, 2, 3, 4], [4, 3, 2, 1])
    assert perfect.value == -1
    assert math.isnan(perfect.low)
    with pytest.raises(ValueError, match="y must not be NaN"):
        spearman([1, 2, 3, 4], [1, 2, 3, float("nan")])
