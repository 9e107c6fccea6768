"""The study from questions to JSON: asked, graded and reported, with closed sets behind counterfactuals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fake_backend import FakeBackend

from calprobe.asking import AskOptions, ask
from calprobe.cells.opening import asked_runs
from calprobe.grading import GradeOptions, grade
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.questions import Question, QuestionSet, SetSource
from calprobe.runs import Reply
from calprobe.studies.asked.report_asked import report_asked

N = 12
KEYS = (
    *("n", "consistency", "correlation", "fidelity", "conditions", "reliability", "values", "differences", "reversed"),
)


def expected(reply: Reply) -> float:
    """The mean of a closed set 0 to 10."""
    scores = reply.label_scores
    assert scores is not None
    mass = np.exp(scores.logprobs[0])
    return float((mass * [int(label) / 10 for label in scores.labels]).sum() / mass.sum())


def test_a_run_is_asked_graded_and_reported(tmp_path: Path) -> None:
    questions = tuple(Question(f"q{at}", f"What is {at}?", "open", accepted=(f"gold {at}",)) for at in range(N))
    found = QuestionSet("facts", questions, SetSource("f" * 64))
    run = ask(FakeBackend(), found, tmp_path / "run", AskOptions(study="stated", quiet=True))
    by_hand = tmp_path / "grades.jsonl"
    lines = [{"set": "facts", "question": f"q{at}", "variant": "direct", "correct": at % 2 == 0} for at in range(8)]
    by_hand.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    grade(run, GradeOptions(quiet=True), grades=by_hand)
    own = asked_runs({"run": str(tmp_path / "run")})
    report = report_asked(own, ReportOptions(resampling=Resampling(20))).to_json()["run"]
    scopes = report["stated"]["variants"]["direct"]
    assert {"ok", "expected"} <= scopes.keys()
    for way in ("ok", "expected"):
        assert tuple(scopes[way]["sets"]["facts"]) == KEYS
    facts = scopes["expected"]["sets"]["facts"]
    replies = {(reply.stage, reply.question): reply for piece in run.pieces for reply in piece.replies}
    stages = ("stated:probability_10", "stated:probability_10@counterfactual")
    values = np.array([[expected(replies[stage, f"q{at}"]) for at in range(N)] for stage in stages])
    rate = float((values[0] > values[1]).mean())
    assert facts["fidelity"]["probability_10"]["fidelity"]["value"] == pytest.approx(rate)
    assert facts["fidelity"]["probability_10"]["n"] == N
    assert facts["values"]["probability_10"]["distinct"] == len(np.unique(values[0].round(12)))
    assert len(facts["differences"]) == 45
    metrics = facts["reliability"]["probability_10"]["metrics"]
    right = np.array([at < 8 and at % 2 == 0 for at in range(N)])
    assert metrics["brier"]["value"] == pytest.approx(float(((values[0] - right) ** 2).mean()))
    # No answer is an accepted text: exact matching finds none of the four that are right by hand.
    errors = report["disclosure"]["graded_by_hand"]
    assert (errors["right"], errors["wrong"]) == (4, 4)
    assert [errors[name]["value"] for name in ("sensitivity", "specificity", "accuracy")] == [0.0, 1.0, None]
