"""Numbers in words as digits: cardinals, ordinals, years as two numbers, Roman numerals."""

from __future__ import annotations

import re
from collections.abc import Iterator

from calprobe.answers.number_answers import Number, sign_in_words

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
_ROMAN_UNITS = {"": 0, "i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9}


def with_digits(text: str) -> str:
    """A text in lower case with digits for numbers in words, `3rd` for ordinals, and for Roman numerals up to 39.

    A Roman numeral has two letters or more: `i` and `x` are words and names. Two numbers that name a year are one.

    >>> with_digits("world war ii, twenty-one, one hundred and five, 1.5 million, the third, nineteen eighty-four")
    'world war 2, 21, 105, 1500000, the 3rd, 1984'
    """
    return _ROMAN.sub(_of_roman, _NUMBER.sub(_of_words, text))


_CARDINAL = re.compile(
    rf"(?<![\w.,-])(?:{'|'.join(sorted(_CARDINALS, key=len, reverse=True))})"
    rf"(?:(?:-|[^\S\n]+)(?:and[^\S\n]+)?(?:{'|'.join(sorted(_CARDINALS, key=len, reverse=True))}))*(?![\w-])",
    re.IGNORECASE,
)


def numbers_in_words(text: str, start: int = 0, end: int | None = None) -> Iterator[Number]:
    """The cardinal numbers in words of a text, from left to right, each where it stands.

    >>> [(number.value, number.start) for number in numbers_in_words("It is twenty-one, or three hundred and five.")]
    [(21.0, 6), (305.0, 21)]
    """
    for match in _CARDINAL.finditer(text, start, len(text) if end is None else end):
        digits = _NUMBER.sub(_of_words, match[0].casefold())
        if digits.isdigit():  # not several: one two three
            sign = sign_in_words(text, match.start(), start)
            value = float(digits)
            yield Number(value, "plain", *match.span()) if sign is None else Number(-value, "plain", sign, match.end())


def _of_roman(match: re.Match[str]) -> str:
    return str(10 * len(match[1]) + _ROMAN_UNITS[match[2]])


def _of_words(match: re.Match[str]) -> str:
    """The words as one number, or as several where they cannot be one: `one two three`."""
    numbers: list[str] = []
    group: list[str] = []
    for word in re.split(r"[\s-]+", match[0]):
        if group and not _goes_on(group, word):
            numbers.append(_shown(group))
            group = []
        if word == "and" and not group:
            numbers.append(word)
        else:
            group.append(word)
    return " ".join(_years([*numbers, _shown(group)]))


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
