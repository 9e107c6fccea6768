"""What stands around a number of an answer: an error, how sure the reply is, the other end of a range."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from math import isclose, nan

from calprobe.answers.number_answers import Number, numbers_of
from calprobe.answers.number_words import numbers_in
from calprobe.answers.units import in_unit, is_unit, short_unit, unit_behind

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
    r"(?P<unit>[^\n]{0,15}?)(?:(?P<or>\s(?:or|OR)\s)|\sto\s|(?P<spaced>\s[-−–—]\s)|\s?[-−–—]\s?)(?:(?:about|maybe|perhaps|even)\s)?[*_$\\]{0,3}"
)
# In front of a range, whatever its ends are. A dash between blanks needs it: "Step 3 - 12 apples" is none.
_RANGE_BEGINS = re.compile(
    r"(?:\A|\n|[:=(#]|\b(?:is|are|was|were|be|takes?|about|approximately|around|roughly|from|answer|anywhere|either)\s)[\s*_$\\{(]{0,4}\Z",
    re.IGNORECASE,
)
# In front of two numbers that are no range: an operation, a change of which the second is the end.
_NO_RANGE = re.compile(
    r"\b(?:ratios?\b|odds|scor|increas|decreas|ris(?:es?|ing)\b|rose|drop|fall|fell|grow|grew|go(?:es|ing)?\b|gone\b|went|chang"
    r"|reduc|count(?:s|ed|ing)?\b|round|convert|simplif|improv|extend|expand|mov(?:es?|ed|ing)\b|updat|correct|climb|rais"
    r"|equal|sets?\b|add(?:s|ed|ing)?\b)[^.\n]{0,25}\Z",
    re.IGNORECASE,
)
_OPERATION = re.compile(r"[-+−*×·/^<>]\s{0,2}[*_$\\{(]{0,4}\Z")
_GOES_ON = re.compile(r"[^\S\n]?(?:[-+*×/=]|is\b|equals\b|leaves\b)")
_SUBTRACTED = re.compile(r"\bminus\s{1,2}\Z", re.IGNORECASE)
_HALF_OF = re.compile(r"\bhalf\s(?:(?:of|past)\s)?(?:an?\s)?\Z", re.IGNORECASE)
_AND = re.compile(r",?\s(?:and\s)?")  # between the parts of a quantity: 1 h and 30 min


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


def unclear_as_a_part(text: str, number: Number) -> Number:
    """The number, unclear if it is a part of what is said: an end of a range ("between 10 and 12", "10-12", "ten to
    twelve"), one of two ("1969 or 1970"), of a quantity in two units ("1 h 30 min"), subtracted, or halved.

    >>> [unclear_as_a_part(text, next(numbers_of(text))).form for text in ("10-12 km", "10-12 = -2", "2 h or 120 min")]
    ['unclear', 'plain', 'plain']
    """
    begin = max(0, number.start - _AROUND)
    around, front = text[begin : number.end + _AROUND], text[begin : number.start]
    is_between = any(match.start() < number.start - begin < match.end() for match in _BETWEEN.finditer(around))
    is_less = _SUBTRACTED.search(front) or _HALF_OF.search(front)
    near = numbers_in(text, begin, number.end + _AROUND)
    is_one_of_two = any(
        number.start in (first.start, second.start)
        and (_is_range(text, first, second) or _is_in_two_units(text, first, second))
        for first, second in pairwise(near)
    )
    return replace(number, form="unclear", value=nan) if is_between or is_less or is_one_of_two else number


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
    if _NO_RANGE.search(front) or _OPERATION.search(front) or _GOES_ON.match(text, second.end):
        return False
    return _RANGE_BEGINS.search(front) is not None or (joint["spaced"] is None and _ascends(text, first, second))


def _ascends(text: str, first: Number, second: Number) -> bool:
    """Whether two numbers are a range by themselves: the second is larger, and of the same order or with a unit or
    things behind it. Scores (4-2), names (747-400) and "gives 4 to 2 friends" are none."""
    behind = unit_behind(text, second.end)
    has_unit = (len(behind) > 3 and behind.endswith("s")) or behind == "people" or is_unit(behind)
    return second.value > first.value and (has_unit or second.value <= 2 * abs(first.value))


def _is_in_two_units(text: str, first: Number, second: Number) -> bool:
    """Whether a quantity has two numbers, of which the second is of a smaller unit: 1 h 30 min, 5 feet 3 inches."""
    unit = unit_behind(text, first.end)
    place = text.find(unit, first.end, second.start) if unit else -1
    if place < 0 or _AND.fullmatch(text, place + len(unit), second.start) is None:
        return False
    smaller = unit_behind(text, second.end)
    return bool(smaller) and (in_unit(1.0, unit, smaller) or 0.0) > 1.0
