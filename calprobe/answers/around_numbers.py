"""What stands around a number of an answer: an error, how sure the reply is, the other end of a range."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from math import isclose, nan

from calprobe.answers.number_answers import Number, numbers_of
from calprobe.answers.units import short_unit, unit_behind

_AROUND = 40  # characters around a number that are looked at
_PLUS_MINUS = r"(?:±|\\pm\b|\+\s?/?\s?[-−–]|\bplus\sor\sminus\b)"
_ERROR_IN_FRONT = re.compile(rf"[\w)\]}}%°²³][\s$]{{0,2}}{_PLUS_MINUS}\s?\Z")
_ERROR_BEHIND = re.compile(rf"[\s$]{{0,2}}{_PLUS_MINUS}\s?(?=[\d.])")
_SURE = r"(?:sure|certain|confident|confidence|certainty)\b"
_SURE_IN_FRONT = re.compile(
    r"\b(?:confidence(?:\s(?:level|score|rating))?|certainty)[\"'*_]{0,3}(?:\s(?:is|of|at)\b|\s?[:=])?\s?(?:about\s|around\s|~)?"
    r"[\"'*_($]{0,3}\Z|\b(?:sure|certain|confident)\s?:\s?[*_]{0,2}\Z",
    re.IGNORECASE,
)
_SURE_BEHIND = re.compile(
    rf"[^\S\n]?(?:(?:\\?%|per\s?cent)[*_]{{0,2}}\s{_SURE}|(?:/|out\sof\s)[0-9.]{{1,4}}\s{_SURE}|(?:confidence|certainty)\b(?!\sinterval))",
    re.IGNORECASE,
)
_LIKELY = re.compile(r"[^\S\n]?(?:\\?%|per\s?cent)\s(?:probability|likely)[)\]]", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s(?:[^.\n]|\.(?=\d)){1,20}?\sand\s\S{1,20}", re.IGNORECASE)
# Between the two numbers of a range.
_TO = re.compile(
    r"(?P<unit>[^\n]{0,15}?)(?:(?P<or>\s(?:or|OR)\s)|\sto\s|\s?[-−–—]\s?)(?:(?:about|maybe|perhaps|even)\s)?[*_$\\]{0,3}"
)
# In front of a range; "round 11.6 to 12" and "5 + 10-12" have none.
_RANGE_BEGINS = re.compile(
    r"(?:\A|\n|[:=(#]|\b(?:is|are|was|were|be|takes?|about|approximately|around|roughly|from|answer|anywhere|either)\s)[\s*_$\\{(]{0,4}\Z",
    re.IGNORECASE,
)
_NO_RANGE = re.compile(
    r"\b(?:ratio|odds|score|increas|decreas|ris|rose|drop|f[ae]ll|gr[eo]w|go|went|chang|reduc|count|round|convert|simplif)"
    r"[^.\n]{0,25}\Z",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"[^\S\n]?(?:[-+*×/=]|is\b|equals\b|leaves\b)")


def is_error_or_confidence(text: str, number: Number) -> bool:
    """Whether the number says how exact the one in front of it is, or how sure the reply is.

    >>> text = "9.81 ± 0.02 (95% sure)"
    >>> [is_error_or_confidence(text, number) for number in numbers_of(text)]
    [False, True, True]
    """
    begin = number.start + (text[number.start] in "-−–")  # the minus of +/-1 is no sign
    before = text[max(0, begin - _AROUND) : begin]
    behind = text[number.end : number.end + _AROUND]
    if _ERROR_IN_FRONT.search(before) or _SURE_IN_FRONT.search(before) or _SURE_BEHIND.match(behind):
        return True
    return before.rstrip("~ ").endswith(("(", "[")) and _LIKELY.match(behind) is not None


def end_with_error(text: str, number: Number) -> int:
    """Where the number ends with its error, which its unit may stand behind.

    >>> text = "9.81 ± 0.02 m"
    >>> text[end_with_error(text, next(numbers_of(text))) :]
    ' m'
    """
    match = _ERROR_BEHIND.match(text, number.end)
    error = next(numbers_of(text, match.end(), match.end() + _AROUND), None) if match else None
    return error.end if match and error and error.start == match.end() else number.end


def unclear_in_a_range(text: str, number: Number) -> Number:
    """The number, unclear if it is an end of a range ("between 10 and 12", "10-12") or one of two ("1969 or 1970").

    >>> [unclear_in_a_range(text, next(numbers_of(text))).form for text in ("10-12 km", "10-12 = -2", "2 h or 120 min")]
    ['unclear', 'plain', 'plain']
    """
    begin = max(0, number.start - _AROUND)
    around = text[begin : number.end + _AROUND]
    is_between = any(match.start() < number.start - begin < match.end() for match in _BETWEEN.finditer(around))
    near = numbers_of(text, begin, number.end + _AROUND)
    is_an_end = any(
        number.start in (first.start, second.start) and _is_range(text, first, second)
        for first, second in pairwise(near)
    )
    return replace(number, form="unclear", value=nan) if is_between or is_an_end else number


def _is_range(text: str, first: Number, second: Number) -> bool:
    joint = _TO.fullmatch(text, first.end, second.start)
    if joint is None or isclose(first.value, second.value):
        return False
    unit, behind = short_unit(joint["unit"].strip(" *_$\\")), short_unit(unit_behind(text, second.end))
    if unit not in ("", behind) or (behind == "%" and not unit and joint["or"]):
        return False  # the same in two units
    if joint["or"]:
        return True
    front = text[max(0, first.start - _AROUND) : first.start]
    goes_on = _GOES_ON.match(text, second.end)
    return bool(_RANGE_BEGINS.search(front)) and not _NO_RANGE.search(front) and not goes_on
