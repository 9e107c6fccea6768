"""The form in which short answers are compared: one form for each number and date, then `normalised`."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from math import gcd

from calprobe.answers.dates import with_dates
from calprobe.answers.number_answers import numbers_of, with_plain_digits
from calprobe.answers.number_words import with_digits
from calprobe.answers.short import normalised

# Signs within numbers and times that `normalised` would drop, as characters that it keeps.
_KEPT = {".": "\ue000", "-": "\ue001", ":": "\ue002", "/": "\ue003"}
_BACK = {ord(sign): plain for plain, sign in _KEPT.items()}
_AS_WRITTEN = {ord(plain): sign for plain, sign in _KEPT.items()}
_WITHIN = re.compile(r"(?<=[0-9])[.:](?=[0-9])")  # of 10:30 and 1.2.3
_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9])")
_UNIT = re.compile(
    r"(?<=[0-9])(?=(?:[kcmnµμ]?m|[km]?g|[kmg]?hz|[km]?w|k?wh|[km]?j|[km]?v|m?l|kmh|km/h|mph|ft|lbs?|oz|min|mol|°[cf]?)(?![^\W_]))"
)
# 5² is not 52; 10² is a number that is read, 210² and 2.10² are none.
_POWER = re.compile(r"(?<=[0-9])(?<!(?<![0-9])(?<![0-9][.,])10)[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_CURRENCIES = "$€£¥₹"
_LATEX = re.compile(r"\\[dt]?frac[^\S\n]?\{|\}")
_FRACTION = re.compile(r"(?<![0-9.,])(?P<above>[0-9]+)/(?P<below>[0-9]+)\Z")
_PERCENT = re.compile(r"(?<=[0-9]) ?(?:%|percent\b|per cent\b)")
_DOLLARS = re.compile(r"(?<!\S)\$?([^\s$]*[0-9]) (?:us )?dollars?\b")


@lru_cache(maxsize=65_536)  # accepted answers come again with each sample and variant
def comparable(text: str) -> str:
    """A short answer as it is compared: lower case, without accents, punctuation and articles, single spaces; numbers
    in digits without groups, dates as year, month and day; a unit is a word of its own (5km is 5 km).

    Decimal points and signs stay, so that 3.5 is neither 35 nor -3.5. Percent and dollars have one form each. A
    fraction in lowest terms is its value; others stay as they are written, as 6/8 time is not 3/4 time.

    >>> [comparable(text) for text in ("The 18th of May, 2018", "One thousand and five", "1,005.0", "3.50 %")]
    ['2018 may 18', '1005', '1005', '3.5%']
    """
    plain = with_dates(with_digits(with_plain_digits(text).casefold()))
    plain = _POWER.sub(lambda power: "^" + unicodedata.normalize("NFKD", power[0]), plain)
    for sign in _BACK:
        plain = plain.replace(chr(sign), "")
    protected = _COMMA.sub(" ", _WITHIN.sub(lambda found: _KEPT[found[0]], _with_numbers(plain)))
    found = normalised(protected).translate(_BACK)
    return _DOLLARS.sub(r"$\1", _PERCENT.sub("%", found))


def _with_numbers(text: str) -> str:
    """The text with each number in its shortest digits. Numbers with zeros in front (007, 10:05) stay."""
    pieces, end = [], 0
    for number in numbers_of(text):
        numeral = text[number.start : number.end]
        digits = numeral.lstrip("+-−–\\" + _CURRENCIES)
        if number.form == "unclear" or (digits[:1] == "0" and digits[1:2].isdigit()):
            continue
        currency = next((sign for sign in numeral if sign in _CURRENCIES), "")
        value = _fraction(numeral) if number.form == "fraction" else ""
        pieces += [text[end : number.start], currency, value or _digits(number.value)]
        end = number.end
    return _UNIT.sub(" ", "".join((*pieces, text[end:])))


def _fraction(numeral: str) -> str:
    """A fraction as it is written; empty for one in lowest terms."""
    written = _LATEX.sub("", numeral.replace("}{", "/")).strip(_CURRENCIES + "\\")
    parts = _FRACTION.search(written)
    if "/" not in written:  # one sign: 2½
        return ""
    if parts and gcd(int(parts["above"]), int(parts["below"])) == 1 < int(parts["below"]):
        return ""
    return written.replace("−", "-").translate(_AS_WRITTEN)


def _digits(value: float) -> str:
    digits = str(int(value)) if value.is_integer() and abs(value) < 1e21 else f"{value:.12g}"
    return digits.replace(".", _KEPT["."]).replace("-", _KEPT["-"])
