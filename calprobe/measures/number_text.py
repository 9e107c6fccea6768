"""Numbers, intervals, p-values and ranges as text, the same wherever people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from calprobe.metrics import Difference, Estimate
from calprobe.metrics.intervals import SIGNIFICANT

_NOTHING = 1e-12  # a difference below it is a sum's rounding
LEAST_OF_P = 3  # decimals: with two, .001 and .004 look like 0, and .047 and .053 alike


def spelled(estimate: Estimate) -> str:
    """The value, and behind it the interval where there is one: 0.6398 (.600-.679)."""
    text = interval(estimate)
    return f"{number(estimate.value)} ({text})" if text else number(estimate.value)


def number(value: float, decimals: int = 4) -> str:
    """Fixed decimals; "undefined" for NaN."""
    return "undefined" if math.isnan(value) else _rounded(value, decimals)


def interval(estimate: Estimate) -> str:
    """The interval, .123-.456, or -1.7 to -.50 where an end is negative; empty where there is none."""
    if math.isnan(estimate.low):
        return ""
    low, high = _short(estimate.low), _short(estimate.high)
    return f"{low} to {high}" if "-" in low + high else f"{low}-{high}"


def signed(value: float, decimals: int = 4) -> str:
    """A difference, with its sign; "undefined" for NaN."""
    return number(value) if math.isnan(value) else _signed(value, decimals)


def signed_interval(estimate: Estimate | Difference) -> str:
    """The interval of a difference, -.046 to +.009; empty where there is none."""
    if math.isnan(estimate.low):
        return ""
    low, high = (without_zero(_signed(end, 3)) for end in (estimate.low, estimate.high))
    return f"{low} to {high}"


def signed_spelled(estimate: Estimate) -> str:
    """The value with its sign, and behind it the interval where there is one: -0.6398 (-.970 to +.121)."""
    text = signed_interval(estimate)
    return f"{signed(estimate.value)} ({text})" if text else signed(estimate.value)


def without_zero(text: str) -> str:
    """A number of size below 1 without the zero before its point, any other as it is.

    >>> without_zero("-0.62"), without_zero("+10.62")
    ('-.62', '+10.62')
    """
    return re.sub(r"^([+-]?)0\.", r"\1.", text)


def short(value: float, decimals: int) -> str:
    """.62, 1.00, -.05; "undefined" for NaN."""
    if math.isnan(value):
        return "undefined"
    return without_zero(f"{value:z.{decimals}f}")


def short_spelled(estimate: Estimate, decimals: int) -> str:
    """The value, and behind it the interval where there is one: .62 (.52-.77)."""
    text = short(estimate.value, decimals)
    if math.isnan(estimate.low):
        return text
    return f"{text} ({short(estimate.low, decimals)}-{short(estimate.high, decimals)})"


def short_signed(estimate: Estimate, decimals: int) -> str:
    """A difference with its sign, and behind it the interval where there is one: -.03 (-.09 to +.08)."""
    value, low, high = (
        without_zero(_signed(number, decimals)) for number in (estimate.value, estimate.low, estimate.high)
    )
    return value if math.isnan(estimate.low) else f"{value} ({low} to {high})"


def p_text(p: float, decimals: int = LEAST_OF_P) -> str:
    """A p-value with three decimals or more; "undefined" for NaN. None is printed as if on the other side of .05.

    >>> p_text(0.047), p_text(0.0498), p_text(0.00002), p_text(0.00002, 4), p_text(0.5, 2)
    ('0.047', '0.0498', '<0.001', '<0.0001', '0.500')
    """
    decimals = max(decimals, LEAST_OF_P)
    if p < 0.5 * 10**-decimals:
        return f"<{10**-decimals:.{decimals}f}"
    while p < SIGNIFICANT <= float(number(p, decimals)):
        decimals += 1
    return number(p, decimals)


def short_p(p: float) -> str:
    """The same in sentences.

    >>> short_p(0.047), short_p(0.00002)
    ('.047', '< .001')
    """
    text = p_text(p)
    return f"< {without_zero(text[1:])}" if text.startswith("<") else without_zero(text)


def ranges(numbers: Iterable[int]) -> str:
    """0-4,7 for 0, 1, 2, 3, 4, 7."""
    runs: list[list[int]] = []
    for value in sorted(numbers):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _short(value: float) -> str:
    """A number in four characters, rounded to as many decimals as they hold: .123, 1.00, -.12, 12.3.

    A negative one keeps its sign: -.002 takes five, rather than be 0.

    >>> _short(-0.1234), _short(-0.0017), _short(-0.0003)
    ('-.12', '-.002', '.000')
    """
    for decimals in (3, 2, 1):
        text = without_zero(_rounded(value, decimals))
        if len(text) <= len(".123") or (text[0] == "-" and _rounded(value, decimals - 1)[0] != "-"):
            return text
    return _rounded(value, 0)


def _rounded(value: float, decimals: int) -> str:
    """Fixed decimals, without the sign of a number that rounds to 0."""
    return f"{value:z.{decimals}f}"


def _signed(value: float, decimals: int) -> str:
    """Fixed decimals with the sign, also of a number that rounds to 0: an interval's end says on which side it is.

    >>> _signed(-0.0025, 2), _signed(0.0025, 2), _signed(-1e-16, 2)
    ('-0.00', '+0.00', '+0.00')
    """
    return f"{0.0 if abs(value) < _NOTHING else value:+.{decimals}f}"
