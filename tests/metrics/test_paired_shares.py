"""The difference of two paired shares: its closed form, its bounds, and how often its interval holds the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calprobe.metrics.statistics import paired_share_difference


def test_it_is_bonett_and_prices_closed_form() -> None:
    # b = 4, c = 0, n = 6: p = 5/8, q = 1/8, variance (3/4 - 1/4) / 8 = 1/16.
    found = paired_share_difference(4, 0, 6)
    assert found.value == pytest.approx(4 / 6)
    assert (found.low, found.high) == pytest.approx((0.5 - 1.959964 / 4, 0.5 + 1.959964 / 4), abs=1e-6)


@pytest.mark.parametrize(("b", "c", "n"), [(0, 0, 5), (5, 0, 5), (0, 1, 1), (1, 1, 2), (0, 0, 1), (30, 12, 400)])
def test_it_holds_its_value_has_a_width_and_changes_sign_with_its_sides(b: int, c: int, n: int) -> None:
    found, turned = paired_share_difference(b, c, n), paired_share_difference(c, b, n)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.high - found.low > 0.01
    assert (turned.value, turned.low, turned.high) == pytest.approx((-found.value, -found.high, -found.low))


def test_its_interval_holds_the_truth_at_about_the_nominal_rate() -> None:
    rng = np.random.default_rng(5)
    held = []
    for b, c, _ in rng.multinomial(15, [0.4, 0.1, 0.5], size=4000):
        own = paired_share_difference(int(b), int(c), 15)
        held.append(own.low <= 0.3 <= own.high)
    assert 0.93 < np.mean(held) < 0.99


def test_without_instances_there_is_none_and_counts_are_checked() -> None:
    assert math.isnan(paired_share_difference(0, 0, 0).value)
    for b, c, n in ((-1, 0, 3), (2, 2, 3)):
        with pytest.raises(ValueError, match="must be counts of 3 instances"):
            paired_share_difference(b, c, n)
