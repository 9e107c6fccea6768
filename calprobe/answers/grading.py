"""Whether what was read is the right answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from calprobe.answers.short import normalised
from calprobe.answers.types import Reading
from calprobe.answers.units import power_of_ten, same_unit
from calprobe.errors import UsageError
from calprobe.messages import did_you_mean
from calprobe.questions import Question

TOLERANCE = 0.01  # share of the right number by which a rounded one may differ


@dataclass(frozen=True, slots=True)
class Grade:
    """A judgement of a reading."""

    correct: bool
    rule: str  # label, exact, contained, number; empty: nothing was read
    matched: str = ""  # of an open question, the accepted text that the reply gives


def grade(reading: Reading, question: Question, grader: str | None = None) -> Grade:
    """Whether the reading is the question's right answer. What was not read is not right.

    Args:
        reading: by a reader for questions of this kind.
        question: with its right answer.
        grader: a name in `GRADERS`; None: `label` of a choice, `number` of a number, `exact` of a short text.
    Raises:
        UsageError: no such grader, or it does not grade questions of this kind.

    >>> grade(Reading("the  Eiffel tower", "ok", "first_line"), Question("1", "?", "open", accepted=("Eiffel Tower",)))
    Grade(correct=True, rule='exact', matched='Eiffel Tower')
    """
    name = grader or _DEFAULTS[question.kind]
    if name not in GRADERS:
        raise UsageError(f"no grader {name!r}; choose {', '.join(GRADERS)}{did_you_mean(name, GRADERS)}")
    kind, judge = GRADERS[name]
    if kind != question.kind:
        raise UsageError(f"question {question.id}: grader {name} is for questions of kind {kind}, not {question.kind}")
    return Grade(correct=False, rule="") if reading.value is None else judge(reading, question)


def _label(reading: Reading, question: Question) -> Grade:
    return Grade(str(reading.value) == question.gold, "label")


def _exact(reading: Reading, question: Question) -> Grade:
    """The text is one of the accepted, as `normalised` writes both."""
    text = normalised(str(reading.value))
    found = [accepted for accepted in question.accepted if normalised(accepted) == text]
    return Grade(bool(found), "exact", max(found, key=len, default=""))


def _contained(reading: Reading, question: Question) -> Grade:
    """The text has an accepted one in it, as whole words; the longest is named."""
    text = f" {normalised(str(reading.value))} "
    found = [accepted for accepted in question.accepted if normalised(accepted) and f" {normalised(accepted)} " in text]
    return Grade(bool(found), "contained", max(found, key=len, default=""))


def _number(reading: Reading, question: Question) -> Grade:
    """The number is the right one; within a hundredth of it where that has decimals or a unit, as it may be rounded."""
    if question.number is None or not isinstance(reading.value, float | int):
        return Grade(correct=False, rule="number")
    value = float(reading.value)
    if question.unit and reading.unit:
        power = power_of_ten(reading.unit, question.unit)
        if power is not None:
            value *= 10.0**power
        elif same_unit(reading.unit, question.unit) is False:
            return Grade(correct=False, rule="number")
    exact = float(question.number).is_integer() and not question.unit
    tolerance = 1e-9 if exact else TOLERANCE
    return Grade(abs(value - question.number) <= tolerance * abs(question.number), "number")


_DEFAULTS = {"choice": "label", "number": "number", "open": "exact"}
# Name -> the kind of question, and the rule.
GRADERS: Mapping[str, tuple[str, Callable[[Reading, Question], Grade]]] = {
    "label": ("choice", _label),
    "exact": ("open", _exact),
    "contained": ("open", _contained),
    "number": ("number", _number),
}
