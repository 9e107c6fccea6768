"""The line that states a confidence is found, and no other number is taken for one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.answers import read_stated, read_stated_line
from calprobe.errors import UsageError


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("It was in 1969.\nConfidence: 80%", 0.8),
        ("**Confidence:** 0.95", 0.95),
        ("12\n\n## Confidence\n\n85 out of 100", 0.85),
        ("Confidence:\n80%\n", 0.8),
        ("Confidence (0-100%): 85%", 0.85),
        ("Confidence: high (90%)\nSource: 1969", 0.9),
        ("Confidence: 1", 1.0),
        ("I am 80% sure: it was 1969.", 0.8),
        ("I'm fairly certain (90%).", 0.9),
        ("I am 90% confident that 12% of the ships were lost.", 0.9),
        ("The probability that my answer is correct is 0.7.", 0.7),
        ("Guess: 12\nProbability: 0.7", 0.7),
        ('{"answer": 0.5, "confidence": 0.8}', 0.8),
    ],
)
def test_a_confidence_is_read_off_what_speaks_of_it(reply: str, value: float) -> None:
    reading = read_stated_line(reply)
    assert reading.value == value
    written = float(reply[reading.start : reading.end])
    assert written == pytest.approx(value if written <= 1 else 100 * value)


@pytest.mark.parametrize(
    "reply",
    [
        "It was in 1969.",
        "0.7",
        "80%",
        "Paris (80%)",
        "It costs 0.5 euros.",
        "The probability of heads is 0.5.",
        "Sure! It is 42%.",
        "Certainly, 12% of all ships.",
        "I am confident that 12% of the ships were lost.",
        "The 95% confidence interval begins at 0.2.",
        "I am uncertain: 0.3 or so.",
        "I'm not 100% sure, but Paris.",
        "I can't be 100 percent certain.",
        "They differ at the 95% confidence level.",
        "Confidence:",
    ],
)
def test_other_numbers_are_the_answer(reply: str) -> None:
    assert read_stated_line(reply).value is None


def test_the_last_line_with_a_number_counts() -> None:
    assert read_stated_line("Confidence: 80%\nI am confident in this answer.").value == 0.8
    assert read_stated_line("I am 60% sure.\nOn reflection:\nConfidence: 80%").value == 0.8
    assert read_stated_line("Confidence: 80%\nConfidence: 150%").status == "off_scale"
    assert read_stated_line("Confidence: 70%\nI'm not 100% sure.").value == 0.7
    assert read_stated_line("I am 80% sure, or 90% sure.").status == "several"


def test_scale_and_parser_are_those_of_a_stated_confidence() -> None:
    assert read_stated_line("Confidence: 90", "x/100").status == "scale"
    assert read_stated_line("Confidence: 90", "x/100", parser="lenient").value == 0.9
    assert read_stated_line("Confidence: 30%", "1 - x").value == 0.7
    with pytest.raises(UsageError, match="on the scale 'x/10'"):
        read_stated_line("Oslo", "x/10")


@given(st.text(max_size=60), st.floats(0.01, 0.99).map(lambda value: f"{value:.2f}"))
def test_whatever_stands_in_front_the_last_line_is_read(answer: str, number: str) -> None:
    reply = f"{answer}\nConfidence: {number}"
    reading = read_stated_line(reply)
    assert reading.value == read_stated(number).value
    assert reply[reading.start : reading.end] == number


def test_long_lines_take_no_time() -> None:
    for part in ("a", "\n", "probability ", "am ", "confidence (", " ", "surely", "certain that ", "not 1"):
        began = time.perf_counter()
        read_stated_line(part * (200_000 // len(part)) + "1")
        assert time.perf_counter() - began < 1, part
