"""What stands behind a reply's answer and is no part of it.

A tail that repeats itself until the budget ends is no evidence of anything. Base models, having answered, go on with a
question of their own, as after examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPACE = re.compile(r"\s")
_WINDOW = 4096  # characters at the end that are looked at; a unit that repeats is shorter than a third of it
_LEAST_REPEATS = 3
_QUESTION = re.compile(
    r"\n\s{0,8}(?:#{1,6}[^\S\n]{0,3})?\**(?:Question|Example|Q|User|Human)\b[^\S\n]?[0-9]{0,4}[^\S\n]?[:.]"
)


def length_without_repeats(text: str) -> int:
    """Up to where the text is read: the end of the first occurrence of what its tail repeats, else its length.

    A tail repeats if the same characters, a space or line break among them, come three times or more in a row, the last
    time perhaps not to the end. No word is cut.

    >>> text = "So: B. B. B. B. B"
    >>> text[: length_without_repeats(text)], length_without_repeats("1000")
    ('So: B.', 4)
    """
    tail = text[-_WINDOW:][::-1]
    agree = _agreement(tail)
    longest, unit = 0, 0
    for period in range(1, len(tail) // _LEAST_REPEATS + 1):
        repeated = period + agree[period]
        if repeated >= _LEAST_REPEATS * period and repeated > longest and _SPACE.search(tail, 0, period):
            longest, unit = repeated, period
    end = len(text) - longest + unit
    if end == len(text) or text[end - 1].isspace():
        return end
    space = _SPACE.search(text, end)
    return space.start() if space else len(text)


def _agreement(text: str) -> list[int]:
    """For each place, how many characters from there on equal those of the text's beginning (the Z-function)."""
    length = len(text)
    agree = [0] * (length + 1)
    left = right = 0
    for place in range(1, length):
        count = min(right - place, agree[place - left]) if place < right else 0
        while place + count < length and text[count] == text[place + count]:
            count += 1
        agree[place] = count
        if place + count > right:
            left, right = place, place + count
    return agree


def where_a_new_question_begins(text: str, end: int) -> Iterator[int]:
    """The place, if there is one, where a line begins that asks a question; it is not the first line.

    >>> list(where_a_new_question_begins("B\\n\\nQuestion: What is 2 + 2?\\nAnswer: C", 40))
    [2]
    """
    for match in _QUESTION.finditer(text, 0, end):
        if text[: match.start()].strip():
            yield match.start() + 1
            return
