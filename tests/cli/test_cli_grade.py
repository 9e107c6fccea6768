"""`calprobe grade`: what is printed, what the report then says, and options without effect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import serving
from click.testing import CliRunner
from commands import calprobe

from calprobe.backends.registry import ENTRIES
from calprobe.cli.app import cli
from calprobe.errors import CalprobeError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("grade")
    questions = path / "quiz.jsonl"
    questions.write_text(
        '{"id": "a", "question": "Capital of France?", "answer": ["Paris"]}\n'
        '{"id": "b", "question": "Capital of Norway?", "answer": ["Oslo", "Kristiania"]}\n'
    )
    replies = path / "replies.jsonl"
    replies.write_text(
        '{"set": "quiz", "question": "a", "text": "the city of Paris"}\n'
        '{"set": "quiz", "question": "b", "text": "I do not know."}\n'
    )
    done = calprobe("import", "replies", replies, "--questions", questions, "--out", path / "run")
    assert done.returncode == 0, done.stderr
    return str(path / "run")


def test_grades_are_stored_and_reported(run: str) -> None:
    done = calprobe("grade", run, "--grader", "rouge", "--rouge-threshold", "0.4")
    assert done.returncode == 0, done.stderr
    expected = f"{run}: 2 answers, 1 right; graded by rouge 1 (1 right), abstention 1 (0 right); next: calprobe report"
    assert expected in done.stderr
    assert done.stdout == ""
    report = calprobe("report", run, "--json", "--bootstrap", "0")
    found = json.loads(report.stdout)[run]
    cell = found["sets"]["quiz"]["variants"]["import"]
    assert cell["accuracy"]["short"]["value"] == 0.5
    assert cell["readings"]["short"]["graded_by"] == {
        "rouge": {"n": 1, "right": 1},
        "abstention": {"n": 1, "right": 0},
    }
    assert cell["readings"]["short"]["abstained"]["value"] == 0.5
    assert found["disclosure"]["grading"] == "rouge from ROUGE-L 0.4 on"
    said = " ".join(calprobe("report", run, "--bootstrap", "0").stdout.split())
    assert "graded by: rouge 1 (1 right), abstention 1 (0 right)." in said


def test_readings_are_exported_with_who_decided(run: str, tmp_path: Path) -> None:
    calprobe("grade", run, "--grader", "contains")
    out = tmp_path / "readings.jsonl"
    assert calprobe("export", run, "--what", "readings", "--out", out).returncode == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["question"], row["graded_by"], row["correct"], row["abstained"]) for row in rows] == [
        ("a", "contains", True, False),
        ("b", "abstention", False, True),
    ]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--grader", "judge"), "--grader judge needs a model; give --judge MODEL"),
        (("--judge-prompts", "judge"), "and there is no judge; give --judge MODEL"),
        (
            ("--device", "cpu"),
            "--device applies to --judge-backend transformers, and there is no judge; give --judge MODEL",
        ),
        (("--rouge-threshold", "0.5"), "--rouge-threshold is of ROUGE-L; give --grader rouge"),
        (("--judge", "x", "--max-requests", "5"), "--max-requests applies to --judge-backend openai, and"),
        (
            ("--judge", "x", "--judge-base-url", "http://h/v1", "--dtype", "float32"),
            "--dtype applies to --judge-backend transformers or vllm, and the judge's backend is openai; leave it out",
        ),
        (("--grader", "same"), "--grader same: choose one of exact, contains, includes, rouge, number, judge"),
    ],
)
def test_options_without_effect_are_refused(run: str, options: tuple[str, ...], what: str) -> None:
    done = calprobe("grade", run, *options)
    assert done.returncode == 2
    assert what in done.stderr


def test_a_run_that_is_not_there_is_missing_data(tmp_path: Path) -> None:
    done = calprobe("grade", tmp_path / "none")
    assert done.returncode == 3
    assert "none: no such run; make one with `calprobe score" in done.stderr
    assert "or with `calprobe ask`" in done.stderr


@pytest.mark.parametrize("backend", ["transformers", "vllm", "openai"])
def test_a_judge_is_loaded_as_the_options_say(run: str, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    seen: list[Any] = []

    def opens(model: str, options: Any, load_options: Any) -> None:
        seen.append((model, options.backend, load_options))
        raise CalprobeError("no judge here")

    monkeypatch.setitem(ENTRIES, backend, ENTRIES[backend]._replace(open=opens))
    loading = ("--dtype", "float32", "--revision", "abc", "--trust-remote-code") if backend != "openai" else ()
    done = CliRunner().invoke(cli, ["grade", run, "--judge", "x", "--judge-backend", backend, *loading])
    assert "no judge here" in str(done.exception)
    ((model, name, options),) = seen
    assert (model, name) == ("x", backend)
    if backend == "openai":
        assert options is None
    else:
        assert (options.dtype, options.revision, options.trust_remote_code) == ("float32", "abc", True)


def test_a_judges_server_gets_what_every_server_does(run: str) -> None:
    with serving() as server:
        named = ("--judge", "toy-chat", "--judge-base-url", server.url)
        done = calprobe("grade", run, *named, "--header", "X-Team: a", "--extra-body", "top_k=5", "--attempts", "1")
        assert server.bodies, done.stderr
        assert {headers["x-team"] for headers in server.headers} == {"a"}
        assert {body["top_k"] for body in server.bodies} == {5}
