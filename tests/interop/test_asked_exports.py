"""Exports of asked runs: the columns of the contract, and what stands in them."""

from __future__ import annotations

import json
from pathlib import Path

import asked_replies as made
import pyarrow.parquet
import pytest

from calprobe.interop.asked_exports import LABELS, REPLIES, in_words, label_table, reply_table
from calprobe.measures.options import ReportOptions
from calprobe.questions.types import Question
from calprobe.runs import table_files
from calprobe.studies.asked.frames import answers_by_reply, confidences_frame, readings_frame

CONTRACT = {
    "replies": "set question variant paraphrase sample stage prompt_ids prompt text token_ids logprobs finish"
    " reasoning question_text options gold answer group correct",
    "labels": "set question variant stage label logprob forms covered gold paraphrase sample",
    "readings": (
        "set question variant paraphrase sample stage reader value status rule start end correct"
        " graded_by score abstained"
    ),
    "confidences": "set question variant sample estimator prediction confidence correct status paraphrase mass"
    " low high mode spread question_text options gold answer group",
}


def run() -> made.Asked:
    questions, replies = made.answered({"plain": ["A", "It is C.", "no"]}, [0, 1, 2], {"plain": ["0.9", "x", "0.5"]})
    return made.asked(questions, replies)


def test_columns_are_those_of_the_contract() -> None:
    assert REPLIES.names == CONTRACT["replies"].split()
    assert LABELS.names == CONTRACT["labels"].split()
    assert list(readings_frame(run(), ReportOptions()).columns) == CONTRACT["readings"].split()
    assert list(confidences_frame(run(), ReportOptions()).columns) == CONTRACT["confidences"].split()


def test_labels_are_unnormalised_logs_with_the_right_one_marked() -> None:
    asked = run()
    rows = label_table(asked.replies, asked.sets).to_pylist()
    assert len(rows) == 12  # three questions, four labels
    first = {row["label"]: row for row in rows if row["question"] == "q0"}
    assert first["A"]["logprob"] == pytest.approx(-0.5108256)
    assert [row["gold"] for row in first.values()] == [True, False, False, False]
    assert all(row["covered"] and row["forms"] == [made.FORM + at] for at, row in enumerate(first.values()))


def test_labels_of_every_paraphrase_and_sample_are_exported() -> None:
    scores = [made.scores([0.5, 0.2, 0.1, 0.1]), made.scores([0.2, 0.5, 0.1, 0.1])]
    replies = [
        made.reply("q0", "A", stage="final", label_scores=scores[at], paraphrase=at, sample=1 - at) for at in (0, 1)
    ]
    rows = label_table(replies, made.asked([made.choice("q0")], replies).sets).to_pylist()
    assert [(row["paraphrase"], row["sample"]) for row in rows if row["label"] == "A"] == [(0, 1), (1, 0)]
    assert rows[0]["logprob"] != rows[4]["logprob"]


def test_answers_behind_the_cue_are_of_its_stage() -> None:
    replies = [
        made.reply("q0", "Hm", variant="reasoned", label_scores=made.scores([0.1] * 4)),
        made.reply("q0", "B", variant="reasoned", stage="final", label_scores=made.scores([0.1, 0.5, 0.1, 0.1])),
        made.reply("q1", "Hm", variant="reasoned"),
        made.reply("q1", "", variant="reasoned", stage="final", finish="error"),
    ]
    frame = readings_frame(made.asked([made.choice("q0"), made.choice("q1")], replies), ReportOptions())
    stages = frame.groupby("reader").stage.unique()
    assert {reader: list(found) for reader, found in stages.items()} == {
        "constrained": ["final"],
        "first_char": ["answer"],
        "last_marker": ["answer"],
    }
    own = frame[frame.reader == "constrained"].set_index("question")
    assert own.correct.isna().tolist() == [False, True]


def test_a_label_that_was_not_seen_is_null() -> None:
    replies = [made.reply("q0", "A", label_scores=made.scores([0.5, 0.0, 0.1, 0.1]))]
    rows = label_table(replies, made.asked([made.choice("q0")], replies).sets).to_pylist()
    assert (rows[1]["logprob"], rows[1]["covered"]) == (None, False)


def test_readings_have_rule_and_span() -> None:
    frame = readings_frame(run(), ReportOptions())
    own = frame[(frame.question == "q1") & (frame.reader == "last_marker")].iloc[0]
    assert (own.value, own.status, own.correct) == ("C", "ok", False)
    assert "It is C."[own.start : own.end] == "C"
    unread = frame[(frame.question == "q2") & (frame.reader == "last_marker")].iloc[0]
    assert unread.isna().value
    assert unread.start == -1
    stated = frame[frame.stage == "stated:decimal"]
    assert stated.value.tolist()[0] == "0.9"
    assert stated.correct.isna().all()


def test_confidences_say_why_there_is_none() -> None:
    frame = confidences_frame(run(), ReportOptions())
    own = frame[(frame.estimator == "stated_decimal") & (frame.question == "q1")].iloc[0]
    assert own.isna().confidence
    assert own.status == "none"
    label = frame[(frame.estimator == "label") & (frame.question == "q0")].iloc[0]
    assert (label.prediction, label.correct) == ("A", True)
    assert label.confidence == pytest.approx(0.6 / 0.9)
    assert (label.paraphrase, label.isna().mass) == (0, True)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_replies_in_every_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"replies{suffix}"
    table_files.write_tables(REPLIES, [reply_table(run().replies, run().sets)], path)
    if suffix == ".parquet":
        assert pyarrow.parquet.read_table(path).schema.names == REPLIES.names
    elif suffix == ".jsonl":
        assert json.loads(path.read_text().splitlines()[0])["token_ids"] == [made.FORM]
    else:
        assert '"[11]"' in path.read_text() or "[11]" in path.read_text()


def test_whether_an_answer_is_true_has_no_right_label() -> None:
    """Windows show the letters A and B, which are labels of options, too."""
    reply = made.reply("q0", "(A)", stage="p_true", label_scores=made.scores([0.7, 0.2]))
    table = label_table([reply], run().sets)
    assert table.column("label").to_pylist() == ["A", "B"]
    assert table.column("gold").to_pylist() == [None, None]


def test_a_question_without_a_right_answer_has_none_in_words() -> None:
    assert in_words(Question("1", "Why?", "open"), "so", quotable=True) == ("Why?", None, None, "so", "")


def test_replies_stand_in_the_order_of_the_file_with_their_question_and_answer() -> None:
    questions = [made.choice("q10"), made.choice("q2"), made.choice("q1")]
    replies = [made.reply(name, text) for name, text in (("q1", "B"), ("q10", "A"), ("q2", "hm"))]
    asked = made.asked(questions, replies)
    rows = reply_table(asked.replies, asked.sets, asked.turns, answers_by_reply(asked, ReportOptions())).to_pylist()
    assert [(row["question"], row["answer"], row["correct"]) for row in rows] == [
        ("q10", "A", True),
        ("q2", None, False),
        ("q1", "B", False),
    ]
    first = questions[0]
    assert json.loads(rows[0]["options"]) == dict(zip(first.labels, first.options, strict=True))
    assert (rows[0]["question_text"], rows[0]["gold"]) == (first.text, first.gold)
