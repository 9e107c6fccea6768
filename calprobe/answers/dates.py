"""Dates in a text in one form: year, month, day."""

from __future__ import annotations

import re

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?P<day>0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?(?![\w%])"
_YEAR = r"(?P<year>[12][0-9]{3})(?!\w)"
# A year of three digits, or of fewer in front of BC or AD; words behind it may be what is counted: 3 May 500 people.
_ERA = r"[^\S\n]?(?:a\.?d|b\.?c|c\.?e)\b"
_EARLY = rf"(?P<year>[1-9][0-9]{{2}}(?=[^\w\n]*(?:\Z|\n)|[.,;:)]|{_ERA})|[1-9][0-9]?(?={_ERA}))(?![,.][0-9])"
_GAP = r"[^\S\n]{1,3}"
_COMMA = rf"(?:[^\S\n]?,[^\S\n]?|{_GAP})"
_BEFORE = r"(?<![\w.,/-])"
_PATTERNS = tuple(
    re.compile(_BEFORE + source + r"(?![/-]?\w)")
    for source in (
        rf"{_DAY}{_GAP}(?:of{_GAP})?{_MONTH}{_COMMA}{_YEAR}",
        rf"{_MONTH}{_GAP}(?:the{_GAP})?{_DAY}{_COMMA}{_YEAR}",
        rf"{_YEAR}{_COMMA}{_MONTH}{_GAP}{_DAY}",
        r"(?P<year>[12][0-9]{3})(?P<mark>[-/.])(?P<number>0?[1-9]|1[0-2])(?P=mark)(?P<day>0?[1-9]|[12][0-9]|3[01])",
        r"(?P<one>0?[1-9]|[12][0-9]|3[01])(?P<mark>[-/.])(?P<other>0?[1-9]|[12][0-9]|3[01])(?P=mark)"
        r"(?P<year>[12][0-9]{3})",
        rf"{_DAY}{_GAP}(?:of{_GAP})?{_MONTH}{_COMMA}{_EARLY}",
        rf"{_MONTH}{_GAP}(?:the{_GAP})?{_DAY}{_COMMA}{_EARLY}",
        rf"{_MONTH}(?:{_COMMA}|{_GAP}of{_GAP}){_YEAR}",
        rf"{_YEAR}{_COMMA}{_MONTH}",
        rf"{_DAY}{_GAP}(?:of{_GAP})?{_MONTH}",
        rf"{_MONTH}{_GAP}(?:the{_GAP})?{_DAY}",
    )
)


def with_dates(text: str) -> str:
    """A text in lower case with `2018 may 18` for dates: those with a month in words, ISO dates, and day, month and
    year in figures where one of the first two is above 12, so that it is the day.

    >>> [with_dates(text) for text in ("on the 18th of may, 2018", "5/18/2018", "sept. 1999", "3/4/2018")]
    ['on the 2018 may 18', '2018 may 18', '1999 september', '3/4/2018']
    """
    for pattern in _PATTERNS:
        text = pattern.sub(_in_order, text)
    return text


def _in_order(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups.get("one"):
        first, second = int(groups["one"]), int(groups["other"])
        if (first > 12) == (second > 12) and first != second:
            return match[0]
        month, day = (second, first) if first > 12 else (first, second)
        return _shown(groups["year"], _MONTHS[month - 1], str(day))
    month_name = (
        _MONTHS[int(groups["number"]) - 1]
        if groups.get("number")
        else next(name for name in _MONTHS if name.startswith(groups["month"][:3]))
    )
    return _shown(groups.get("year"), month_name, groups.get("day"))


def _shown(year: str | None, month: str, day: str | None) -> str:
    return " ".join(word for word in (year, month, day and str(int(day))) if word)
