"""Where a model, having answered, goes on with a question of its own, as base models do after examples."""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUESTION = re.compile(
    r"\n\s{0,8}(?:#{1,6}[^\S\n]{0,3})?\**(?:Question|Example|Q|User|Human)\b[^\S\n]?[0-9]{0,4}[^\S\n]?[:.]"
)


def where_a_new_question_begins(text: str, end: int) -> Iterator[int]:
    """The place, if there is one, where a line begins that asks a question; it is not the first line.

    >>> list(where_a_new_question_begins("B\\n\\nQuestion: What is 2 + 2?\\nAnswer: C", 40))
    [2]
    """
    for match in _QUESTION.finditer(text, 0, end):
        if text[: match.start()].strip():
            yield match.start() + 1
            return
