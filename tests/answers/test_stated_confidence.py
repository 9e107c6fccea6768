"""Stated confidence: each row of the specification's table under each parser, statuses, scales, spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.answers import PARSERS, STATUSES, read_stated
from calprobe.answers.stated import StatedParser
from calprobe.errors import UsageError

DECIMAL, PERCENT = "x", "x/100"

# Reply, scale, cut; then what `paper` reads, what `strict` reads, strict's status.
TABLE = [
    ("0.8", DECIMAL, False, 0.8, 0.8, "ok"),
    (".75", DECIMAL, False, 0.75, 0.75, "ok"),
    ("75%", PERCENT, False, 0.75, 0.75, "ok"),
    ("75 percent", PERCENT, False, 0.75, 0.75, "ok"),
    ("80 out of 100", PERCENT, False, 0.8, 0.8, "ok"),
    ("0.8.", DECIMAL, False, 0.8, 0.8, "ok"),  # paper: silent
    ("**0.8**", DECIMAL, False, 0.8, 0.8, "ok"),  # paper: silent
    ("0.8\n", DECIMAL, False, 0.8, 0.8, "ok"),  # paper: silent
    ("1", DECIMAL, False, None, 1.0, "ok"),
    ("0", DECIMAL, False, None, 0.0, "ok"),
    ("75", PERCENT, False, None, None, "scale"),
    ("0.8%", DECIMAL, False, 0.008, None, "scale"),
    ("0.8%", PERCENT, False, 0.008, None, "scale"),
    ("0.9 (90%)", DECIMAL, False, 0.9, 0.9, "ok"),
    ("between 0.7 and 0.9", DECIMAL, False, None, None, "several"),
    ("0.8 0.7", DECIMAL, False, None, None, "several"),
    ("150%", PERCENT, False, None, None, "off_scale"),
    ("1.5", DECIMAL, False, None, None, "off_scale"),
    ("-0.2", DECIMAL, False, None, None, "off_scale"),
    ("0,8", DECIMAL, False, None, None, "none"),
    ("8/10", DECIMAL, False, None, 0.8, "ok"),
    ("My confidence is 0.9", DECIMAL, True, 0.9, None, "cut"),
]


@pytest.mark.parametrize(("text", "scale", "cut", "paper", "strict", "status"), TABLE)
def test_rows_of_the_table(
    text: str, scale: str, cut: bool, paper: float | None, strict: float | None, status: str
) -> None:
    assert read_stated(text, scale, cut=cut, parser="paper").value == pytest.approx(paper)
    reading = read_stated(text, scale, cut=cut)
    assert (reading.value, reading.status) == (pytest.approx(strict), status)
    lenient = read_stated(text, scale, cut=cut, parser="lenient")
    if (text, scale) == ("75", PERCENT):
        assert (lenient.value, lenient.status) == (0.75, "lenient")
    else:
        assert lenient == reading


MORE = [
    ("I am 95.5% sure.", DECIMAL, False, 0.955, "ok"),
    ("100%", PERCENT, False, 1.0, "ok"),
    ("0%", PERCENT, False, 0.0, "ok"),
    ("1%", PERCENT, False, 0.01, "ok"),
    ("0.5% (0.005)", DECIMAL, False, 0.005, "ok"),
    ("1.0", DECIMAL, False, 1.0, "ok"),
    ("**1**.", DECIMAL, False, 1.0, "ok"),
    ("2", DECIMAL, False, None, "off_scale"),
    ("-1", DECIMAL, False, None, "off_scale"),
    ("1", PERCENT, False, None, "scale"),
    ("101", PERCENT, False, None, "off_scale"),
    ("Confidence: 1", DECIMAL, False, 1.0, "ok"),
    ("Of 4 options I am 0.8 sure", DECIMAL, False, 0.8, "ok"),
    ("0.7-0.9", DECIMAL, False, None, "several"),
    ("70-80%", PERCENT, False, None, "several"),
    ("70 to 80 percent", PERCENT, False, None, "several"),
    ("between 70 and 80%", PERCENT, False, None, "several"),
    ("a number from 0.0 to 1.", DECIMAL, False, None, "several"),
    ("80% - it is clear", PERCENT, False, 0.8, "ok"),
    ("-5%", PERCENT, False, None, "off_scale"),
    ("0.8 out of 1.0", DECIMAL, False, 0.8, "ok"),
    ("0.8/1.0", DECIMAL, False, 0.8, "ok"),
    ("80/100", PERCENT, False, 0.8, "ok"),
    ("4 out of 5", DECIMAL, False, 0.8, "ok"),
    ("", DECIMAL, False, None, "none"),
    ("High.", DECIMAL, False, None, "none"),
    ("", DECIMAL, True, None, "cut"),
    ("My confidence in my answer is", DECIMAL, True, None, "cut"),
    ("0", DECIMAL, True, None, "cut"),
    ("0.", DECIMAL, True, None, "cut"),
    ("75", PERCENT, True, None, "cut"),
    ("75%", PERCENT, True, 0.75, "ok"),
    ("75% as I", PERCENT, True, 0.75, "ok"),
    ("0.9 or", DECIMAL, True, 0.9, "ok"),
    ("80 out of", PERCENT, True, None, "cut"),
    ("1,000%", PERCENT, False, None, "none"),
    ("version 1.2.3", DECIMAL, False, None, "none"),
]


@pytest.mark.parametrize(("text", "scale", "cut", "value", "status"), MORE)
def test_strict(text: str, scale: str, cut: bool, value: float | None, status: str) -> None:
    reading = read_stated(text, scale, cut=cut)
    assert (reading.value, reading.status) == (pytest.approx(value), status)


PAPER = [
    ("0.9 and 75%", 0.75),  # percentages before decimals
    ("0.9 or 80 out of 100", 0.9),
    ("50%, 50 %", 0.5),  # not distinct
    ("50% to 60%", None),
    ("150% or 0.5", None),
    ("80 out of 1000", None),
    ("It is 0.95", 0.95),
]


@pytest.mark.parametrize(("text", "value"), PAPER)
def test_the_papers_precedence(text: str, value: float | None) -> None:
    assert read_stated(text, parser="paper").value == value


def test_a_confidence_in_being_wrong_is_turned_around() -> None:
    assert read_stated("0.2", "1 - x").value == 0.8
    assert read_stated("0.7", "1 - x").value == 0.3  # not 0.30000000000000004, which is in the next bin
    assert read_stated("25%", "1 - x/100").value == 0.75
    assert read_stated("30", "1 - x/100", parser="lenient").value == pytest.approx(0.7)
    assert read_stated("20", "1 - x/100").status == "scale"


def test_what_cannot_be_read_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="stated confidence on the scale 'x/10' cannot be read; use x, x/100"):
        read_stated("7", "x/10")
    with pytest.raises(UsageError, match="no parser of stated confidence 'loose'; choose strict, lenient, paper"):
        read_stated("7", parser="loose")  # type: ignore[arg-type]


PIECES = st.sampled_from(
    ["0", "1", "75", ".", ",", "-", "−", "%", " ", "percent", "out of 100", "/", "\n", "*", "x", "٣", "²"]
)


@given(st.lists(PIECES, max_size=12).map("".join) | st.text(), st.sampled_from([DECIMAL, PERCENT]), st.booleans())
def test_a_value_is_what_stands_at_its_span(text: str, scale: str, cut: bool) -> None:
    for parser in PARSERS:
        reading = read_stated(text, scale, cut=cut, parser=parser)
        assert reading.status in STATUSES
        if reading.value is None:
            assert reading.status != "ok"
            assert reading.start == -1
            continue
        assert reading.status in ("ok", "lenient")
        assert 0 <= float(reading.value) <= 1
        number = float(text[reading.start : reading.end])
        assert float(reading.value) in (number, number / 100)


@given(st.lists(PIECES, max_size=12).map("".join), st.booleans())
def test_lenient_reads_what_strict_reads(text: str, cut: bool) -> None:
    parsers: tuple[StatedParser, StatedParser] = ("strict", "lenient")
    strict, lenient = (read_stated(text, PERCENT, cut=cut, parser=parser) for parser in parsers)
    assert strict == lenient or (strict.status, lenient.status) == ("scale", "lenient")
