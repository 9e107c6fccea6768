"""Replies to plain text, which base models go on with behind their answer."""

from __future__ import annotations

import pytest
from asked_questions import free

from calprobe.answers import read
from calprobe.confidence.asked import read_answers, reply_tables
from calprobe.questions import QuestionSet
from calprobe.questions.types import SetSource
from calprobe.runs.replies import Reply


def reply(text: str, variant: str = "plain") -> Reply:
    return Reply(variant, "quiz", "o", variant, "answer", text, "stop")


@pytest.mark.parametrize(
    ("text", "plain", "chat"),
    [
        (" Paris\n\nThe capital of Italy is Rome.\nAnswer: Rome", "Paris", "Rome"),
        ("Let me think.\n\nThe answer is Paris.", "Let me think", "Paris"),
        ("Answer:\n\nParis\n\nAnswer: Rome", "Paris", "Rome"),
        ("\n\nParis", "Paris", "Paris"),
    ],
)
def test_a_reply_to_plain_text_ends_at_its_first_blank_line(text: str, plain: str, chat: str) -> None:
    question = free("Paris")
    assert read(reply(text), question, plain=True).value == plain
    assert read(reply(text), question).value == chat


def test_the_variants_that_were_asked_plainly_are_read_so() -> None:
    text = "Paris\n\nAnswer: Rome"
    questions = QuestionSet("quiz", (free("Paris"),), SetSource("0" * 64))
    cells = reply_tables([questions], [reply(text, "raw"), reply(text, "chat")], plain=("raw",))["quiz"]
    assert [read_answers(cells[name], "short").readings[0].value for name in ("raw", "chat")] == ["Paris", "Rome"]
    assert read_answers(cells["raw"], "short").correct.tolist() == [True]
