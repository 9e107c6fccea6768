"""What a dry run says, beside what the run then asks."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from asked_replies import choice
from asked_replies import question_set as made_up
from asked_samples import PROMPTS, question_set
from fake_backend import FakeBackend

from calprobe.asking import AskOptions, AskPreview, AskProgress, ask, preview, work
from calprobe.asking.ask_options import Permuted
from calprobe.asking.stage_cost import Guessing, cost_of
from calprobe.backends.protocol import Decoding, Dialogue, FollowUp, Message, Pending
from calprobe.questions import QuestionOptions
from calprobe.runs import AskedRun, Reply

STUDIES = {
    "none": AskOptions(quiet=True),
    "audit": AskOptions(study="audit", quiet=True),
    "stated": AskOptions(study="stated", replaced=("target", "abstain"), quiet=True),
    "science-labels": AskOptions(study="science-labels", quiet=True),
    "science-answers": AskOptions(study="science-answers", samples=2, max_new_tokens=8, quiet=True),
}


@pytest.mark.parametrize(("permute", "is_said"), [("none", True), ("cyclic", False)])
def test_a_right_option_always_in_one_place_is_warned_of(
    permute: Permuted, is_said: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    questions = made_up([choice(f"q{number}") for number in range(12)])
    with caplog.at_level(logging.WARNING):
        preview("tiny-chat", questions, tmp_path / "run", AskOptions(permute=permute, quiet=True))
    said = (
        "quiz: the right option is in place 1 in 12 of 12 questions, and the model may prefer that place: let the order"
    )
    assert (said in caplog.text) == is_said


def replies_by_stage(run: AskedRun) -> dict[str, list[Reply]]:
    stages: dict[str, list[Reply]] = {}
    for record in run.by_piece.values():
        for reply in record.replies:
            stages.setdefault(reply.stage, []).append(reply)
    return stages


@pytest.mark.parametrize("study", STUDIES)
def test_a_dry_run_counts_what_is_asked(study: str, tmp_path: Path) -> None:
    options = STUDIES[study]
    few = QuestionOptions(as_="choice", draw=3)
    found = preview("tiny-chat", "mini", tmp_path / "run", options, question_options=few)
    assert not (tmp_path / "run").exists()
    stages = replies_by_stage(ask("tiny-chat", "mini", tmp_path / "run", options, question_options=few))
    assert {stage.stage: stage.requests for stage in found.cost.stages} == {s: len(r) for s, r in stages.items()}
    for cost in found.cost.stages:
        asked = stages[cost.stage]
        tokens_in = sum(reply.tokens_in for reply in asked)
        if cost.quoted_tokens == 0:
            assert cost.prompt_tokens == tokens_in, "exactly, where nothing of it is still to be replied"
        elif study != "science-answers" or cost.stage == "final":  # a conclusion in a prompt is not known yet
            assert cost.prompt_tokens <= tokens_in <= cost.prompt_tokens + cost.quoted_tokens
        assert sum(reply.tokens_out for reply in asked) <= cost.reply_tokens
    again = preview("tiny-chat", "mini", tmp_path / "run", options, question_options=few)
    assert (again.cost.requests, again.already_there) == (0, found.cost.requests)


def test_prompts_are_shown_as_they_are_sent(tmp_path: Path) -> None:
    def shown(model: str, **options: object) -> AskPreview:
        how = AskOptions(collect=("answer", "stated"), quiet=True)
        return preview(model, "mini", tmp_path / model, how, question_options=QuestionOptions(as_="choice", limit=1))

    found = shown("tiny-chat")
    run = ask(
        "tiny-chat",
        "mini",
        tmp_path / "run",
        AskOptions(collect=("answer", "stated"), quiet=True),
        question_options=QuestionOptions(as_="choice", limit=1),
    )
    stages = replies_by_stage(run)
    (answer,) = stages["answer"]
    for prompt in found.prompts:
        (reply,) = stages[prompt.stage]
        assert reply.prompt.replace("<end>", "") == prompt.text.replace("<reply>", answer.text)


def test_a_server_is_counted_by_letters() -> None:
    decoding = Decoding(8)
    follow_ups = (FollowUp("stated:x", "s" * 40, Decoding(4)), FollowUp("stated:y", "", Decoding(4), instead="i" * 8))
    dialogue = Dialogue(
        "quiz", "q", "plain", (Message("user", "u" * 400),), decoding, samples=(0, 1), follow_ups=follow_ups
    )
    known = Reply("k", "quiz", "q", "plain", "answer", text="A", finish="stop", sample=1, tokens_out=3)
    cost = cost_of([Pending(dialogue, {("answer", 1): known})], Guessing())
    assert [
        tuple(getattr(stage, name) for name in ("stage", "requests", "prompt_tokens", "quoted_tokens", "reply_tokens"))
        for stage in cost.stages
    ] == [
        ("answer", 1, 100, 0, 8),
        ("stated:x", 2, 2 * (100 + 10) + 3, 8, 8),
        ("stated:y", 2, 2 * (100 + 2), 0, 8),
    ]
    assert cost.describe().endswith("; tokens: about 535 in, 24 out at most")
    many = cost_of([Pending(dialogue)] * 10, Guessing(), every=4)
    assert [stage.prompt_tokens for stage in many.stages] == [2000, 2200, 2040]


def test_a_run_says_what_it_will_ask(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer", "stated"), quiet=True)
    with caplog.at_level("INFO", "calprobe"):
        ask(FakeBackend(), question_set(4), tmp_path, options)
    said = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("toy on fake: 8 requests (4 answer, 4 stated:") for line in said)
    assert not any("already there" in line for line in said)


def test_long_answers_that_are_cut_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    few, short = QuestionOptions(as_="choice", draw=3), AskOptions(max_new_tokens=1, quiet=True)
    ask("tiny-chat", "mini", tmp_path / "labels", short, question_options=few)
    assert not caplog.messages, "a label alone is meant to end there"
    monkeypatch.setattr(work, "_SHORT", 1)
    ask("tiny-chat", "mini", tmp_path / "one", short, question_options=few)
    said = "3 of 3 answers under plain were cut at their longest; ask with a larger --max-new-tokens"
    assert said in caplog.messages
    caplog.clear()
    ask("tiny-chat", "mini", tmp_path / "two", AskOptions(quiet=True), question_options=few)
    assert not caplog.messages


def test_progress_counts_to_the_end_of_all_that_is_asked_after_replies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[AskProgress] = []
    options = AskOptions(study="science-answers", samples=1, max_new_tokens=4, quiet=True, progress=seen.append)
    few = QuestionOptions(as_="choice", draw=1)
    with caplog.at_level("INFO", "calprobe"):
        ask("tiny-chat", "mini", tmp_path, options, question_options=few)
    total = seen[0].total
    assert [(now.replies, now.total) for now in seen] == [(n, total) for n in range(1, total + 1)]
    assert "already there" not in caplog.text
