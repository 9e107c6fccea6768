"""What kind of answer a short text is: a year, a number, a name."""

from __future__ import annotations

import re
from typing import Literal, get_args

from calprobe.answers.short import normalised

AnswerType = Literal["yes_no", "year", "date", "number", "name", "phrase", "sentence"]
ANSWER_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)

_YES_NO = frozenset(("yes", "no", "true", "false"))
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_YEAR = re.compile(r"(?:1[0-9]|20)[0-9]{2}")
_DATE = re.compile(rf"(?=.*\b(?:{_MONTHS}))(?=.*[0-9])|[0-9]{{1,4}}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,4}}$", re.IGNORECASE)
_NUMBER = re.compile(r"\W{0,3}[0-9][0-9.,]*\W{0,3}(?:\w+\W{0,3}){0,3}")
_SMALL = frozenset(
    ("a", "an", "and", "at", "de", "del", "di", "for", "in", "la", "le", "of", "on", "or", "the", "to", "van", "von")
)
_SENTENCE = 7  # words


def answer_type(text: str) -> AnswerType:
    """The type of a short answer, by its form alone.

    `year`: four digits from 1000 to 2099; `date`: a month with a number, or 3/14/1879; `number`: a number with three
    words at most; `name`: words that begin with capitals; `sentence`: seven words or more; else `phrase`.

    >>> [answer_type(text) for text in ("1969", "12 km", "Gulf of Mexico", "a red dwarf", "May 4, 1980")]
    ['year', 'number', 'name', 'phrase', 'date']
    """
    stripped = text.strip().rstrip(".!")
    words = stripped.split()
    if normalised(stripped) in _YES_NO:
        return "yes_no"
    if _YEAR.fullmatch(stripped):
        return "year"
    if len(words) <= _SENTENCE and _DATE.match(stripped):
        return "date"
    if _NUMBER.fullmatch(stripped):
        return "number"
    if len(words) >= _SENTENCE:
        return "sentence"
    large = [word for word in words if word.casefold() not in _SMALL]
    begins = [next((character for character in word if character.isalnum()), "") for word in large]
    return "name" if begins and all(letter.isupper() or letter.isdigit() for letter in begins) else "phrase"
