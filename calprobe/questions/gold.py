"""The right answer in a question file: a place, a label, an option's text, a number, or accepted texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

from calprobe.messages import did_you_mean, shortened
from calprobe.probes.relation_rows import label_fault


class QuestionFault(Exception):
    """What is wrong with one question, and the fix; without its file and line."""


def letters(count: int) -> tuple[str, ...]:
    """The labels A, B, .. of so many options.

    Raises QuestionFault beyond 26, where labels have to be given.

    >>> letters(3)
    ('A', 'B', 'C')
    """
    if count > len(ascii_uppercase):
        raise QuestionFault(f"{count} options are more than there are letters; give 'labels'")
    return tuple(ascii_uppercase[:count])


def text_of(value: Any, what: str) -> str:
    """The value as a text without white space at its ends. Raises QuestionFault if it is none, or empty."""
    if fault := label_fault(value):
        raise QuestionFault(f"{what} {_shown(value)} {fault}")
    return str(value).strip()


def texts_of(values: Any, what: str, least: int = 1) -> tuple[str, ...]:
    """The values as texts. Raises QuestionFault unless they are a list of at least that many texts."""
    if not isinstance(values, list) or len(values) < least:
        raise QuestionFault(f"{what} must be a list of at least {least}; fix it")
    return tuple(text_of(value, f"{what}: item {number}") for number, value in enumerate(values, start=1))


def check_distinct(texts: Sequence[str], what: str) -> None:
    """Raise QuestionFault if a text stands twice among them."""
    for place, text in enumerate(texts):
        if (first := texts.index(text)) < place:
            fault = f"{what} has {_shown(text)} twice (places {first} and {place})"
            raise QuestionFault(f"{fault}; change or remove one")


def place_of(answer: Any, options: Sequence[str], labels: Sequence[str]) -> int:
    """The place of the right option, from 0.

    Args:
        answer: a place (a whole number), a label, or an option's text.
        options: texts of the options.
        labels: their labels, as many.
    Raises:
        QuestionFault: it is none of these, or stands for two different options.

    >>> place_of("B", ("red", "blue"), ("A", "B")), place_of("blue", ("red", "blue"), ("A", "B"))
    (1, 1)
    """
    if isinstance(answer, int) and not isinstance(answer, bool):
        return _of_place(answer, labels)
    if not isinstance(answer, str):
        problem = f"answer {_shown(answer)} is no option"
        raise QuestionFault(f"{problem}; give its place (a whole number from 0), its label or its text")
    text = answer.strip()
    places = {place for place in range(len(options)) if text in (labels[place], options[place])}
    if not places:
        choices = (*labels, *options)
        a_place = ", or a place without quotes" if text.isdigit() else ""
        meant = did_you_mean(text, choices) or f"; give one of them{a_place}"
        problem = f"answer {_shown(answer)} is neither a label ({', '.join(labels)}) nor an option's text"
        raise QuestionFault(f"{problem}{meant}")
    if len(places) > 1:
        first, second = sorted(places)
        problem = (
            f"answer {_shown(answer)} is the label of one option and the text of another (places {first}, {second})"
        )
        raise QuestionFault(f"{problem}; give the place as a number, or other labels")
    return places.pop()


def _of_place(answer: int, labels: Sequence[str]) -> int:
    if str(answer) in labels and labels.index(str(answer)) != answer:
        problem = f"answer {answer} is a place (from 0) and also the label of place {labels.index(str(answer))}"
        raise QuestionFault(f'{problem}; write the label in quotes ("{answer}"), or the option\'s text')
    if not 0 <= answer < len(labels):
        raise QuestionFault(f"answer {answer} is not a place; places are 0 to {len(labels) - 1}")
    return answer


def number_of(answer: Any) -> float:
    """The right number. Raises QuestionFault unless it is a finite number of JSON.

    >>> number_of(3)
    3.0
    """
    if isinstance(answer, bool):
        fix = f'ask it as a choice: "options": ["True", "False"], "answer": "{answer}"'
        raise QuestionFault(f"answer {str(answer).lower()} is not a number; {fix}")
    if not isinstance(answer, int | float):
        fix = "write digits alone, without quotes" if isinstance(answer, str) else "give one"
        raise QuestionFault(f"answer {_shown(answer)} is not a number; {fix}, as 12 or 0.5")
    try:
        value = float(answer)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise QuestionFault("answer is not a finite number; give one, or remove the question")
    return value


def accepted_of(answer: Any) -> tuple[str, ...]:
    """Texts that count as right, each once, in the given order. Raises QuestionFault unless they are a list of texts.

    >>> accepted_of(["Paris", "Paris ", "City of Paris"])
    ('Paris', 'City of Paris')
    """
    return tuple(dict.fromkeys(texts_of(answer, "answer")))


def _shown(value: Any) -> str:
    return shortened(repr(value), 60)
