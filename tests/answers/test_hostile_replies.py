"""Replies of any length are read in time that grows with it, not with its square."""

from __future__ import annotations

import time

import pytest
from asked_questions import choice, free, lettered, number, worded
from hostile_texts import hostile_texts

from calprobe.answers import PARSERS, STATUSES, read, read_stated, readers_of
from calprobe.answers.option_text import read_option_text
from calprobe.answers.reading import MOST_CHARACTERS
from calprobe.answers.short import first_paragraph
from calprobe.runs.replies import Reply

LENGTH = 10_000
TEXTS = dict(hostile_texts(LENGTH))
QUESTIONS = {
    "letters": lettered(10),
    "words": worded("positive", "not positive", "Sci/Tech"),
    "digits": choice("x", "y", labels=("1", "2")),
    "number": number(1),
    "open": free("Ann"),
}
MOST_SECONDS = 2  # of one reading; most take a hundredth of it


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_texts_are_read_quickly(name: str) -> None:
    for finish in ("stop", "length"):
        reply = Reply("", "s", "q", "v", "answer", TEXTS[name], finish)  # type: ignore[arg-type]
        for question in QUESTIONS.values():
            for reader in readers_of(question):
                before = time.process_time()
                reading = read(reply, question, reader)
                assert time.process_time() - before < MOST_SECONDS, (reader, finish)
                assert reading.status in STATUSES
                assert reading.end <= LENGTH


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_confidences_are_read_quickly(name: str) -> None:
    for parser in PARSERS:
        for scale in ("x", "x/100"):
            before = time.process_time()
            assert read_stated(TEXTS[name], scale, parser=parser).status in STATUSES
            assert time.process_time() - before < MOST_SECONDS, (parser, scale)


@pytest.mark.parametrize("text", ["Jupiter " * 12_500, "\n" * 100_000])
def test_what_comes_again_and_again_is_read_quickly(text: str) -> None:
    before = time.process_time()
    assert (read_option_text(text, ("A", "B"), ("Mars", "Jupiter")).value == "B") is ("Jupiter" in text)
    assert first_paragraph(text) == text
    assert time.process_time() - before < MOST_SECONDS, (
        "a tenth of it; ten times as long where time grows as the square"
    )


def test_a_reply_without_end_is_cut() -> None:
    text = "Answer: B\n" + "x " * MOST_CHARACTERS + "\nAnswer: C"
    reading = read(Reply("", "s", "q", "v", "answer", text, "stop"), lettered(4))
    assert (reading.value, reading.status) == ("B", "cut")
    assert read_stated("0.8 " + "x " * MOST_CHARACTERS + "0.7").value == 0.8
