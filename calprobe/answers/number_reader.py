"""The number that a reply gives as its answer."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace

from calprobe.answers.around_numbers import end_with_error, is_error_or_confidence, unclear_as_a_part
from calprobe.answers.denials import is_denied, is_taken_back
from calprobe.answers.number_answers import Number, numbers_of, with_plain_digits
from calprobe.answers.number_words import numbers_in_words
from calprobe.answers.reading import Reading
from calprobe.answers.reply_tails import length_without_repeats, where_a_new_question_begins
from calprobe.answers.units import plain_unit, unit_behind, unit_of

_MARKER = re.compile(
    r"####|\\boxed\s?\{|\b(?:answer|result|total|solution)\b(?:[^\S\n]{1,3}(?:is|was|would\sbe|must\sbe)\b|[\"'*_]{0,3}\s{0,3}[:=])",
    re.IGNORECASE,
)
_FIRST = re.compile(r"[0-9]+(?:[,.][0-9]+)*")  # as the study of science questions reads numbers
_MARKERS = 50  # so many from the end are looked at: a text that only repeats markers takes no longer
_REST = 300  # characters behind a marker that its number stands in
_ALONE = re.compile(r"\s*([^\n]{1,40})\n[^\S\n]*\n")
# The number one, not the word of "one of them" and "the only one": the whole sentence, or behind "only".
_ONE = re.compile(r"one", re.IGNORECASE)
_ONLY = re.compile(r"(?<!\bthe )(?<!\bthis )(?<!\bthat )\b(?:only|just|exactly)\s\Z", re.IGNORECASE)
_BEFORE_ONE = re.compile(
    r"(?:\A|[\n.!?:])[^\w\n]{0,4}(?:(?:so|i\sthink|about|only|just|exactly|it\sis|it['’]s|(?:there|that)(?:\sis|['’]s|\swas)"
    r"|(?:it|he|she|they)\sha(?:s|ve|d)|the\s(?:\w{1,9}\s)?(?:answer|result|total|solution)\s(?:is|was)),?\s){0,3}[*_\"“(]{0,3}\Z",
    re.IGNORECASE,
)
_BEHIND_ONE = re.compile(r"(?:\s(?!of\b)[^\W\d_]{1,15}){0,2}[^\w\n]{0,3}(?:[.!?]\s|\n|\Z)")
# Between a marker and a number right behind it; behind that number, where nothing else is said of it: "is three, not
# 4", "seven apples (step 3)", but not "four workers need 12 days".
_NOTHING = re.compile(r"[\s:*_$\"“'‘({]{0,8}(?:(?:just|only|about|exactly|an?)\s[*_]{0,2})?")
_CLOSED = re.compile(
    r"[*_\"”'’)}]{0,4}(?:,|\s?[—–]|(?:\s[^\W\d_]{1,15})?[*_\"”'’)}]{0,4}"
    r"(?:[.;!?](?!\w)|\s?\([^()\n]{1,80}\)[\s.*_]{0,3}(?:\n|\Z)|\s{0,3}(?:\n|\Z)))"
)
_EQUALS = re.compile(r"(?<![<>!=])=(?!=)|≈|\\approx")


def read_number(text: str, *, cut: bool = False) -> Reading:
    """The number that the reply marks as its answer, the last marker's; else the last number of all.

    1. `marked`: on the line behind "####", LaTeX's box, "the answer is", "Answer:", "the total is" and their like: the
       first number, or the first one behind the line's last sign of equality;
    2. `alone`: the first line is a number, perhaps with its unit, and nothing else;
    3. `last`: the last number of the reply, up to where the model asks itself a new question.

    Numbers in words count where there are none in digits, and right behind a marker ("the answer is seven, not 8").

    A number that the reply denies or takes back ("not 12 but 15", "12, no, 15") is passed over, as are errors (± 0.02)
    and confidences ("95% sure", "Confidence: 90"). The numbers of "between 10 and 12", "10-12", "ten or twelve" and
    "1 h 30 min" are `unclear`, and so are words that are no certain number (a few hundred). "One" counts behind "only",
    or as a sentence of its own. A fraction is one number, under the rules `marked_fraction` and `last_fraction`.
    `unclear`: the number is in no form that is read, such as `0,8`. Of a reply that was cut at its budget, the repeats
    of its tail are left out, and a number that ends where it was cut is `cut`: more digits may have been meant.

    >>> read_number("3 + 4 = 7 apples, so the answer is 1,007.50 km.")
    Reading(value=1007.5, status='ok', rule='marked', start=35, end=43, unit='km')
    """
    text = with_plain_digits(text)
    length = length_without_repeats(text) if cut else len(text)
    for end in (*where_a_new_question_begins(text, length), length):
        for rule, find in (("marked", _marked), ("alone", _alone), ("last", _last), ("last", _last_word)):
            number = find(text, end)
            if number is not None:
                return _reading(text, rule, number, cut=cut and number.end == len(text))
    return Reading(None, "none", "")


def read_extracted(text: str, *, cut: bool = False) -> Reading:
    """The number of a reply that was to be a number alone.

    As `read_number` where it is marked; else the only number. `several`: different numbers, and none of them marked.
    `none`: no number, or NONE.

    >>> read_extracted("-1.5e3 m").value, read_extracted("2 or 3").status, read_extracted("NONE").status
    (-1500.0, 'several', 'none')
    """
    text = with_plain_digits(text)
    reading = read_number(text, cut=cut)
    if not reading.rule.startswith("last"):
        return reading
    if len({number.value for number in numbers_of(text) if _is_meant(text, number)}) > 1:
        return Reading(None, "several", "extracted")
    return replace(reading, rule=reading.rule.replace("last", "extracted"))


def _reading(text: str, rule: str, number: Number, *, cut: bool) -> Reading:
    if cut:
        return Reading(None, "cut", rule)
    if number.form == "unclear":
        return Reading(None, "unclear", rule)
    name = f"{rule}_fraction" if number.form == "fraction" else rule
    unit = unit_of(text, number.start, end_with_error(text, number))
    return Reading(number.value, "ok", name, number.start, number.end, unit)


def _marked(text: str, end: int) -> Number | None:
    """The number of the last marker that has one."""
    for match in reversed(deque(_MARKER.finditer(text, 0, end), maxlen=_MARKERS)):
        begin = _first_place(text, match.end())
        line_end = text.find("\n", begin, min(end, begin + _REST))
        stop = line_end if line_end >= 0 else min(end, begin + _REST)
        equals = deque(_EQUALS.finditer(text, begin, stop), maxlen=1)
        starts = (equals[0].end(), begin) if equals else (begin,)
        for start in starts:
            if number := _first_meant(text, start, stop):
                return unclear_as_a_part(text, number)
    return None


def _first_meant(text: str, start: int, stop: int) -> Number | None:
    """The first number in digits; one in words where there are none, or where it stands by itself right behind the
    marker: words within a sentence count what it is about (the two friends have 24)."""
    word = next((number for number in numbers_in_words(text, start, stop) if _is_meant(text, number)), None)
    if word and _NOTHING.fullmatch(text, start, word.start) and _CLOSED.match(text, word.end):
        return word
    return next((number for number in numbers_of(text, start, stop) if _is_meant(text, number)), word)


def _is_meant(text: str, number: Number) -> bool:
    if _ONE.fullmatch(text, number.start, number.end) and not _is_a_number_one(text, number):
        return False
    is_denied_or_taken_back = is_denied(text, number.start, number.end) or is_taken_back(text, number.end)
    return not is_denied_or_taken_back and not is_error_or_confidence(text, number)


def _alone(text: str, end: int) -> Number | None:
    """The number that the first line consists of, where more follows behind an empty line."""
    line = _ALONE.match(text, 0, end)
    number = next(numbers_of(text, line.start(1), line.end(1)), None) if line else None
    if line is None or number is None or text[line.start(1) : number.start].strip(" *_$\\("):
        return None
    behind = text[number.end : line.end(1)].strip(" .*_$\\)")
    return number if not behind or plain_unit(behind) == unit_behind(text, number.end) else None


def _last_word(text: str, end: int) -> Number | None:
    last = deque((word for word in numbers_in_words(text, 0, end) if _is_meant(text, word)), maxlen=1)
    return unclear_as_a_part(text, last[0]) if last else None


def _is_a_number_one(text: str, one: Number) -> bool:
    front = text[max(0, one.start - 80) : one.start]
    return bool(_ONLY.search(front) or (_BEFORE_ONE.search(front) and _BEHIND_ONE.match(text, one.end)))


def _first_place(text: str, place: int) -> int:
    """The place, or that of the next line that is not empty if nothing else stands on this one."""
    blank = re.compile(r"[\s*_]{0,8}").match(text, place)
    return blank.end() if blank and "\n" in blank[0] else place


def _last(text: str, end: int) -> Number | None:
    """The last number; lines at the end are searched first, then twice and more of the text."""
    size = 2048
    while True:
        start = text.rfind("\n", 0, max(0, end - size)) + 1  # a piece from within a number would begin with another one
        if last := deque((number for number in numbers_of(text, start, end) if _is_meant(text, number)), maxlen=1):
            return unclear_as_a_part(text, last[0])
        if start == 0:
            return None
        size *= 8


def read_first_number(text: str) -> Reading:
    """The first digits of a text with their points, commas left out: a minus sign and an exponent are lost.

    For comparison with the study of science questions alone; `read_extracted` reads numbers as they are meant.

    >>> read_first_number("-1,250.5 m").value, read_first_number("3.5e4").value, read_first_number("none").value
    (1250.5, 3.5, None)
    """
    match = _FIRST.search(text)
    if match is None:
        return Reading(None, "none", "")
    try:
        return Reading(float(match[0].replace(",", "")), "ok", "first", *match.span())
    except ValueError:  # 1.2.3
        return Reading(None, "unclear", "first")
