"""A model that gives every number with its unit is right on all questions of SciBench, however it writes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from calprobe.answers import grade
from calprobe.answers.number_reader import read_extracted, read_number
from calprobe.answers.units import in_unit, plain_unit
from calprobe.questions import Question, QuestionOptions, load_questions

TEN = re.compile(r"10\^(?P<power>-?[0-9]+) ?(?P<unit>.*)")


@pytest.fixture(scope="module")
def questions(shared: Path) -> tuple[Question, ...]:
    return load_questions([f"scibench={shared / 'questions' / 'scibench'}"], QuestionOptions())[0].questions


def plain(question: Question) -> str:
    return f"{question.number!r} {plain_unit(question.unit or '')}"


def latex(question: Question) -> str:
    return " ".join(f"${question.number!r}$ {question.unit or ''}".replace("$ $", " ").split())


def two_formulas(question: Question) -> str:
    return f"{question.number!r} {' '.join((question.unit or '').replace('$ ', '$').split()).replace('$ 10', '$10')}"


@pytest.mark.parametrize("form", [plain, latex, two_formulas])
@pytest.mark.parametrize("read", [read_number, read_extracted])
def test_a_perfect_model_is_right_on_all(questions, form, read) -> None:  # type: ignore[no-untyped-def]
    assert len(questions) == 692
    replies = [form(question) for question in questions]
    wrong = [text for text, question in zip(replies, questions, strict=True) if not grade(read(text), question).correct]
    assert wrong == []


FORMS = [
    "{mantissa}",
    "{mantissa} x 10^{power} {unit}",
    "{mantissa}e{power} {unit}",
    r"${mantissa} \times 10^{{{power}}} \mathrm{{~{unit}}}$",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("read", [read_number, read_extracted])
def test_units_with_a_power_of_ten(questions, form: str, read) -> None:  # type: ignore[no-untyped-def]
    asked = [(own, found) for own in questions if (found := TEN.search(plain_unit(own.unit or "")))]
    assert len(asked) == 109
    for question, ten in asked:
        text = form.format(mantissa=repr(question.number), **ten.groupdict())
        assert grade(read(text), question).correct, text


def test_a_value_ten_times_too_large_is_wrong() -> None:
    question = Question("1", "?", "number", number=3.52, unit=r"$10^{-19} \mathrm{~J}$")
    texts = ("3.52e-18 J", "35.2", "3.52 x 10^-19 s", "3.52e-19 J", "3.52e-22 kJ")
    assert [grade(read_number(text), question).correct for text in texts] == [False, False, False, True, True]


def test_a_value_in_units_with_a_power_of_ten() -> None:
    assert in_unit(3.52e-19, "J", "10^-19 J", near=3.5) == pytest.approx(3.52)
    assert in_unit(3.52, "", "10^-19 J", near=3.5) == 3.52


@pytest.mark.parametrize("text", ["9.8 m/s^2", "9.8 m s^{-2}", "9.8 m/s**2", r"9.8 \mathrm{m}\,\mathrm{s}^{-2}"])
def test_exponents_of_units_are_no_numbers(text: str) -> None:
    assert (read_number(text).value, read_extracted(text).value) == (9.8, 9.8)


@pytest.mark.parametrize("text", ["It is **42**.", "This makes **42** apples", "is **$42** in all", "**42** is right"])
def test_a_number_in_bold_is_no_exponent(text: str) -> None:
    assert (read_number(text).value, read_extracted(text).value) == (42, 42)
