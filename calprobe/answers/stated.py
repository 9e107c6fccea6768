"""A confidence that a model states: how the number is read, and what is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from calprobe.answers.confidence_words import About, first_and_last, is_list_of_options, said_of, stated_numbers
from calprobe.answers.denials import is_denied
from calprobe.answers.reading import MOST_CHARACTERS, Reading
from calprobe.errors import UsageError
from calprobe.words import REVERSED

StatedParser = Literal["strict", "lenient", "paper", "first"]

_N = r"(?P<number>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
# The audit's forms, in its order of precedence (arXiv 2605.02038, appendix A.3, which prints no patterns).
_FREE = r"(?<![\d.,-])"
_PERCENT = rf"{_N}\s*(?:%|percent\b)"
_DECIMAL = r"(?P<number>[0-9]+\.[0-9]+|\.[0-9]+)(?![\d.]*\d|\s*(?:%|percent\b)|\s+out\s+of\b)"
_OUT_OF_100 = rf"{_N}\s+out\s+of\s+100\b"
_FORMS = (("percent", _PERCENT, 100.0), ("decimal", _DECIMAL, 1.0), ("out_of_100", _OUT_OF_100, 100.0))
_PAPER = tuple((rule, re.compile(_FREE + source), scale) for rule, source, scale in _FORMS)
# Ours see a minus too, and refuse what it makes. A hyphen behind a digit is a range, no minus. They read 8e-1, 80 per
# cent and shares of any number: 8/10, 0.9/1.0, 4 out of 5.
_SIGNED = r"(?<![\d.,/])(?P<minus>(?<!\d)[-−])?(?<![.,\d])"
_M = r"(?P<number>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-−+]?[0-9]{1,2}\b)?)"
_SHARE = r"(?:\s{0,3}/\s{0,3}|\s{1,3}out\s{1,3}of\s{1,3})"
_OURS = (
    ("percent", re.compile(_SIGNED + rf"{_M}\s*(?:%|per\s?cent\b)")),
    (
        "out_of",
        re.compile(_SIGNED + rf"{_M}{_SHARE}(?P<of>[0-9]+(?:\.[0-9]+)?)(?![\d.,]*\d|\s?/|\s*(?:%|per\s?cent\b))"),
    ),
    (
        "decimal",
        re.compile(
            _SIGNED + r"(?P<number>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][-−+]?[0-9]{1,2}\b)?|[0-9][eE][-−][0-9]{1,2}\b)"
            rf"(?![\d.]*\d|[eE][-−+]?\d|\s*(?:%|per\s?cent\b)|{_SHARE}\d)"
        ),
    ),
)
_OTHER = re.compile(r"(?:/|\bout\s{1,3}of)\s{0,3}[-−]?$")
_OF_A_WHOLE = re.compile(r"\s?(?:%|per\s?cent)\s{1,3}of\b")  # 12% of all ships
_RANGE_BEHIND = re.compile(r"\s{0,3}%?\s{0,3}(?:to|[-–—])\s{0,3}\.?\d")  # 0.0 to 1
_RANGE_BEFORE = re.compile(
    r"(?:\d\s{0,3}%?\s{0,3}(?:to|[-–—])|\bbetween\s{1,3}[\d.]{1,8}%?\s{1,3}and)\s{0,3}$"
)  # 70-80%
_ZERO_TO_ONE = re.compile(r"0(?:\.[0-9]+)?|1(?:\.0+)?")  # as the study of science questions reads a confidence
# All of the reply, if it is fully matched.
_WHOLE = re.compile(
    rf"(?i:[\W_]*(?:my\s)?(?:confidence|certainty|probability)(?:\s(?:level|score|in\smy\sanswer))?\s?(?:is|[:=]))?"
    rf"[\W_]*?(?P<minus>[-−])?{_N}[\W_]*"
)


@dataclass(frozen=True, slots=True)
class _Value:
    rule: str
    confidence: float  # before the scale is turned around
    start: int
    end: int
    percent: float | None = None
    stop: int = -1  # where what belongs to it ends: a percent sign


def read_stated(text: str, scale: str = "x", *, cut: bool = False, parser: StatedParser = "strict") -> Reading:
    """The confidence in [0, 1] that a reply states, or why there is none. Nothing is clipped.

    `strict` reads 75%, 75 percent, 0.75, .75, 75 out of 100, 3/4, and a whole reply of 0 or 1 where a number from 0 to
    1 was asked for. Of a number in a sentence it wants a word of confidence there, and none that denies it ("not 100%
    sure"); a "20% chance that I am wrong" is 0.8 on every scale. Several forms may stand in a reply if they agree. It
    refuses: different values (`several`); a value
    outside [0, 1] (`off_scale`); a percentage below 1 other than 0, which may be a slip of the scale, and a whole
    number without its scale (`scale`); a reply that was cut at its budget right behind a digit, or before any number
    (`cut`); all else (`none`). `lenient` also reads a whole reply of 75 where a percentage was asked for, with the
    status `lenient`. `paper` has the audit's rules: the first form that occurs, percentages before decimals before "out
    of 100"; one value of that form in [0, 1], or nothing. `first` has the rule of the study of science questions: the
    first 0, 0.x or 1 anywhere, whatever stands around it, so that 10% is 1.

    Args:
        text: the reply.
        scale: what a number stands for, `x` or `x/100`; `1 - x` and `1 - x/100` ask for the probability of being wrong.
        cut: whether the reply ended at its budget.
        parser: which rules.
    Raises:
        UsageError: another scale, or another parser.

    >>> [read_stated(text).value for text in ("0.8", "I am 75% sure.", "0.9 (90%)", "0.7 or 0.8", "1.5")]
    [0.8, 0.75, 0.9, None, None]
    """
    if parser not in PARSERS:
        raise UsageError(f"no parser of stated confidence {parser!r}; choose {', '.join(PARSERS)}")
    forward = scale.removeprefix(REVERSED)
    if forward not in ("x", "x/100"):
        raise UsageError(f"stated confidence on the scale {scale!r} cannot be read; use x, x/100, 1 - x or 1 - x/100")
    reading = PARSERS[parser](text[:MOST_CHARACTERS], forward, cut or len(text) > MOST_CHARACTERS)
    about = said_of(text, reading.start, reading.end) if parser in ("strict", "lenient") else None
    return as_confidence(reading, about or ("right" if forward == scale else "wrong"))


def as_confidence(reading: Reading, about: About) -> Reading:
    """A reading whose value says how likely the answer is to be right or wrong, as confidence in being right."""
    if about == "right" or not isinstance(reading.value, float):
        return reading
    return replace(reading, value=round(1 - reading.value, 12))  # 1 - 0.7 is 0.3, as on the scale itself


def _paper(text: str, scale: str, cut: bool) -> Reading:
    for rule, pattern, share in _PAPER:
        values = [
            _Value(rule, float(match["number"]) / share, *match.span("number")) for match in pattern.finditer(text)
        ]
        if values:
            return _one(values)
    return Reading(None, "none", "")


def _first(text: str, scale: str, cut: bool) -> Reading:
    match = _ZERO_TO_ONE.search(text)
    return Reading(float(match[0]), "ok", "first", *match.span()) if match else Reading(None, "none", "")


def _strict(text: str, scale: str, cut: bool) -> Reading:
    values = [value for rule, pattern in _OURS for value in first_and_last(_values(text, rule, pattern))]
    if cut and (text[-1:].isdigit() or (text.endswith(".") and not values)):
        return Reading(None, "cut", "")
    stated = _stated(text, values)
    if not stated:
        meant = [value for value in values if not is_denied(text, value.start, value.stop)]
        if len({value.confidence for value in meant}) > 1 or any(map(partial(_is_of_a_range, text), meant)):
            return Reading(None, "several", values[0].rule)
        return _bare(text, scale, cut)
    reading = _one(stated)
    if reading.status == "off_scale" and reading.rule == "decimal" and scale == "x/100" and _WHOLE.fullmatch(text):
        return _bare(text, scale, cut)  # 75.5 lacks its scale, as 75 does
    if reading.value is not None and any(map(partial(_is_of_a_range, text), stated)):
        return Reading(None, "several", reading.rule)
    if reading.value is not None and all(value.percent is not None and 0 < value.percent < 1 for value in stated):
        return Reading(None, "scale", reading.rule)
    return reading


def _stated(text: str, values: Iterable[_Value]) -> list[_Value]:
    """The values that the reply states of its answer: not denied, no numbers of its topic."""
    ordered = sorted(values, key=lambda value: value.start)
    places = set(stated_numbers(text, [(value.start, value.stop) for value in ordered]))
    if is_list_of_options(text):
        return [ordered[place] for place in sorted(places)]
    return [value for place, value in enumerate(ordered) if place in places or _is_a_percentage(text, value)]


def _is_a_percentage(text: str, value: _Value) -> bool:
    """Whether it is a percentage that is neither denied nor one of something: 12% of all ships."""
    if value.rule != "percent" or _OF_A_WHOLE.match(text, value.end):
        return False
    return not is_denied(text, value.start, value.stop)


def _lenient(text: str, scale: str, cut: bool) -> Reading:
    strict = _strict(text, scale, cut)
    whole = _WHOLE.fullmatch(text)
    if strict.status != "scale" or strict.rule != "bare" or whole is None or scale != "x/100":
        return strict
    return Reading(float(whole["number"]) / 100, "lenient", "bare", *whole.span("number"))


def _values(text: str, rule: str, pattern: re.Pattern[str]) -> list[_Value]:
    """The values of one form."""
    values = []
    for match in pattern.finditer(text):
        begin = match.start()
        if _OTHER.search(text, max(0, begin - 12), begin):
            continue
        number = float(match["number"].replace("−", "-")) * (-1 if match["minus"] else 1)
        percent = number if rule == "percent" else None
        of = 100.0 if rule == "percent" else 1.0
        if rule == "out_of":
            of = float(match["of"])
            if of == number == 50:  # 50/50 are even odds
                of = 100.0
        share = number / of if of else math.inf
        values.append(_Value(rule, share, *match.span("number"), percent, match.end()))
    return values


def _is_of_a_range(text: str, value: _Value) -> bool:
    begin = value.start
    return bool(_RANGE_BEHIND.match(text, value.end) or _RANGE_BEFORE.search(text, max(0, begin - 24), begin))


def _one(values: list[_Value]) -> Reading:
    """The value that all agree on."""
    first = values[0]
    if len({round(value.confidence, 12) for value in values}) > 1:
        return Reading(None, "several", first.rule)
    if not 0 <= first.confidence <= 1:
        return Reading(None, "off_scale", first.rule)
    return Reading(first.confidence, "ok", first.rule, first.start, first.end)


def _bare(text: str, scale: str, cut: bool) -> Reading:
    """A reply without any of the forms: it may be a whole number."""
    whole = _WHOLE.fullmatch(text)
    if whole is None:
        return Reading(None, "cut" if cut else "none", "")
    number = float(whole["number"])
    if whole["minus"] or number > (1 if scale == "x" else 100):
        return Reading(None, "off_scale", "bare")
    if scale == "x/100":
        return Reading(None, "scale", "bare")
    return Reading(number, "ok", "bare", *whole.span("number"))


PARSERS: Mapping[StatedParser, Callable[[str, str, bool], Reading]] = {
    "strict": _strict,
    "lenient": _lenient,
    "paper": _paper,
    "first": _first,
}
