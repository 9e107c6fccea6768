"""A judge on a server: its verdicts come from the window of the most probable tokens, and nothing is asked twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asked_replies import question_set
from chat_server import serving

from calprobe.backends.options import BackendOptions
from calprobe.grading import grade
from calprobe.interop.reply_import import import_replies
from calprobe.questions.types import Question


def test_a_judge_on_a_server(tmp_path: Path) -> None:
    questions = [Question(f"q{n}", f"What is {n}?", "open", accepted=(f"answer {n}",)) for n in range(6)]
    lines = [{"set": "quiz", "question": f"q{n}", "text": f"{'answer' if n < 2 else 'reply'} {n}"} for n in range(6)]
    file = tmp_path / "replies.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    run = import_replies(file, tmp_path / "run", [question_set(questions)]).path
    with serving() as server:
        server.words = ("Yes", "No")
        there = BackendOptions("openai", base_url=server.url)
        found = grade(run, judge="toy-chat", backend_options=there)
        assert sorted(server.requests.values()) == [1] * 4
        assert grade(run, judge="toy-chat", backend_options=there).rows == found.rows
        assert sorted(server.requests.values()) == [1] * 4
    assert found.decided["exact"] == (2, 2)
    judged = [row for row in found.rows if row.rule == "judge"]
    assert len(judged) == 4
    for row in judged:  # the word that it says has 0.6, and each form of both 0.04
        assert row.score == pytest.approx(0.64 / 0.72 if row.correct else 0.08 / 0.72)
