"""Texts in an answer's place are compared as answers are graded: numbers as numbers, dates and words in one form."""

from __future__ import annotations

import pytest

from calprobe.answers import Reading
from calprobe.answers.same_answer import is_right, say_the_same, text_says
from calprobe.questions import Question

FLOAT = Question("1", "?", "number", number=9.0)
LENGTH = Question("1", "?", "number", number=9.0, unit="km")
DATE = Question("1", "When?", "open", accepted=("May 18, 2018",))
CHOICE = Question("1", "?", "choice", ("x", "y"), ("A", "B"), answer=0)


@pytest.mark.parametrize(
    ("text", "question", "own", "same"),
    [
        ("50", FLOAT, Reading(5.0, "ok", "last"), False),
        ("5", FLOAT, Reading(5.0, "ok", "last"), True),
        ("-5", FLOAT, Reading(5.0, "ok", "last"), False),
        ("5 km", LENGTH, Reading(5.0, "ok", "last"), True),
        ("5 km", LENGTH, Reading(5.0, "ok", "last", unit="apples"), True),
        ("5 km", LENGTH, Reading(5000.0, "ok", "last", unit="m"), True),
        ("5 km", LENGTH, Reading(5.0, "ok", "last", unit="m"), False),
        ("5 km", LENGTH, Reading(5.0, "ok", "last", unit="kg"), False),
        ("18 May 2018", DATE, Reading("May 18th, 2018", "ok", "first_line"), True),
        ("seventeen", DATE, Reading("17", "ok", "first_line"), True),
        ("3.5", DATE, Reading("35", "ok", "first_line"), False),
        ("+", DATE, Reading("-", "ok", "first_line"), False),
        ("B", CHOICE, Reading("B", "ok", "first_line"), True),
        ("B", CHOICE, Reading("A", "ok", "first_line"), False),
        ("B", CHOICE, Reading(None, "none", ""), False),
    ],
)
def test_a_text_repeats_an_answer(text: str, question: Question, own: Reading, same: bool) -> None:
    assert say_the_same(text_says(text, question), own, question) == same


@pytest.mark.parametrize(
    ("text", "question", "right"),
    [
        ("18 May 2018", DATE, True),
        ("The answer is 18 May 2018.", DATE, True),
        ("19 May 2018", DATE, False),
        ("9000 m", LENGTH, True),
        ("90 km", LENGTH, False),
        ("nine", LENGTH, True),
        ("A", CHOICE, True),
        ("B", CHOICE, False),
    ],
)
def test_a_text_is_right(text: str, question: Question, right: bool) -> None:
    assert is_right(text_says(text, question), question) == right
