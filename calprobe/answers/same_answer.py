"""Whether a text that stands in an answer's place is right, or says what the model itself has said."""

from __future__ import annotations

from dataclasses import replace

from calprobe.answers.graders import grade
from calprobe.answers.number_reader import read_number
from calprobe.answers.reading import Reading
from calprobe.answers.short import read_short
from calprobe.answers.units import in_unit
from calprobe.questions import Question


def text_says(text: str, question: Question) -> Reading:
    """The answer that the text gives: a number of a question for one, a label of a choice, else its short text.

    >>> text_says("about 3.5 km", Question("1", "How far?", "number", number=3.0, unit="km")).value
    3.5
    """
    if question.kind == "choice":
        return Reading(text.strip() or None, "ok", "given")
    return read_number(text) if question.kind == "number" else read_short(text)


def is_right(said: Reading, question: Question) -> bool:
    """Whether the default grader of the question's kind lets it stand.

    >>> is_right(Reading("18 May 2018", "ok", "given"), Question("1", "When?", "open", accepted=("May 18, 2018",)))
    True
    """
    return grade(said, question).correct


def say_the_same(said: Reading, own: Reading, question: Question) -> bool:
    """Whether the default grader would let the first stand if the second were the right answer.

    >>> question = Question("1", "How far?", "number", number=9.0, unit="km")
    >>> say_the_same(Reading(5.0, "ok", "last", unit="km"), Reading(5000.0, "ok", "last", unit="m"), question)
    True
    """
    if said.value is None or own.value is None:
        return False
    if question.kind == "choice":
        return said.value == own.value
    if question.kind == "open":
        return is_right(said, replace(question, accepted=(str(own.value),)))
    if not isinstance(own.value, float | int):
        return False
    value = in_unit(float(own.value), own.unit, question.unit, question.number)
    if value is None:  # of another unit, which no rule compares
        return own.value == said.value and own.unit == said.unit
    return is_right(said, replace(question, number=value))
