"""`calprobe show` of asked runs: which replies, in which order, with what was read marked; and `calprobe.replies`."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from asked_replies import asked, choice, reply
from commands import calprobe
from sources import ROOT

from calprobe import asked_confidences, replies
from calprobe.cells.opening import asked_runs
from calprobe.questions import Question
from calprobe.studies.asked.reply_text import marked, replies_text, verdict_of
from calprobe.studies.asked.shown_replies import ReplyChoice, choose_replies, shown_replies

RUN, OTHER = (ROOT / "tests" / "golden" / "runs" / name for name in ("audit", "audit-overconfident"))


def shown(*arguments: Any) -> dict[str, Any]:
    done = calprobe("show", RUN, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_surest_wrong_replies_come_first() -> None:
    found = shown("--top", 100)
    assert found["estimator"] == "label"
    assert {one["correct"] for one in found["replies"]} == {False}
    sure = [one["confidence"] for one in found["replies"]]
    assert sure == sorted(sure, reverse=True)
    assert [one["confidence"] for one in shown("--top", 100, "--unsurest")["replies"]] == sorted(sure)
    assert found["kept"] == len(sure) == (~replies(RUN)["correct"]).sum()


def test_what_was_read_is_in_the_reply() -> None:
    for one in shown("--top", 100, "--right", "--wrong")["replies"]:
        assert one["reply"][one["start"] : one["end"]] == one["answer"]
        assert sum(one["labels"].values()) == pytest.approx(1)
        assert one["gold"] in one["options"]


def test_who_is_sure_of_another_option_than_the_reply_took_says_of_which() -> None:
    every = shown_replies(asked_runs(RUN)[0]).replies
    labelled = [one for one in every if one.labels and not math.isnan(one.confidence)]
    assert labelled
    for one in labelled:
        assert one.confident_in == max(one.labels, key=lambda label: one.labels[label])
        other = one.confident_in != one.answer
        assert (f"sure of {one.confident_in}; read by" in verdict_of(one)) == other
        assert ("sure; read by" in verdict_of(one)) != other
    assert {one.confident_in == one.answer for one in labelled} == {True, False}


def test_choices_join_and_narrow() -> None:
    every = shown("--top", 100, "--right", "--wrong")
    assert every["kept"] == every["of"] == 60
    some = shown("--top", 100, "--right", "--wrong", "--variants", "fewshot_3", "--where", "CURRENCY")
    assert {one["variant"] for one in some["replies"]} == {"fewshot_3"}
    assert all("currency" in f"{one['text']} {one['reply']} {one['gold']}".casefold() for one in some["replies"])
    assert 0 < some["kept"] < 12


def test_the_headline_says_which_replies_were_looked_at() -> None:
    done = calprobe("show", RUN, "--where", "(no such text)", "--variants", "fewshot_3", "--groups", "currency")
    said = "0 of 60 replies wrong among those under fewshot_3 of group currency with '(no such text)'."
    assert said in " ".join(done.stdout.split())


def test_the_headline_of_replies_without_a_confidence_names_no_order() -> None:
    every = shown_replies(asked([choice("q0"), choice("q1")], [reply(name, "B") for name in ("q0", "q1")]))
    assert every.estimator is None
    for top, said in ((1, "run: 2 of 2 replies wrong; 1 of these."), (5, "run: 2 of 2 replies wrong.")):
        shown = choose_replies(every, ReplyChoice(top=top))
        assert replies_text(shown, 80).splitlines()[0] == said


def test_long_answers_are_short_in_lines() -> None:
    question = replace(choice("q0"), kind="open", options=(), labels=(), answer=None, accepted=("x",))
    (one,) = choose_replies(shown_replies(asked([question], [reply("q0", "word " * 5_000)])), ReplyChoice()).replies
    assert len(str(one.answer)) > 1_000
    assert len(verdict_of(one)) < 200
    assert len(marked(one)) < 2_000


def test_two_runs_that_disagree_stand_side_by_side() -> None:
    found = shown("--top", 100, "--disagree", OTHER)
    assert found["replies"]
    for one in found["replies"]:
        assert one["other"]["correct"] != one["correct"]
        assert (one["other"]["question"], one["other"]["variant"]) == (one["question"], one["variant"])


def test_the_text_fits_and_marks_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = calprobe("show", RUN, "--top", 2, "--prompt")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(">>" in line for line in lines) == 2
    assert "1. mini " in done.stdout
    assert "<|user|>" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--relations", "capital"), "--relations applies to runs of scores"),
        (("--variants", "few_shot"), "--variants: no 'few_shot'"),
        (("--estimator", "base"), "--estimator: no 'base'"),
        (("--format", "csv"), "calprobe export"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: tuple[str, ...], said: str) -> None:
    done = calprobe("show", RUN, *arguments)
    assert (done.returncode, said in " ".join(done.stderr.split())) == (2, True), done.stderr


def test_the_frame_has_the_confidences_of_the_export() -> None:
    frame, long = replies(RUN), asked_confidences(RUN)
    of_label = long[long["estimator"] == "label"]
    assert frame["confidence_label"].tolist() == of_label["confidence"].tolist()
    assert frame["question"].tolist() == of_label["question"].tolist()


def test_a_label_is_one_token_and_not_cut() -> None:
    answers = [reply("q0", "A", stage="label", finish="length"), reply("q1", "A", finish="length")]
    every = shown_replies(asked([choice("q0"), choice("q1")], answers)).replies
    assert {one.question: one.cut for one in every} == {"q0": False, "q1": True}
    labels_alone = ROOT / "tests" / "golden" / "runs" / "labels"
    assert calprobe("show", labels_alone, "--cut").stdout.strip().endswith("labels: 0 of 48 replies cut.")


def test_a_failed_request_is_shown_with_its_reason() -> None:
    run = asked([choice("q0"), choice("q1", 1)], [reply("q0", "B"), reply("q1", finish="error", error="timeout")])
    every, choose = shown_replies(run), ReplyChoice(frozenset({"failed"}))
    (failed,) = choose_replies(every, choose).replies
    assert (failed.question, failed.correct, failed.error, failed.gold) == ("q1", None, "timeout", "B")
    assert "failed: timeout" in replies_text(choose_replies(every, choose), 80)
    (wrong,) = choose_replies(every, ReplyChoice()).replies
    assert marked(wrong) == ">>B<<"


def test_a_reply_that_was_imported_with_its_grade_is_neither_unread_nor_without_an_answer() -> None:
    bare = Question("q0", "Which?", "open", accepted=("",))  # as imported without questions
    run = asked([bare, choice("q1", 1)], [reply("q0", "Rome", correct=False), reply("q1", "B", correct=True)])
    every = shown_replies(run)
    assert [verdict_of(one) for one in every.replies] == [
        "graded wrong by the import",
        "graded right by the import; right is B (option 1)",
    ]
    assert not choose_replies(every, ReplyChoice(frozenset({"unread"}))).replies
    failed = asked([bare], [reply("q0", finish="error", error="timeout")])
    assert verdict_of(shown_replies(failed).replies[0]) == "no reply"
