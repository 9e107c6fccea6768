"""What a reply says, as the string that is compared with other samples of its question."""

from __future__ import annotations

from calprobe.answers.short import read_short
from calprobe.answers.types import MOST_CHARACTERS, Reading
from calprobe.questions import Question
from calprobe.runs.replies import Reply


def said(reply: Reply, question: Question, reading: Reading) -> str | None:
    """The answer of a reply as a string: its label, its number in shortest digits, its short text; None: no answer.

    Of a reply that came with its grade, and so was not read, the short text.

    >>> question = Question("1", "How many?", "number", answer=3)
    >>> said(Reply("", "s", "1", "v", "answer", "It is 3.0", "stop"), question, Reading(3.0, "ok", "last"))
    '3'
    """
    value = reading.value
    if value is None and reading.rule:
        value = read_short(reply.text[:MOST_CHARACTERS]).value
    if isinstance(value, float):
        return f"{value:.15g}"
    return value or None
