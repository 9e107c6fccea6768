"""P-values as text, the same in tables, sentences and figures."""

from __future__ import annotations

from calprobe.measures.number_text import number, without_zero
from calprobe.metrics.intervals import SIGNIFICANT

LEAST = 3  # decimals: with two, .001 and .004 look like 0, and .047 and .053 alike


def p_text(p: float, decimals: int = LEAST) -> str:
    """With three decimals or more; "undefined" for NaN. None is printed as if on the other side of .05.

    >>> p_text(0.047), p_text(0.0498), p_text(0.00002), p_text(0.00002, 4), p_text(0.5, 2)
    ('0.047', '0.0498', '<0.001', '<0.0001', '0.500')
    """
    decimals = max(decimals, LEAST)
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
