"""A stated confidence on the scale that was asked for: a number, an expression, or the letter of an expression.

Beside its reader all replies that a scale allows: the closed set that a model chooses from when it states one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from string import ascii_lowercase

from calprobe.answers.confidence_words import first_and_last, said_of, stated_numbers
from calprobe.answers.denials import is_denied
from calprobe.answers.reading import MOST_CHARACTERS, Reading
from calprobe.answers.stated import as_confidence
from calprobe.errors import UsageError
from calprobe.words import REVERSED

Forms = tuple[str, ...]  # of one reply; the first is its name

_TOPS = {"x": 1.0, "x/100": 100.0, "x/10": 10.0}
_N = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-−+]?[0-9]{1,2}(?!\w))?"
# A number that is no part of a word, of 0,8 or of 1.2.3. A hyphen behind a digit or letter is no minus.
_NUMBER = re.compile(
    rf"(?<![^\W_])(?<![.,])(?P<minus>[-−])?(?<![.,])(?P<number>{_N})(?![.,]?[0-9])(?!(?!per\s?cent\b)[^\W\d_])"
    rf"(?P<suffix>\s{{0,3}}(?P<percent>%|per\s?cent\b)|\s{{0,3}}(?:/|out\s{{1,3}}of)\s{{0,3}}(?P<of>{_N})(?![.,]?[0-9]))?"
)
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NEGATED = re.compile(
    r"(?:\b(?:not|never|hardly)|n['’]t)\s{1,3}(?:\w{1,12}\s{1,3}){0,2}$", re.IGNORECASE
)  # not (at all) likely
# An expression that speaks of something else than the answer: people would likely agree; the most likely cause; it is
# unlikely that he was there.
_ADVERB = re.compile(
    r"\b(?:would|will|could|may|might|can|should|are|is|was|were|has|have|most)\s{1,3}(?:most\s|very\s)?$",
    re.IGNORECASE,
)
_OF_A_VERB = re.compile(
    r"\s{1,3}(?!be\b|is\b|that\b|to\s(?:be|have)\b|correct|right|true|accurate|not\b|in\b|as\b|but\b|and\b|or\b|because\b|since\b|given\b)[a-z]{2}"
)
_OF_A_NOUN = re.compile(r"\b(?:the|a|an)\s{1,3}(?:most\s|very\s)?$", re.IGNORECASE)
_THAT = re.compile(r"\s{1,3}that\b(?P<said>[^.!?\n]*)", re.IGNORECASE)
_OF_THE_ANSWER = re.compile(r"\b(?:answer|response|correct|right|true|accurate|my|i)\b", re.IGNORECASE)
_OWN_LETTER = re.compile(r"(?<![^\W_])([A-Za-z])[\s)\]:.=–—-]{1,4}[\"'“‘(\[*]{0,3}$")  # d: Likely


@dataclass(frozen=True, slots=True)
class _Found:
    """What one place of a reply says."""

    status: str  # ok, lenient, off_scale, ambiguous
    rule: str
    start: int
    end: int
    stop: int  # with what belongs to it: a percent sign
    confidences: tuple[float, ...]  # before the direction: one of what is readable, two of what is ambiguous


def read_on_scale(
    text: str,
    scale: str = "x",
    expressions: Mapping[str, float] | None = None,
    *,
    cut: bool = False,
    lenient: bool = False,
) -> Reading:
    """The confidence in [0, 1] that a reply states on its scale, or why there is none. Nothing is clipped.

    | scale | `ok` | `lenient` |
    |---|---|---|
    | `x` | 0.85 | 85%, 17/20, 85 out of 100 |
    | `x/100` | 85%, 85, 85 out of 100 | 17/20 |
    | `x/10` | 8.5, 8.5/10 | 85% |
    | `expressions` | an expression as a whole, in any case | |
    | `letters` | a letter alone, or with its expression | an expression without its letter |

    A value outside the scale is `off_scale`. `ambiguous`: a bare number above 0 and up to 1 where a percentage was
    asked for, a letter with the expression of another, an expression behind "not". `several`: values that differ.
    `cut`: the reply ended at its budget right behind a digit or word, or before any value. Else `none`. The scales
    `1 - x`, `1 - x/100`, .. ask for the probability of being wrong: the confidence is 1 minus the value.

    Args:
        text: the reply.
        scale: one of `calprobe.prompts.types.SCALES`.
        expressions: what each stands for, in the order of the letters; for the scales `expressions` and `letters`.
        cut: whether the reply ended at its budget.
        lenient: whether a value of that status is given; without, the reading has the status and no value.
    Raises:
        UsageError: another scale, or one of expressions without expressions.

    >>> [read_on_scale(text, "x/10").value for text in ("8.5", "9/10", "11")]
    [0.85, 0.9, None]
    >>> read_on_scale("Probably not.", "expressions", {"Probably": 0.7, "Probably Not": 0.25}).value
    0.25
    >>> read_on_scale("20%", "1 - x/100").value
    0.8
    """
    forward = scale.removeprefix(REVERSED)
    if forward in _TOPS:
        places = list(_numbers(text[:MOST_CHARACTERS], forward))
    else:
        reader = _letters if forward == "letters" else _expressions
        places = list(reader(text[:MOST_CHARACTERS], _expressions_of(scale, expressions)))
    cut = cut or len(text) > MOST_CHARACTERS
    if cut and forward in _TOPS and text.rstrip()[-1:].isdigit():
        return Reading(None, "cut", places[-1].rule if places else "")
    reading = _one(places, text.rstrip(), cut)
    if reading.status == "lenient" and not lenient:
        return Reading(None, "lenient", reading.rule)
    about = said_of(text, reading.start, reading.end) if forward in _TOPS else None
    return as_confidence(reading, about or ("right" if scale == forward else "wrong"))


def _one(places: Sequence[_Found], text: str, cut: bool) -> Reading:
    """The value that all places agree on."""
    if not places:
        return Reading(None, "cut" if cut else "none", "")
    if cut and _may_go_on(places[-1], text):
        return Reading(None, "cut", places[-1].rule)
    readable = sorted(
        (place for place in places if place.status in ("ok", "lenient")), key=lambda place: place.status != "ok"
    )
    if not readable:
        values = {place.confidences for place in places}
        return Reading(None, "several" if len(values) > 1 else places[0].status, places[0].rule)
    best = readable[0]
    value = best.confidences[0]
    if any(place.status == "off_scale" or not _says(place, value) for place in places):
        return Reading(None, "several", best.rule)
    return Reading(value, best.status, best.rule, best.start, best.end)


def _may_go_on(last: _Found, text: str) -> bool:
    """Whether the last value of a reply that was cut may have had more digits or words."""
    behind = text[last.stop :]
    return (not behind and text[-1:].isalnum()) or (behind == "." and last.rule == "number")


def _says(place: _Found, value: float) -> bool:
    return any(abs(confidence - value) < 1e-9 for confidence in place.confidences)


def _numbers(text: str, scale: str) -> Iterator[_Found]:
    """What each number of the text stands for that states a confidence; without any, what several others do."""
    numbers = first_and_last(list(_every_number(text, scale)))
    if stated := stated_numbers(text, [(number.start, number.stop) for number in numbers]):
        return iter([numbers[at] for at in stated])
    affirmed = [number for number in numbers if not is_denied(text, number.start, number.stop)]
    return iter(affirmed if len({number.confidences for number in affirmed}) > 1 else [])


def _every_number(text: str, scale: str) -> Iterator[_Found]:
    for match in _NUMBER.finditer(text):
        number = float(match["number"].replace("−", "-")) * (-1 if match["minus"] else 1)
        top, rule, usual = _TOPS[scale], "number", True
        if match["percent"]:
            top, rule, usual = 100.0, "percent", scale == "x/100"
        elif match["of"]:
            usual = float(match["of"]) == top
            top, rule = float(match["of"]), "out_of"
            if number == top == 50:  # 50/50 are even odds
                top, usual = 100.0, False
        span = (*match.span("number"), match.end())
        if number < 0 or number > top or top == 0:
            yield _Found("off_scale", rule, *span, (number,))
        elif rule == "number" and scale == "x/100" and 0 < number <= 1:
            yield _Found("ambiguous", rule, *span, (number, number / 100))
        else:
            yield _Found("ok" if usual else "lenient", rule, *span, (number / top,))


def _expressions(text: str, table: Mapping[str, float]) -> Iterator[_Found]:
    """What each expression of the text stands for, of several at one place the longest."""
    expressions = tuple(table)
    for match in _pattern(expressions).finditer(text):
        span = (*match.span(), match.end())
        if _is_of_another(text, *match.span()):
            yield _Found("ambiguous", "expression", *span, ())
        else:
            assert match.lastgroup is not None, "one of the expressions has matched"
            yield _Found("ok", "expression", *span, (table[expressions[int(match.lastgroup[1:])]],))


def _is_of_another(text: str, start: int, end: int) -> bool:
    """Whether the expression is denied, or does not speak of the answer."""
    earliest = max(0, start - 40)
    if _NEGATED.search(text, earliest, start):
        return True
    if _OF_A_VERB.match(text, end) and (
        _ADVERB.search(text, earliest, start) or _OF_A_NOUN.search(text, earliest, start)
    ):
        return True
    that = _THAT.match(text, end)
    return that is not None and not _OF_THE_ANSWER.search(that["said"])


def _letters(text: str, table: Mapping[str, float]) -> Iterator[_Found]:
    """What the letters stand for, if the text has nothing but letters, or a letter and an expression."""
    values = dict(zip(ascii_lowercase, table.values(), strict=False))
    words = list(_WORDS.finditer(text))
    lone = [len(word[0]) == 1 and word[0].isascii() and word[0].isalpha() for word in words]
    if words and all(lone):
        for word in words:
            yield _letter(word, values)
        return
    phrase = " ".join(word[0].casefold() for word in words[1:])
    spoken = [" ".join(map(str.casefold, _WORDS.findall(name))) for name in table]
    if words and lone[0] and phrase in spoken:
        statement, place = _letter(words[0], values), spoken.index(phrase)
        if statement.status == "ok" and words[0][0].casefold() == ascii_lowercase[place]:
            yield statement
        else:
            yield replace(statement, status="ambiguous")
        return
    for expression in _expressions(text, table):
        letter = _OWN_LETTER.search(text, max(0, expression.start - 8), expression.start)
        is_another = letter is not None and values.get(letter[1].casefold()) not in (None, *expression.confidences)
        yield replace(
            expression,
            status="ambiguous" if is_another else "lenient" if expression.status == "ok" else expression.status,
        )


def _letter(word: re.Match[str], values: Mapping[str, float]) -> _Found:
    letter = word[0].casefold()
    is_known = letter in values
    value = values[letter] if is_known else -float(ord(letter))
    return _Found("ok" if is_known else "off_scale", "letter", *word.span(), word.end(), (value,))


@lru_cache(maxsize=64)
def _pattern(expressions: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(range(len(expressions)), key=lambda place: -len(expressions[place]))
    ways = [(place, r"\s{1,3}".join(map(re.escape, expressions[place].split()))) for place in longest_first]
    either = "|".join(f"(?P<e{place}>{way})" for place, way in ways)
    return re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])", re.IGNORECASE)


def closed_replies(scale: str, expressions: Mapping[str, float] | None = None) -> tuple[Forms, ...]:
    """The replies of a scale, each in the forms in which it may be written; `read_on_scale` reads all of them.

    `x`: 0.00 to 1.00 by hundredths, tenths with one decimal too, and 0 and 1. `x/100`: 0% to 100%, and without the
    sign. `x/10`: 0 to 10. `expressions`: each as it stands, and in lower case. `letters`: a, b, .., and A, B, ..

    Args:
        scale: one of `calprobe.prompts.types.SCALES`; the direction changes nothing.
        expressions: of the scales `expressions` and `letters`.
    Raises:
        UsageError: another scale, or one of expressions without expressions.

    >>> closed_replies("x")[80], closed_replies("1 - x/100")[7], len(closed_replies("x/10"))
    (('0.80', '0.8'), ('7%', '7'), 11)
    >>> closed_replies("letters", {"Never": 0.0, "Ever": 1.0})
    (('a', 'A'), ('b', 'B'))
    """
    forward = scale.removeprefix(REVERSED)
    if forward == "x":
        return tuple(map(_decimal, range(101)))
    if forward == "x/100":
        return tuple((f"{percent}%", f"{percent}") for percent in range(101))
    if forward == "x/10":
        return tuple((f"{tenths}",) for tenths in range(11))
    table = _expressions_of(scale, expressions)
    if forward == "letters":
        return tuple((letter, letter.upper()) for letter in ascii_lowercase[: len(table)])
    return tuple(tuple(dict.fromkeys((expression, expression.lower()))) for expression in table)


def _expressions_of(scale: str, expressions: Mapping[str, float] | None) -> Mapping[str, float]:
    """The expressions of a scale that has some. Raises UsageError for another scale, and without expressions."""
    if scale.removeprefix(REVERSED) not in ("expressions", "letters"):
        raise UsageError(f"no scale {scale!r}; use {', '.join(_TOPS)}, expressions or letters, or 1 - one of these")
    if not expressions:
        raise UsageError(f"the scale {scale!r} needs the expressions and what each stands for")
    return expressions


def _decimal(hundredths: int) -> Forms:
    """0.85; 0.80 and 0.8; 1.00, 1.0 and 1."""
    forms = [f"{hundredths / 100:.2f}"]
    if hundredths % 10 == 0:
        forms.append(f"{hundredths / 100:.1f}")
    if hundredths % 100 == 0:
        forms.append(f"{hundredths // 100}")
    return tuple(forms)
