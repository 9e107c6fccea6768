"""Numbers in words as digits: cardinals, ordinals, years as two numbers, Roman numerals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import isnan, nan

from calprobe.answers.number_answers import Number, numbers_of, sign_in_words, with_part

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_UNITS = {word: value for value, word in enumerate(_SMALL)}
_FROM_TWENTY = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TENS = {word: 10 * value for value, word in enumerate(_FROM_TWENTY, start=2)}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_IRREGULAR = {
    "first": "one",
    "second": "two",
    "third": "three",
    "fifth": "five",
    "eighth": "eight",
    "ninth": "nine",
    "twelfth": "twelve",
}
_CARDINALS = {**_UNITS, **_TENS, "hundred": 100, **_SCALES}
_ORDINALS = {
    **{word + "th": word for word in _CARDINALS if not word.endswith("y")},
    **{word[:-1] + "ieth": word for word in _TENS},
    **_IRREGULAR,
}
_WORD = "|".join(sorted((*_CARDINALS, *_ORDINALS), key=len, reverse=True))
_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
# One number: words with blanks, hyphens or "and" between them; digits may stand before a scale: 1.5 million.
_NUMBER = re.compile(
    rf"(?<![\w.,])(?:{_DIGITS}[^\S\n]+(?=(?:hundred|thousand|million|billion|trillion)\b))?(?:{_WORD})"
    rf"(?:(?:[^\S\n]*-[^\S\n]*|[^\S\n]+)(?:and(?:[^\S\n]+|-))?(?:{_WORD}))*(?!\w)"
)
_ROMAN = re.compile(r"(?<![\w.'’-])(?=[ivx]{2})(x{0,3})(ix|iv|v?i{0,3})(?![\w-])")
# Words behind which a letter or an ordinal is no part of a name, and which may follow a name: "it is x", "on the 3rd".
_NO_NAME = (
    r"(?:a|an|the|of|in|on|at|by|for|from|to|with|and|or|but|is|was|are|were|be|as|than|until|till|since|before|after"
    r"|during|near|between|into|about|it|its|not|no|if|then|so|letters?|variables?|axis|coordinates?|values?|signs?|times"
    r"|solve|equals?|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_NAME = rf"(?<![\w'’])(?!{_NO_NAME}\b)[^\W\d_]{{3,}}"
# Henry the Eighth is Henry VIII.
_NTH = re.compile(rf"({_NAME}) the ([1-9][0-9]?)(?:st|nd|rd|th)(?=[^\w\n]*\Z|,|\s(?:of|was|is|and|who)\b)")
# Charles V, Rocky V: where the name ends or a small word follows; "Roe v Wade" has another v.
_ONE_LETTER = re.compile(
    rf"({_NAME}) ([vx])(?=[^\w\s.]*(?:\.?[^\w\s]*\Z|\s(?:of|was|is|and|who|in|had|has|became|ruled|or|but|to|at|as)\b))"
)
_WAR = re.compile(r"(?<=\bworld war )i(?![\w'’-])")
_ROMAN_UNITS = {"": 0, "i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9}


def with_digits(text: str) -> str:
    """A text in lower case with digits for numbers in words, `3rd` for ordinals, and for Roman numerals up to 39.

    A Roman numeral has two letters or more, as `i` and `x` are words and names; `v` and `x` behind a name are numerals,
    too, and an ordinal there is one (Henry the Eighth). Two numbers that name a year are one.

    >>> with_digits("world war ii, twenty-one, one hundred and five, 1.5 million, the third, nineteen eighty-four")
    'world war 2, 21, 105, 1500000, the 3rd, 1984'
    """
    digits = _ROMAN.sub(_of_roman, _NUMBER.sub(_of_words, text))
    named = _ONE_LETTER.sub(lambda match: f"{match[1]} {'5' if match[2] == 'v' else '10'}", digits)
    return _WAR.sub("1", _NTH.sub(r"\1 \2", named))


_PLAIN_WORD = "|".join(sorted(_CARDINALS, key=len, reverse=True))
_DENOMINATORS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4} | {
    ordinal + plural: int(_CARDINALS[word])
    for ordinal, word in _ORDINALS.items()
    if ordinal not in ("zeroth", "first", "second")
    for plural in ("", "s")
}
_DENOMINATOR = "|".join(sorted((*_DENOMINATORS, "first", "second"), key=len, reverse=True))
_CARDINAL = re.compile(
    rf"(?<![\w.,-])(?:(?:{_PLAIN_WORD})(?:(?:-|[^\S\n]+)(?:and[^\S\n]+)?(?:{_PLAIN_WORD}))*|dozen)"
    rf"(?!\w|-(?!(?:{_DENOMINATOR})(?!\w)))",
    re.IGNORECASE,
)
# Behind a number: two thirds, three-quarters; the twenty-third is no cardinal number.
_BELOW = re.compile(rf"(?P<joint>-|[^\S\n]+)(?P<word>{_DENOMINATOR})(?![\w-])(?P<of>[^\S\n]of\b)?", re.IGNORECASE)
# In front of a lone "million": that it is one, or half of one. Behind other words (a few hundred) it is no number.
_A = re.compile(
    r"(?:\A|[\n.:;!?(=]|(?<!of )(?P<half>\bhalf )?\ban?\s"
    r"|\b(?:is|was|about|around|approximately|exactly|nearly|almost|say)\s)"
    r"[\s*_\"“]{0,3}\Z",
    re.IGNORECASE,
)
_OF_A_SCALE = re.compile(rf"[^\S\n]of[^\S\n](?:an?|one)[^\S\n](?:dozen|hundred|{'|'.join(_SCALES)})\b", re.IGNORECASE)
_POINT = re.compile(rf"[^\S\n]point(?P<decimals>(?:[^\S\n](?:{'|'.join(_SMALL[:10])})(?!\w)){{1,12}})", re.IGNORECASE)
_FRONT = 30  # characters in front of a number that are looked at


def numbers_in(text: str, start: int = 0, end: int | None = None) -> Iterator[Number]:
    """The numbers of a text in digits and in words, from left to right.

    >>> [number.value for number in numbers_in("three of 5 million, or two")]
    [3.0, 5000000.0, 2.0]
    """
    digits = list(numbers_of(text, start, end))
    ends = {number.start: number.end for number in digits}
    words = [
        word
        for word in numbers_in_words(text, start, end)
        if not any(begin < word.end and word.start < stop for begin, stop in ends.items())
    ]
    yield from sorted((*digits, *words), key=lambda number: number.start)


def numbers_in_words(text: str, start: int = 0, end: int | None = None) -> Iterator[Number]:
    """The cardinal numbers and fractions in words of a text, from left to right, each where it stands.

    Words that are no certain number (one two three, a few hundred, three quarters) are unclear.

    >>> [(number.value, number.start) for number in numbers_in_words("It is twenty-one, or three hundred and five.")]
    [(21.0, 6), (305.0, 21)]
    >>> [number.value for number in numbers_in_words("two and a half million, half a dozen, two thirds of it")]
    [2500000.0, 6.0, 0.6666666666666666]
    """
    stop = start
    for match in _CARDINAL.finditer(text, start, len(text) if end is None else end):
        number = _number_of(text, match) if match.start() >= stop else None
        if number is None:
            continue
        stop = number.end
        sign = sign_in_words(text, number.start, start)
        yield number if sign is None else replace(number, value=-number.value, start=sign)


def _number_of(text: str, match: re.Match[str]) -> Number | None:
    """The number that the words and those around them are; None: they are an ordinal one."""
    begin, end = match.span()
    unclear = Number(nan, "unclear", begin, end)
    words = re.split(r"[\s-]+", match[0].casefold())
    numbers, has_hyphen = (["12"], False) if words == ["dozen"] else _split(match[0].casefold())
    digits = " ".join(_years(numbers))
    if not digits.isdigit() or has_hyphen:  # several: one two three, ten-twelve
        return unclear
    value = float(digits)
    if below := _BELOW.match(text, end):
        return _with_denominator(unclear, words, value, below)
    if words[0] == "dozen" or words[0] == "hundred" or words[0] in _SCALES:
        front = _A.search(text[max(0, begin - _FRONT) : begin])
        if front is None:
            return unclear
        if front["half"]:
            return Number(value / 2, "plain", begin - len(front[0]), end)
    if point := _POINT.match(text, end):
        decimals = "".join(str(_UNITS[word]) for word in point["decimals"].casefold().split())
        value, end = float(f"{digits}.{decimals}"), point.end()
    elif text[max(0, begin - 6) : begin].casefold() == "point ":
        return unclear
    value, end = with_part(text, value, end)
    return Number(value, "unclear" if isnan(value) else "plain", begin, end)


def _with_denominator(unclear: Number, words: list[str], above: float, below: re.Match[str]) -> Number | None:
    word = below["word"].casefold()
    if words[-1] in _TENS or words[-1] == "hundred" or words[-1] in _SCALES:
        return None if not word.endswith("s") else unclear
    if word == "second":  # ten second intervals
        return replace(unclear, value=above, form="plain")
    size = _DENOMINATORS.get(word, 0)
    if above >= size > 0 and word in ("halves", "quarters"):  # things that are counted
        return replace(unclear, value=above, form="plain")
    is_counted = size == 4 and word.startswith("quarter") and below["joint"] != "-" and not below["of"]
    is_plural = word.endswith("s")
    if above >= size or is_counted or is_plural != (above > 1) or _OF_A_SCALE.match(below.string, below.end("word")):
        return unclear
    return Number(above / size, "fraction", unclear.start, below.end("word"))


def _of_roman(match: re.Match[str]) -> str:
    return str(10 * len(match[1]) + _ROMAN_UNITS[match[2]])


def _of_words(match: re.Match[str]) -> str:
    """The words as one number, or as several where they cannot be one: `one two three`."""
    return " ".join(_years(_split(match[0])[0]))


def _split(text: str) -> tuple[list[str], bool]:
    """The numbers that the words are, and whether a hyphen stands between two of them: ten-twelve."""
    numbers: list[str] = []
    group: list[str] = []
    has_hyphen, joint = False, ""
    for part in re.split(r"([\s-]+)", text):
        if not any(map(str.isalnum, part)):
            joint = part
            continue
        if group and not _goes_on(group, part):
            numbers.append(_shown(group))
            group = []
            has_hyphen |= "-" in joint
        if part == "and" and not group:
            numbers.append(part)
        else:
            group.append(part)
    return [*numbers, _shown(group)], has_hyphen


def _goes_on(group: list[str], word: str) -> bool:
    """Whether a word belongs to the number that has begun."""
    last = group[-1]
    if last in _ORDINALS:
        return False
    if word == "and":
        return last == "hundred" or last in _SCALES
    base = _ORDINALS.get(word, word)
    value = _CARDINALS[base]
    if last == "and":
        return value < 100
    if base in _SCALES:
        return all(earlier not in _SCALES or _SCALES[earlier] > value for earlier in group)
    if value == 100:
        return _UNITS.get(last, 0) > 0 and "hundred" not in group
    if last in _TENS:
        return 0 < value < 10
    return last == "hundred" or last in _SCALES


def _shown(group: list[str]) -> str:
    words = [word for word in group if word != "and"]
    *_, last = words
    ordinal = last in _ORDINALS
    value = _value([_ORDINALS.get(word, word) for word in words])
    digits = str(int(value)) if float(value).is_integer() else f"{value:.12g}"
    behind = " and" if group[-1] == "and" else ""
    return f"{digits}{_ending(int(value))}" if ordinal else f"{digits}{behind}"


def _value(words: list[str]) -> float:
    total, group = 0.0, 0.0
    for word in words:
        if word in _SCALES:
            total, group = total + (group or 1) * _SCALES[word], 0.0
        elif word == "hundred":
            group = (group or 1) * 100
        else:
            group += float(word.replace(",", "")) if word[0].isdigit() else _CARDINALS[word]
    return total + group


def _ending(value: int) -> str:
    if value % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


def _years(numbers: list[str]) -> list[str]:
    """`19 84` as 1984: a number from 10 to 20 with one from 10 to 99 behind it, and no third."""
    if len(numbers) == 2 and all(number.isdigit() for number in numbers):
        first, second = map(int, numbers)
        if 10 <= first <= 20 and 10 <= second <= 99:
            return [f"{first}{second}"]
    return numbers
