"""Numbers as text: what is rounded, what is undefined, what has a sign."""

from __future__ import annotations

import math

import pytest

from calprobe.measures.number_text import (
    interval,
    number,
    ranges,
    short,
    short_signed,
    signed,
    signed_interval,
    signed_spelled,
    spelled,
)
from calprobe.metrics import Estimate


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.5, "0.5000"), (1.0, "1.0000"), (-0.00001, "0.0000"), (-0.5, "-0.5000"), (math.nan, "undefined")],
)
def test_numbers(value: float, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.1234, 0.4567, ".123-.457"),
        (0.0, 1.0, ".000-1.00"),
        (0.9996, 0.9996, "1.00-1.00"),
        (-0.0001, 0.0004, ".000-.000"),
        (-0.1264, 0.1, "-.13 to .100"),
        (1.996, 12.34, "2.00-12.3"),
        (99.96, 1234.5, "100-1234"),
        (math.nan, math.nan, ""),
    ],
)
def test_intervals_take_four_characters_a_side(low: float, high: float, shown: str) -> None:
    assert interval(Estimate(0.5, low, high)) == shown


def test_an_estimate_spelled() -> None:
    assert spelled(Estimate(0.25, 0.1, 0.4)) == "0.2500 (.100-.400)"
    assert spelled(Estimate(0.25)) == "0.2500"


def test_a_signed_estimate_keeps_its_ends_apart() -> None:
    assert signed_spelled(Estimate(-0.9, -0.996, -0.169)) == "-0.9000 (-.996 to -.169)"
    assert signed_spelled(Estimate(0.9)) == "+0.9000"


def test_ranges() -> None:
    assert ranges([7, 0, 1, 3, 2, 4]) == "0-4,7"
    assert ranges([]) == ""


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [(0.5, -0.25, 0.75, ("+0.5000", "-.250 to +.750")), (math.nan, math.nan, math.nan, ("undefined", ""))],
)
def test_differences_have_a_sign(value: float, low: float, high: float, shown: tuple[str, str]) -> None:
    assert (signed(value), signed_interval(Estimate(value, low, high))) == shown


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [0.0, 0.046, 0.9996, 1.0, 10.046, 20.05, 100.5])
def test_only_a_zero_alone_before_the_point_is_left_out(size: float, sign: int) -> None:
    value = sign * size
    estimate = Estimate(value, value, value)
    low, high = signed_interval(estimate).split(" to ")
    shown, inside = short_signed(estimate, 3).rstrip(")").split(" (")
    for text in (low, high, shown, *inside.split(" to "), short(value, 3)):
        assert float(text) == pytest.approx(value, abs=0.0005)
        assert not text.lstrip("+-").startswith("0")
