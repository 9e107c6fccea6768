"""What a reply says, as the string that is compared with other samples of its question, and which strings are equal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from calprobe.answers.comparing import comparable
from calprobe.answers.graders import margin
from calprobe.answers.reading import GIVEN, MOST_CHARACTERS, Reading
from calprobe.answers.short import read_short
from calprobe.answers.units import in_unit, short_unit
from calprobe.questions import Question
from calprobe.runs.replies import Reply


def said(reply: Reply, question: Question, reading: Reading) -> str | None:
    """The answer of a reply as a string: its label, its number in shortest digits, its short text; None: no answer.

    A number is in the question's unit; one in another unit has that behind it. Of a reply that came with its grade, and
    so was not read, the short text.

    >>> question = Question("1", "How far?", "number", number=2000, unit="m")
    >>> reply = Reply("", "s", "1", "v", "answer", "It is 2.0 km", "stop")
    >>> said(reply, question, Reading(2.0, "ok", "last", unit="km"))
    '2000'
    """
    value = reading.value
    if value is None and reading.rule == GIVEN:
        value = read_short(reply.text[:MOST_CHARACTERS]).value
    if isinstance(value, float):
        number = in_unit(value, reading.unit, question.unit, question.number)
        return f"{value + 0.0:.15g} {short_unit(reading.unit)}" if number is None else f"{number + 0.0:.15g}"
    return value or None


def equal_answers(texts: Sequence[str], question: Question) -> list[str]:
    """What each of the different answers to a question, as `said` has them, is equal by, [texts].

    Texts are equal in the form in which they are graded, and labels as they are. Numbers are equal within what a
    rounded number may differ from the right one: taken in the order of their values, each joins the class before it if
    it is that near to the smallest number there.

    >>> question = Question("1", "How far?", "number", number=3.14159, unit="m")
    >>> equal_answers(["9", "3.1416", "3.14", "9 s"], question)
    ['9', '3.14', '3.14', '9 s']
    """
    if question.kind == "number":
        return _near_numbers(texts, margin(question))
    return [comparable(text) for text in texts] if question.kind == "open" else list(texts)


def _near_numbers(texts: Sequence[str], share: float) -> list[str]:
    """The smallest number of the class of each text; a text that is no number has its comparable form."""
    names: dict[str, str] = {}
    classed: tuple[str, bool] | None = None  # unit and sign of the class before
    least, name = 0.0, ""
    for unit, is_negative, size, text in sorted(parts for parts in map(_parts, texts) if parts is not None):
        if classed != (unit, is_negative) or size - least > share * least:
            classed, least, name = (unit, is_negative), size, text
        names[text] = name
    return [names.get(text) or comparable(text) for text in texts]


def _parts(text: str) -> tuple[str, bool, float, str] | None:
    """Unit, sign and size of a number as `said` has it, and the text; None of another text."""
    number, _, unit = text.partition(" ")
    try:
        value = float(number)
    except ValueError:
        return None
    return (unit, value < 0, abs(value), text) if isfinite(value) else None
