"""Tokens of a run of replies, counted before a model is loaded."""

from __future__ import annotations

import pytest

from calprobe.asking import AskOptions, ask_cost, plan_of
from calprobe.asking.ask_cost import counted_tokens, guessed_tokens
from calprobe.asking.plan import Plan
from calprobe.backends.local.chat import PromptWriter
from calprobe.models.texts import without_weights
from calprobe.questions import QuestionOptions


def plan(**options: object) -> Plan:
    given = AskOptions(collect=("labels", "answer", "stated"), variants=("implicit_framing",), **options)  # type: ignore[arg-type]
    return plan_of("mini", given, QuestionOptions(as_="choice", limit=12))


def test_prompts_are_counted_as_they_are_asked() -> None:
    model, asked = without_weights("tiny-clm"), plan()
    assert model is not None
    found = counted_tokens(model, asked)
    writer = PromptWriter(model)
    dialogues = list(asked.dialogues(asked.asked[0], ""))
    assert len(dialogues) == 12
    follow_ups = sum(len(writer.follow_up(one, own).ids) for one in dialogues for own in one.follow_ups)
    longest = sum(len(writer.opening(one).ids) for one in dialogues) + follow_ups
    assert found.exact
    assert follow_ups < found.prompts <= longest
    replies = sum(one.decoding.max_new_tokens for one in dialogues)
    assert found.generated == replies + sum(own.decoding.max_new_tokens for one in dialogues for own in one.follow_ups)
    guessed = guessed_tokens(asked)
    assert not guessed.exact
    assert guessed.generated == found.generated
    assert 0.3 < guessed.prompts / found.prompts < 3


def test_samples_ask_a_prompt_once_and_reply_often() -> None:
    model = without_weights("tiny-clm")
    assert model is not None
    one, four = (counted_tokens(model, plan(samples=n, temperature=1.0)) for n in (1, 4))
    assert four.generated == 4 * one.generated
    assert one.prompts < four.prompts < 4 * one.prompts


def test_many_questions_are_counted_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = without_weights("tiny-clm"), plan()
    assert model is not None
    every = counted_tokens(model, asked)
    monkeypatch.setattr(ask_cost, "_SAMPLED", 4)
    found = counted_tokens(model, asked)
    assert not found.exact
    assert found.prompts == pytest.approx(every.prompts, rel=0.2)
    assert found.generated == every.generated
