"""Answer and confidence in one reply: the schema that is sent, what is read of the reply, and where there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asked_samples import question_set
from chat_server import ChatServer

from calprobe.asking import AskOptions, ask, plan_of
from calprobe.backends import BackendOptions
from calprobe.cells.asked import read_sets
from calprobe.cells.asked_folder import asked_of
from calprobe.errors import CalprobeError, UsageError
from calprobe.measures.options import ReportOptions
from calprobe.prompts import load_prompts
from calprobe.prompts.fields import field_text, reply_schema
from calprobe.prompts.types import PromptSet, Stated
from calprobe.questions import Question
from calprobe.runs import AskedRun

pytestmark = pytest.mark.usefixtures("short_waits")

QUESTIONS = question_set(4)
OPTIONS = AskOptions(prompts="structured", quiet=True)
READING = ReportOptions()


def ask_server(server: ChatServer, out: Path, **backend: Any) -> AskedRun:
    pytest.importorskip("openai")
    made = BackendOptions("openai", base_url=server.url, timeout_s=5.0, **backend)
    return ask("toy-chat", QUESTIONS, out, OPTIONS, backend_options=made)


def in_json(answer: dict[str, Any], body: dict[str, Any]) -> None:
    message = answer["choices"][0]["message"]
    message["content"] = json.dumps({"answer": message["content"], "confidence": 70})


def test_one_request_has_answer_and_confidence(server: ChatServer, tmp_path: Path) -> None:
    server.alters = in_json
    run = ask_server(server, tmp_path)
    assert server.requests.total() == 4
    formats = [body["response_format"]["json_schema"] for body in server.bodies]
    assert {form["strict"] for form in formats} == {True}
    assert formats[0]["schema"]["properties"]["answer"] == {"type": "string", "enum": ["A", "B", "C", "D"]}
    assert "replies held to a JSON schema" in run.manifest.describe()
    ((table,),) = ([cell.table for cell in read.cells.values()] for read in read_sets(asked_of("run", run), READING))
    assert table.stated == ("confidence",)
    assert {row.replies["stated:confidence"].text for row in table.rows} == {"70%"}
    assert all(json.loads(row.first.text)["confidence"] == 70 for row in table.rows)  # kept whole
    assert ask_server(server, tmp_path).pieces == run.pieces
    assert server.requests.total() == 4


def test_a_server_that_takes_no_schema_is_asked_in_words(server: ChatServer, tmp_path: Path) -> None:
    server.alters = in_json
    server.refuses = lambda body: "response_format is not supported" if "response_format" in body else ""
    with pytest.raises(CalprobeError, match=r"takes no JSON schema[\s\S]*give --backend-option no-schema"):
        ask_server(server, tmp_path)
    run = ask_server(server, tmp_path / "words", schema=False)
    assert "JSON asked for in words alone" in run.manifest.describe()
    assert not any("response_format" in body for body in server.bodies)
    server.refuses = lambda body: ""
    with pytest.raises(UsageError, match="a JSON schema for replies"):
        ask_server(server, tmp_path / "words")


def test_json_begins_with_no_label(server: ChatServer, tmp_path: Path) -> None:
    assert {piece.labels for piece in ask_server(server, tmp_path).manifest.asked} == {False}
    with pytest.raises(UsageError, match="asks for JSON, which begins with no label"):
        plan_of(QUESTIONS, AskOptions(prompts="structured", collect=("labels", "answer")))


def test_the_schema_follows_the_kind_of_question() -> None:
    structured = load_prompts("structured")
    number = Question("1", "How many?", "number", answer=4)
    schema = reply_schema(number, structured)
    assert schema["properties"] == {
        "answer": {"type": "number"},
        "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
    }
    assert (schema["required"], schema["additionalProperties"]) == (["answer", "confidence"], False)
    words = Stated("sure", "", "expressions", 8, {"Never": 0.0, "Always": 1.0}, is_field=True)
    mine = PromptSet("mine", "", structured.variants, (words,))
    assert reply_schema(number, mine)["properties"]["sure"] == {"type": "string", "enum": ["Never", "Always"]}


@pytest.mark.parametrize(
    ("reply", "scale", "text"),
    [
        ('{"answer": "B", "confidence": 80}', "x/100", "80%"),
        ('{"answer": "B", "confidence": 0.8}', "x", "0.8"),
        ('Sure! ```json\n{"answer": "B", "confidence": "80%"}```', "x/100", "80%"),
        ('{"answer": "B", "confidence":', "x", ""),
        ("I am 80% sure.", "x/100", ""),
        ('{"answer": "x", "confidence": "Likely"}', "expressions", "Likely"),
    ],
)
def test_a_field_is_read_as_a_reply_would_be(reply: str, scale: str, text: str) -> None:
    assert field_text(reply, Stated("confidence", "", scale, 8, is_field=True)) == text
