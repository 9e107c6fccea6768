"""Stated confidence on every scale: the rows of the specification, statuses, directions, spans."""

from __future__ import annotations

import math
import time

import pytest
from hostile_texts import hostile_texts
from hypothesis import given
from hypothesis import strategies as st

from calprobe.answers import STATUSES, read_on_scale, read_stated
from calprobe.errors import UsageError
from calprobe.prompts import load_prompts
from calprobe.prompts.types import SCALES

EXPRESSIONS = load_prompts("stated").stated[5].expressions
ONE, PERCENT, TEN, WORDS, LETTERS = "x", "x/100", "x/10", "expressions", "letters"

# Reply, scale, the value that lenient reading gives, the status.
TABLE: list[tuple[str, str, float | None, str]] = [
    ("0.85", ONE, 0.85, "ok"),
    ("  **0.85**.\n", ONE, 0.85, "ok"),
    (".85", ONE, 0.85, "ok"),
    ("1", ONE, 1.0, "ok"),
    ("0.0", ONE, 0.0, "ok"),
    ("Probability: 0.85", ONE, 0.85, "ok"),
    ("85%", ONE, 0.85, "lenient"),
    ("85 percent", ONE, 0.85, "lenient"),
    ("8/10", ONE, 0.8, "lenient"),
    ("85", ONE, None, "off_scale"),
    ("1.01", ONE, None, "off_scale"),
    ("-0.2", ONE, None, "off_scale"),
    ("150%", ONE, None, "off_scale"),
    ("0.9 (90%)", ONE, 0.9, "ok"),
    ("90% (0.9)", ONE, 0.9, "ok"),
    ("0.7 or 0.8", ONE, None, "several"),
    ("0.7-0.9", ONE, None, "several"),
    ("a number from 0.0 to 1.0", ONE, None, "several"),
    ("0.8, on a scale up to 10", ONE, None, "several"),
    ("0,8", ONE, None, "none"),
    ("1.2.3", ONE, None, "none"),
    ("GPT4", ONE, None, "none"),
    ("High", ONE, None, "none"),
    ("", ONE, None, "none"),
    ("85%", PERCENT, 0.85, "ok"),
    ("85", PERCENT, 0.85, "ok"),
    ("85 %", PERCENT, 0.85, "ok"),
    ("85percent", PERCENT, 0.85, "ok"),
    ("85 out of 100", PERCENT, 0.85, "ok"),
    ("0", PERCENT, 0.0, "ok"),
    ("100", PERCENT, 1.0, "ok"),
    ("0.5%", PERCENT, 0.005, "ok"),
    ("0.85", PERCENT, None, "ambiguous"),
    ("1", PERCENT, None, "ambiguous"),
    ("90% (0.9)", PERCENT, 0.9, "ok"),
    ("90% (0.8)", PERCENT, None, "several"),
    ("0.8 or 0.9", PERCENT, None, "several"),
    ("101", PERCENT, None, "off_scale"),
    ("17/20", PERCENT, 0.85, "lenient"),
    ("8.5", TEN, 0.85, "ok"),
    ("9/10", TEN, 0.9, "ok"),
    ("9 out of 10", TEN, 0.9, "ok"),
    ("10", TEN, 1.0, "ok"),
    ("0", TEN, 0.0, "ok"),
    ("90%", TEN, 0.9, "lenient"),
    ("11", TEN, None, "off_scale"),
    ("11/10", TEN, None, "off_scale"),
    ("8/0", TEN, None, "off_scale"),
    ("Highly Unlikely", WORDS, 0.05, "ok"),
    ("highly unlikely.", WORDS, 0.05, "ok"),
    ("'Unlikely'", WORDS, 0.2, "ok"),
    ("Likely", WORDS, 0.7, "ok"),
    ("**Highly  Likely**", WORDS, 0.9, "ok"),
    ("Probably Not", WORDS, 0.25, "ok"),
    ("Probably", WORDS, 0.7, "ok"),
    ("It is almost certain that it is right.", WORDS, 0.95, "ok"),
    ("Likely, or unlikely", WORDS, None, "several"),
    ("not likely", WORDS, None, "ambiguous"),
    ("isn't very likely", WORDS, None, "ambiguous"),
    ("likelyhood", WORDS, None, "none"),
    ("0.9", WORDS, None, "none"),
    ("k", LETTERS, 0.8, "ok"),
    ("[K]", LETTERS, 0.8, "ok"),
    ("(k).", LETTERS, 0.8, "ok"),
    ("k:", LETTERS, 0.8, "ok"),
    ("k: Very Good Chance", LETTERS, 0.8, "ok"),
    ("[k: 'Very Good Chance']", LETTERS, 0.8, "ok"),
    ("a: Almost no chance", LETTERS, 0.02, "ok"),
    ("k: Likely", LETTERS, None, "ambiguous"),
    ("z: Likely", LETTERS, None, "ambiguous"),
    ("n", LETTERS, None, "off_scale"),
    ("a, b", LETTERS, None, "several"),
    ("Very Good Chance", LETTERS, 0.8, "lenient"),
    ("A good guess", LETTERS, None, "none"),
    ("I think so", LETTERS, None, "none"),
    ("", LETTERS, None, "none"),
]


@pytest.mark.parametrize(("text", "scale", "value", "status"), TABLE)
def test_rows_of_the_table(text: str, scale: str, value: float | None, status: str) -> None:
    reading = read_on_scale(text, scale, EXPRESSIONS, lenient=True)
    assert (reading.value, reading.status) == (pytest.approx(value, abs=1e-12), status)
    primary = read_on_scale(text, scale, EXPRESSIONS)
    assert (primary.value, primary.status) == (reading.value if status == "ok" else None, status)


@pytest.mark.parametrize(("text", "scale", "value", "status"), TABLE)
def test_a_reversed_scale_turns_the_value_around(text: str, scale: str, value: float | None, status: str) -> None:
    reading = read_on_scale(text, f"1 - {scale}", EXPRESSIONS, lenient=True)
    turned = None if value is None else pytest.approx(1 - value, abs=1e-12)
    assert (reading.value, reading.status) == (turned, status)


def test_a_value_turned_around_is_the_value_of_the_scale() -> None:
    for tenths in range(11):
        assert read_on_scale(f"{tenths}", "1 - x/10").value == (10 - tenths) / 10


@pytest.mark.parametrize(
    ("text", "scale", "value", "status"),
    [
        ("0.8", ONE, None, "cut"),
        ("0.", ONE, None, "cut"),
        ("8", PERCENT, None, "cut"),
        ("85%", PERCENT, 0.85, "ok"),
        ("0.8 since", ONE, 0.8, "ok"),
        ("My confidence is", ONE, None, "cut"),
        ("Probably", WORDS, None, "cut"),
        ("Probably.", WORDS, 0.7, "ok"),
        ("k", LETTERS, None, "cut"),
        ("k)", LETTERS, 0.8, "ok"),
    ],
)
def test_a_reply_that_was_cut(text: str, scale: str, value: float | None, status: str) -> None:
    reading = read_on_scale(text, scale, EXPRESSIONS, cut=True)
    assert (reading.value, reading.status) == (value, status)


def test_another_table_gives_other_numbers() -> None:
    assert read_on_scale("likely", WORDS, {"Likely": 0.66, "No": 0.1}).value == 0.66
    assert read_on_scale("b", LETTERS, {"Likely": 0.66, "No": 0.1}).value == 0.1
    assert read_on_scale("c", LETTERS, {"Likely": 0.66, "No": 0.1}).status == "off_scale"


def test_what_cannot_be_read_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="no scale 'x/5'; use x, x/100, x/10, expressions or letters"):
        read_on_scale("1", "x/5")
    with pytest.raises(UsageError, match="the scale 'letters' needs the expressions"):
        read_on_scale("a", LETTERS)


PIECES = st.sampled_from(
    [
        "0",
        "1",
        "75",
        ".",
        ",",
        "-",
        "%",
        " ",
        "percent",
        "out of 10",
        "/",
        "\n",
        "*",
        "k",
        "Likely",
        "not",
        "٣",
        "İ",
        "ß",
    ]
)


@given(st.lists(PIECES, max_size=10).map("".join) | st.text(), st.sampled_from(SCALES), st.booleans())
def test_every_text_has_a_reading(text: str, scale: str, cut: bool) -> None:
    reading = read_on_scale(text, scale, EXPRESSIONS, cut=cut, lenient=True)
    assert reading.status in STATUSES
    if reading.value is None:
        assert reading.status not in ("ok", "lenient")
        assert reading.start == -1
    else:
        assert reading.status in ("ok", "lenient")
        assert 0 <= float(reading.value) <= 1
        assert text[reading.start : reading.end].strip()
    primary = read_on_scale(text, scale, EXPRESSIONS, cut=cut)
    assert primary.status == reading.status
    assert primary.value == (reading.value if reading.status == "ok" else None)


@given(st.floats(0, 1).map(lambda value: round(value, 4)))
def test_a_number_is_read_as_it_was_written(value: float) -> None:
    assert read_on_scale(f"{value:.4f}").value == value
    assert math.isclose(float(read_on_scale(f"{100 * value:.2f}%", PERCENT).value or 0), value, abs_tol=1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_hostile_texts_are_read_quickly(scale: str) -> None:
    before = time.process_time()
    for _, text in hostile_texts(10_000):
        assert read_on_scale(text, scale, EXPRESSIONS).status in STATUSES
    assert time.process_time() - before < 4


@pytest.mark.parametrize("part", ["0.5 ", "0.5\n", "0.5 or ", "1/", "50% chance that "])
def test_many_numbers_take_no_time(part: str) -> None:
    before = time.process_time()
    read_on_scale(part * (200_000 // len(part)), ONE)
    read_stated(part * (200_000 // len(part)), ONE)
    assert time.process_time() - before < 6  # each number by itself took minutes
