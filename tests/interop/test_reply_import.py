"""Replies of other tools as runs: what lines say, what they may not say, and that nothing is lost on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import asked_replies as made
import numpy as np
import pytest

import calprobe
from calprobe.cells.asked_folder import asked_of
from calprobe.errors import ProbeFormatError
from calprobe.interop.reply_import import import_replies
from calprobe.interop.reply_lines import read_reply_lines
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.presentation.report_pages import asked_page
from calprobe.runs import open_asked
from calprobe.runs.listing import list_runs
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.asked_tables import asked_tables, heading
from calprobe.studies.asked.figures import pictures
from calprobe.studies.asked.report_asked import report_asked, report_asked_run
from calprobe.studies.asked.run_verdict import verdict

OPTIONS = ReportOptions(resampling=Resampling(0))


def lines(path: Path, *several: dict[str, Any]) -> Path:
    file = path / "replies.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in several), "utf-8")
    return file


def line(question: str, text: str, **more: Any) -> dict[str, Any]:
    return {"set": "quiz", "question": question, "text": text, **more}


def test_replies_with_gold_answers_are_read_and_measured(tmp_path: Path) -> None:
    quiz = made.question_set([made.choice("q0", 0), made.choice("q1", 1), made.choice("q2", 2)])
    logs = {letter: float(np.log(mass)) for letter, mass in zip("ABCD", [0.5, 0.2, 0.2, 0.1], strict=True)}
    file = lines(
        tmp_path,
        line("q0", "The answer is A.", stated=0.9, labels=logs),
        line("q1", "C", stated="70%", labels={"A": -1.0, "C": -0.5}),
        line("q0", "A", variant="other"),
    )
    run = import_replies(file, tmp_path / "run", [quiz], "their-model")
    asked = asked_of("run", open_asked(run.path))
    assert [own.id for own in asked.sets[0].questions] == ["q0", "q1"]  # q2 was not asked
    found = report_asked_run(asked, OPTIONS)
    cell = found.sets["quiz"].cells["import"]
    assert found.model == "their-model"
    assert not found.partial
    assert cell.accuracy["last_marker"].value.value == 0.5
    assert cell.estimators["stated_import"].metrics["mean_confidence"].value == pytest.approx(0.8)
    assert cell.estimators["label"].metrics["mean_confidence"].value == pytest.approx(
        (0.5 + np.exp(-0.5) / (np.exp(-1) + np.exp(-0.5))) / 2
    )
    assert cell.off_label is not None
    assert cell.off_label.all_seen == 0.5
    other = found.sets["quiz"].cells["other"]
    assert (other.rows, other.failed) == (1, 1)  # q1 has no reply under this variant


def test_graded_replies_need_no_questions(tmp_path: Path) -> None:
    file = lines(
        tmp_path,
        line("x", "Paris", correct=True, stated=0.75),
        line("y", "Rome", correct=False, stated=0.25),
        line("y", "Oslo", correct=True, sample=1),
    )
    found = report_asked_run(asked_of("run", open_asked(import_replies(file, tmp_path / "run").path)), OPTIONS)
    cell = found.sets["quiz"].cells["import"]
    assert cell.accuracy["given"].value.value == pytest.approx(2 / 3)
    assert cell.estimators["stated_import"].metrics["brier"].value == pytest.approx(0.25**2)
    assert "; chance unknown; 2 questions." in verdict(found)[0]
    assert cell.to_json()["chance"] is None
    report = AskedReport((found,), (), OPTIONS)
    answers = next(table for table in asked_tables(report) if table.kind == "answers")
    assert dict(zip([column.title for column in answers.columns], answers.rows[0].cells, strict=True))["chance"] is None
    page = asked_page(report, {"run": pictures(found, OPTIONS)})
    assert ">chance</button>" not in page
    assert "otted: chance" not in page


def test_labels_without_questions_have_no_options(tmp_path: Path) -> None:
    file = lines(tmp_path, line("x", "A", correct=True, labels={"A": -0.1, "B": -2.4}))
    run = import_replies(file, tmp_path / "run").path
    (label,) = calprobe.confidences(run).query("estimator == 'label'").itertuples()
    assert (label.confidence, label.correct) == (pytest.approx(1 / (1 + np.exp(-2.3))), True)
    assert calprobe.replies(run)[["options", "labels"]].to_dict("records") == [
        {"options": {}, "labels": pytest.approx({"A": 1 / (1 + np.exp(-2.3)), "B": 1 / (1 + np.exp(2.3))})}
    ]


def test_a_grade_without_a_question_is_of_the_label_that_was_replied(tmp_path: Path) -> None:
    likely_a = {"A": -0.1, "B": -2.4}
    file = lines(
        tmp_path,
        line("x", "A", correct=True, labels=likely_a),
        line("y", " B", correct=True, labels=likely_a),
        line("w", "The answer is (B).", correct=True, labels=likely_a),
        line("z", "", correct=False, stage="label", labels=likely_a),
    )
    run = import_replies(file, tmp_path / "run").path
    label = calprobe.confidences(run).query("estimator == 'label'").set_index("question")
    of_another = "grade is of another label"
    assert label["status"].to_dict() == {"x": "ok", "y": of_another, "w": of_another, "z": "ok"}
    assert label["confidence"].isna().to_dict() == {"x": False, "y": True, "w": True, "z": False}
    (found,) = calprobe.report(run, OPTIONS).runs
    assert "label_study" not in found.to_json(), "no right option is known"
    assert found.sets["quiz"].cells["import"].estimators["label"].metrics["accuracy"].value == 0.5


def test_a_generated_token_that_is_listed_once_more_counts_once(tmp_path: Path) -> None:
    others = [["C", -1.2], ["D", -2.5]]
    file = lines(
        tmp_path,
        line("x", "B", correct=True, alternatives=[[["B", -0.5], *others]]),
        line("y", "B", correct=False, alternatives=[[["B", -0.5], ["B", -0.5], *others]]),
    )
    found = calprobe.confidences(import_replies(file, tmp_path / "run").path).query("estimator == 'token_entropy'")
    shares = np.exp([-0.5, -1.2, -2.5])
    shares = np.append(shares, 1 - shares.sum())  # what is missing of 1 is one token more
    assert found["confidence"].tolist() == pytest.approx([-(shares * np.log(shares)).sum()] * 2, rel=1e-6)


# Replies and their tokens, of which it is not known which stand behind the thought.
UNKNOWN = (
    ("<think>so</think>", ["<think>", "so", "</think>"]),
    ("<think>so</think>", ["<think>", "so", "</think>", "</s>"]),
    ("<think>", ["<think>"]),
    ("<think>It is Rome?</think>Rome", ["<think>", "It is", " Rome", "?", "</think>", "Other"]),
    ("<think>It is Rome</think>Rome", ["<think>", "It is", " Rome", "</think>"]),
    ("<think>It is Rome</think>Rome", ["<think>", "It is", " Rome"]),
)


def listed(tokens: list[str]) -> dict[str, Any]:
    return {"alternatives": [[[token, -0.5]] for token in tokens]}


def test_alternatives_are_of_the_tokens_behind_a_thought(tmp_path: Path) -> None:
    of_thought, end = [[["<think>", -3.0]], [["so", -3.0]], [["</think>", -3.0]]], [["</s>", -0.1]]
    file = lines(
        tmp_path,
        line("x", "<think>so</think>Rome", correct=True, alternatives=[*of_thought, [["Rome", -0.5]]]),
        line("y", "<think>so</think>Rome", correct=True, alternatives=[*of_thought, [["Other", -0.5]]]),
        line("z", "<think>so", correct=False, alternatives=of_thought[:2]),
        line("end", "<think>so</think>Rome", correct=True, alternatives=[*of_thought, [["Rome", -0.5]], end]),
        line("tag", "<think>so</think>a <b>", correct=True, **listed(["so", "</think>", "a ", "<b>", "</s>"])),
        *(line(f"no {n}", *reply, correct=False, **listed(tokens)) for n, (*reply, tokens) in enumerate(UNKNOWN)),
    )
    (piece,) = open_asked(import_replies(file, tmp_path / "run").path).pieces
    replies = {reply.question: reply for reply in piece.replies}
    assert replies["x"].alternatives is not None
    assert replies["x"].alternatives.tokens() == [[("Rome", pytest.approx(-0.5))]]
    assert (replies["y"].alternatives, replies["z"].alternatives) == (None, None), "it is not known which are its own"
    assert all(replies[f"no {n}"].alternatives is None for n in range(len(UNKNOWN)))
    assert replies["end"].alternatives is not None
    assert [texts[0][0] for texts in replies["end"].alternatives.tokens()] == ["Rome", "</s>"]
    assert replies["tag"].alternatives is not None, "what the text ends with is no end token"
    assert [texts[0][0] for texts in replies["tag"].alternatives.tokens()] == ["a ", "<b>", "</s>"]


def test_every_reply_comes_back_as_it_was(tmp_path: Path) -> None:
    quiz = made.question_set([made.choice("q0")])
    given = line("q0", " A\n", tokens=[5, 6], logprobs=[-0.1, -0.2], finish="length", prompt="Which?", reasoning="Hm")
    run = open_asked(import_replies(lines(tmp_path, given), tmp_path / "run", [quiz]).path)
    (reply,) = run.pieces[0].replies
    assert (reply.text, reply.token_ids, reply.logprobs) == (" A\n", (5, 6), (-0.1, -0.2))
    assert (reply.finish, reply.prompt, reply.reasoning) == ("length", "Which?", "Hm")


@pytest.mark.parametrize(
    "labels",
    [
        {"A": np.log(0.6), "B": np.log(0.408)},  # what rounding in bfloat16 may do
        {"1": np.log(0.9), "10": np.log(0.8)},  # of which the first also counts replies of the second
        {"A": -np.inf, "B": 0.0},
    ],
)
def test_probabilities_of_labels_that_can_be_are_read(tmp_path: Path, labels: dict[str, float]) -> None:
    (read,) = read_reply_lines(lines(tmp_path, line("q0", "A", labels=labels)))
    assert read.labels == pytest.approx(labels)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"question": "q0", "text": "A"}, ":1: no set"),
        ({"set": "quiz", "text": "A"}, ":1: no question"),
        ({"set": "quiz", "question": "q0"}, ":1: neither text nor labels"),
        (line("q0", "A", varaint="x"), "unknown key 'varaint'; did you mean variant"),
        (line("q0", 3), ":1: text is 3; give text"),  # type: ignore[arg-type]  # on purpose
        (line("q0", "A", stage="Answer"), "no stage 'Answer'; did you mean answer?"),
        (line("q0", "A", stage="stated"), "no stage 'stated'; did you mean stated:NAME?"),
        (line("q0", "A", stage="stated:"), "no stage 'stated:'; did you mean stated:NAME?"),
        (line("q\ud800", "A"), r"'q\ud800' holds half of a surrogate pair; write the full character"),
        (line("q0", "A", labels={"\ud800": -1.0}), "holds half of a surrogate pair"),
        (line("q0", "A", variant=""), "variant is empty; give a name, or leave the key out"),
        (line("q0", "A", sample=-1), "sample is -1; give 0 to 999,999"),
        (line("q0", "A", sample=True), "sample is True; give a whole number"),
        (line("q0", "A", stated=7), ":1: stated is 7; give a number from 0 to 1, or what was said as text"),
        (line("q0", "A", stated=np.nan), ":1: stated is nan"),
        (line("q0", "A", labels={"A": 0.5}), "labels A is 0.5; give natural logs"),
        (line("q0", "A", labels={"A": -0.1, "B": -0.1}), ":1: the probabilities of labels sum to 1.810; give natural"),
        (
            line("q0", "A", logprobs=[-0.5, -np.inf]),
            ":1: logprobs is -inf; a generated token has a probability above 0",
        ),
        (line("q0", "A", logprobs=[np.nan]), ":1: logprobs is nan; give natural logs"),
        (line("q0", "A", logprobs=[-(10**400)]), ":1: logprobs is -1000"),
        (line("q0", "A", labels={"A": -(10**400)}), ":1: labels A is -1000"),
        (line("q0", "A", tokens=[3, 2**31]), ":1: tokens has 2147483648; give ids of 0 to 2,147,483,647"),
        (line("q0", "A", tokens=[-1]), ":1: tokens has -1; give ids"),
        (
            line("q0", "A", tokens=[1, 2, 3], logprobs=[-0.5, -0.5]),
            ":1: lists of different lengths (tokens 3, logprobs 2); give an entry for each token in each",
        ),
        (line("q0", "A", tokens=["x"], alternatives=[]), "lengths (tokens 1, alternatives 0)"),
        (
            line("q0", "A", logprobs=[-0.1, -0.2], alternatives=[[["A", -0.1]], [["B", -0.3]]]),
            "token 1 has -0.2 in logprobs and -0.3 as its first alternative",
        ),
        (line("q0", "A", alternatives=[[["A", -0.1], ["B", -0.2]]]), "a token's alternatives sum to 1.724"),
        (line("q0", "A", labels={"Z": -0.5}), "labels has 'Z'; the labels of question q0 are A, B, C, D"),
        (line("q0", "A", finish="error"), "finish is 'error'; give stop or length"),
        (line("q9", "A"), "quiz has no question 'q9'"),
        ({"set": "other", "question": "q0", "text": "A"}, "no question set 'other'"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, content: dict[str, Any], said: str) -> None:
    file = lines(tmp_path, content)
    with pytest.raises(ProbeFormatError) as error:
        import_replies(file, tmp_path / "run", [made.question_set([made.choice("q0")])])
    assert said in str(error.value)
    assert not (tmp_path / "run").exists()


def test_one_reply_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProbeFormatError, match=r":2: the reply of .*:1 once more"):
        list(read_reply_lines(lines(tmp_path, line("q0", "A"), line("q0", "B"))))
    said_twice = line("q0", "A", stated=0.5), line("q0", "0.9", stage="stated:import")
    with pytest.raises(ProbeFormatError, match=r":2: the reply of .*:1 once more"):
        list(read_reply_lines(lines(tmp_path, *said_twice)))
    of_both = line("q0", "A", stated=0.5), line("q0", "A", stage="greedy", stated=0.9)
    with pytest.raises(ProbeFormatError, match=r":2: a second stated confidence beside that of .*:1; give one for"):
        list(read_reply_lines(lines(tmp_path, *of_both)))


def test_without_questions_every_answer_needs_its_grade(tmp_path: Path) -> None:
    with pytest.raises(ProbeFormatError, match=":1: no correct, and no --questions"):
        import_replies(lines(tmp_path, line("q0", "A")), tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "thought", "answer", "is_open"),
    [
        (
            "<think>\nSo the answer is A? Hmm, no.\n</think>\n\nB. Jupiter",
            "So the answer is A? Hmm, no.",
            "B. Jupiter",
            False,
        ),
        ("It could be A.\n</think>\nB", "It could be A.", "B", False),
        ("[THINK]The answer is A.", "The answer is A.", "", True),
        ("<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B", None, "B", False),
        ("The answer is B.", None, "The answer is B.", False),
    ],
)
def test_a_thought_is_kept_apart_from_the_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, thought: str | None, answer: str, is_open: bool
) -> None:
    quiz = made.question_set([made.choice("q0", 1)])
    with caplog.at_level("INFO"):
        run = import_replies(lines(tmp_path, line("q0", text)), tmp_path / "run", [quiz])
    reply = open_asked(run.path).pieces[0].replies[0]
    assert (reply.text, reply.reasoning_is_open) == (answer, is_open)
    assert thought is None or reply.reasoning == thought
    assert ("thoughts kept apart" in caplog.text) == (reply.reasoning is not None)
    assert ("thoughts" in asked_of("run", open_asked(run.path)).about) == (reply.reasoning is not None)


def test_what_is_given_apart_is_not_split_again(tmp_path: Path) -> None:
    quiz = made.question_set([made.choice("q0", 1)])
    run = import_replies(
        lines(tmp_path, line("q0", "The tag </think> ends it: B", reasoning="Tags.")), tmp_path / "run", [quiz]
    )
    reply = open_asked(run.path).pieces[0].replies[0]
    assert (reply.text, reply.reasoning) == ("The tag </think> ends it: B", "Tags.")


def test_an_import_of_some_of_a_set_is_limited(tmp_path: Path) -> None:
    quiz = made.question_set([made.choice(f"q{number}", 0) for number in range(5)])
    run = import_replies(lines(tmp_path, line("q1", "A"), line("q3", "B")), tmp_path / "part", [quiz])
    (report,) = report_asked([asked_of("part", open_asked(run.path))], OPTIONS).runs
    said = "LIMITED: 2 of 5 questions of quiz (those with replies)"
    assert heading(report) == (f"part: unknown, quiz (2 questions), 1 variant, {said}",)
    limited = {"questions": 2, "in_set": 5, "drawn": "answered", "seed": None, "groups": []}
    assert report.to_json()["limited"] == {"quiz": limited}
    (listed,) = list_runs(run.path).runs
    assert (listed.limited, listed.part) == (said.removeprefix("LIMITED: "), "quiz, 2 of 5")
    every = lines(tmp_path, *(line(f"q{number}", "A") for number in range(5)))
    whole = import_replies(every, tmp_path / "whole", [quiz])
    (report,) = report_asked([asked_of("whole", open_asked(whole.path))], OPTIONS).runs
    assert heading(report)[0].endswith(", complete")
    assert report.to_json()["limited"] is None
