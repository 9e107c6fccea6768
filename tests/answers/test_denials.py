"""What a reply denies is denied for every reader by one rule."""

from __future__ import annotations

import pytest

from calprobe.answers.denials import is_denied
from calprobe.answers.label_patterns import labels_of
from calprobe.answers.last_marker import read_last_marker
from calprobe.answers.number_reader import read_number
from calprobe.answers.option_text import read_option_text

DENIED = {
    "{} is wrong.": True,
    "{} was never right.": True,
    "{} cannot be right.": True,
    "{} can't be wrong.": False,
    "{} is not only right.": False,
    "not {} at all": True,
    "rather than {}": True,
    "I don't think it's {}.": True,
    "I do not believe that it is {}.": True,
    "I can't believe it's {}.": False,
    "It is {}.": False,
}


@pytest.mark.parametrize(("form", "expected"), DENIED.items())
def test_a_value_is_denied_whatever_it_is(form: str, expected: bool) -> None:
    for value in ("B", "12", "Mars"):
        text = form.format(value)
        start = text.index(value)
        assert is_denied(text, start, start + len(value)) is expected
    assert (read_last_marker(form.format("B"), labels_of(("A", "B", "C"))).value is None) is expected
    assert (read_number(form.format("12")).value is None) is expected
    assert (read_option_text(form.format("Mars"), ("A", "B"), ("Moon", "Mars")).value is None) is expected


def test_of_several_options_the_one_that_is_said_to_be_the_answer_counts() -> None:
    def value(text: str) -> object:
        return read_option_text(text, ("A", "B", "C"), ("Mars", "Venus", "Earth")).value

    assert value("Let's think. Mars is red. Venus is hot. The answer is Earth.") == "C"
    assert value("The answer is Mars. No, Venus. Answer: **Earth**") == "C"
    for text in (
        "The answer is Earth, or Mars.",
        "The answer is either Mars or Earth",
        "Mars. Venus. The answer is clear.",
        "Mars is right. The wrong answer is Venus",
        "It is Mars. Many think the answer is Venus",
        "Mars. The other option is Venus",
        "Mars. Option: Venus",
    ):
        assert value(text) is None
    assert value("Mars. The answer is not Earth. Venus") is None
    assert value("Many think of Mars. The correct option is Venus.") == "B"


def test_a_label_that_is_ruled_out_or_only_possible_is_passed_over() -> None:
    labels = labels_of(("B", "C", "D"))
    assert read_last_marker("I rule out B, so C.", labels).value == "C"
    assert read_last_marker("I think it's B, but it could also be D.", labels).value == "B"
    assert read_last_marker("I rule out B, and D is right.", labels).value == "D"
