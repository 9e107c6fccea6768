"""Numbers in a text: digits with groups, decimals, signs, exponents, fractions, percent, currency, units."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Form = Literal["plain", "fraction", "unclear"]

# Between two digits: a decimal point, or what separates groups. LaTeX writes {,} and \, for the latter.
_JOINT = r"(?:\{,\}|,?\\[!,]|[.,\u00a0\u202f])"
_DIGITS = rf"(?:[0-9](?:[0-9]|{_JOINT}(?=[0-9]))*+|\.[0-9]++)"
_SIGN = r"(?:(?<![\w)\]}.])[-−–+])"
_CURRENCY = r"(?:\\?[$]|[€£¥₹])"
_EXPONENT = r"\{?[^\S\n]?(?P<power>[-−+]?[0-9]{1,4})\}?"
_TIMES_TEN = (
    r"[^\S\n]?(?:×|x|\*|·|\\times|\\cdot)[^\S\n]?10"
    rf"(?:[^\S\n]?(?:\^|\*\*)[^\S\n]?{_EXPONENT}|(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,4}}))"
)
_MORE = (
    rf"[eE](?P<exponent>[-−+]?[0-9]{{1,4}})(?!\w)|{_TIMES_TEN}"
    rf"|(?:[^\S\n](?P<above>[0-9]++))?/(?P<below>{_DIGITS})(?![/\w])"
    r"|(?P<odd>(?:\^[^\S\n]?\{?|\*\*|/)(?=[-−]?[0-9])(?:[-−0-9{}^]|[./*](?=[-−0-9]))*+)"
)
_NUMBER = re.compile(
    rf"(?:(?P<sign>{_SIGN})(?:[^\S\n](?={_CURRENCY}))?)?(?:{_CURRENCY}(?P<inner>[-−])?)?"
    rf"(?:\\[dt]?frac[^\S\n]?\{{(?P<upper>{_DIGITS})\}}\{{(?P<lower>{_DIGITS})\}}"
    rf"|(?<!\w)(?<![0-9][.,])(?P<digits>{_DIGITS})(?:{_MORE})?)"
)
_TEN_TO_THE = re.compile(r"(?:\^[^\S\n]?\{?|\*\*)([-−]?[0-9]{1,4})\}?")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})++(?:\.[0-9]++)?+")
_PLAIN = re.compile(r"[0-9]++(?:\.[0-9]++)?+|\.[0-9]++")
_GROUP_MARKS = re.compile(r"\{,\}|,?\\[!,]|[\u00a0\u202f]")
_SUPERSCRIPTS = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")


@dataclass(frozen=True, slots=True)
class Number:
    """A number where it stands; the span begins with sign or currency and ends before the unit."""

    value: float
    form: Form  # unclear: digits that are no number of a known form, such as 0,8 or 1.2.3; the value is NaN
    start: int
    end: int


def numbers_of(text: str, start: int = 0, end: int | None = None) -> Iterator[Number]:
    """The numbers of a text from left to right. Digits in a word (H2O) and ordinals (3rd) are none.

    A comma groups digits in threes; `0,8` is unclear, as it is 0.8 in one country and no number in another. A fraction
    is one number, and so is a mixed one (`1 1/2`). A minus is a sign unless something is subtracted (`5-3`).

    >>> [(number.value, number.form) for number in numbers_of("-$1,234.50 or 3/4 or 2.5e-3 or 0,8")]
    [(-1234.5, 'plain'), (0.75, 'fraction'), (0.0025, 'plain'), (nan, 'unclear')]
    """
    for found in _NUMBER.finditer(text, start, len(text) if end is None else end):
        if not _ORDINAL.match(text, found.end()):
            value, form = _value(found)
            yield Number(value, form, *found.span())


def _value(found: re.Match[str]) -> tuple[float, Form]:
    sign = -1.0 if (found["sign"] or "+") in "-−–" or found["inner"] else 1.0
    if found["upper"]:
        return _fraction(sign, 0.0, _float(found["upper"]), _float(found["lower"]))
    digits = found["digits"]
    if found["below"]:
        whole, above = (_float(digits), float(found["above"])) if found["above"] else (0.0, _float(digits))
        return _fraction(sign, whole, above, _float(found["below"]))
    exponent = found["exponent"] or found["power"] or (found["raised"] or "").translate(_SUPERSCRIPTS)
    if found["odd"]:
        power = _TEN_TO_THE.fullmatch(found["odd"])
        if digits != "10" or power is None:
            return math.nan, "unclear"
        digits, exponent = "1", power[1]
    value = sign * _float(digits, exponent)
    return (value, "plain") if math.isfinite(value) else (math.nan, "unclear")


def _fraction(sign: float, whole: float, upper: float, lower: float) -> tuple[float, Form]:
    value = sign * (whole + upper / lower) if lower else math.nan
    return (value, "fraction") if math.isfinite(value) else (math.nan, "unclear")


def _float(digits: str, exponent: str = "") -> float:
    """The number that digits with joints, and a power of ten, are; NaN for no known form, infinite if too large."""
    plain = _GROUP_MARKS.sub(",", digits)
    if _GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
    elif not _PLAIN.fullmatch(plain):
        return math.nan
    return float(f"{plain}e{exponent.replace('−', '-') or 0}")
