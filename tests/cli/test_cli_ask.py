"""`calprobe ask` as a user types it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_server import ChatServer, serving
from commands import Done, calprobe

from calprobe.runs import open_asked

QUESTIONS = [
    {
        "id": "p",
        "question": "Which planet is the largest?",
        "options": ["Mars", "Jupiter", "Venus"],
        "answer": "Jupiter",
    },
    {"id": "g", "question": "Which gas do plants take up?", "options": ["Oxygen", "Helium"], "answer": 1},
]
PROMPTS = {
    "variants": {"short": "{input}\nAnswer:", "long": "Please answer.\n{input}\nAnswer:"},
    "stated": {"decimal_01": "How sure are you, from 0 to 1?"},
    "max_new_tokens": 8,
}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as found:
        yield found


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    """The options that name questions and prompts."""
    questions, prompts = tmp_path / "mine.jsonl", tmp_path / "prompts.json"
    questions.write_text("".join(json.dumps(each) + "\n" for each in QUESTIONS))
    prompts.write_text(json.dumps(PROMPTS))
    return "--questions", str(questions), "--prompts", str(prompts)


def ask(server: ChatServer, *arguments: object) -> Done:
    return calprobe("ask", "--model", "toy-chat", "--base-url", server.url, *arguments)


def test_settings_of_a_server_are_typed(server: ChatServer, files: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "run"
    more = ("--header", "X-Team: a: b", "--extra-body", "top_k=5", "--extra-body", '{"tag": "x"}')
    done = ask(server, *files, "--collect", "answer", "--out", out, *more, "--reasoning-effort", "low")
    assert done.returncode == 0, done.stderr
    assert {headers["x-team"] for headers in server.headers} == {"a: b"}
    assert {(body["top_k"], body["tag"], body["reasoning_effort"]) for body in server.bodies} == {(5, "x", "low")}
    done = ask(server, *files, "--header", "hunter2", "--out", tmp_path / "other")
    assert done.returncode == 2
    assert "give NAME: VALUE" in done.stderr
    assert "hunter2" not in done.stderr


def test_own_words_are_asked_and_kept(server: ChatServer, files: tuple[str, ...], tmp_path: Path) -> None:
    questions, text, out = files[:2], tmp_path / "words.txt", tmp_path / "run"
    text.write_text("Say: {question}\n{options}\n")
    own = ("--prompt", f"@{text}", "--collect", "answer", "--out", out)
    done = ask(server, *questions, *own, "--system", "Be brief.")
    assert done.returncode == 0, done.stderr
    assert {body["messages"][0]["content"] for body in server.bodies} == {"Be brief."}
    assert all(body["messages"][1]["content"].startswith("Say: ") for body in server.bodies)
    (variant,) = open_asked(out).manifest.prompts.variants
    assert (variant.name, variant.system, variant.user) == ("prompt", "Be brief.", "Say: {question}\n{options}")
    done = ask(server, *questions, *own, "--system", "Be long.")
    assert done.returncode == 2
    assert "variant prompt: the text or its settings differ" in done.stderr
    for prompt, why in (
        ("Hello", "has no place for the question: write {question}"),
        ("{question} {quest}", "unknown placeholder {quest}; known are {input}"),
        ("@nowhere.txt", "--prompt @nowhere.txt: cannot be read: No such file"),
    ):
        done = ask(server, *questions, "--prompt", prompt, "--out", tmp_path / "other")
        assert (done.returncode, why in done.stderr) == (2, True), done.stderr
    assert "leave it out, or --prompts" in ask(server, *files, "--prompt", "{input}").stderr


def test_a_question_file_becomes_a_run(
    server: ChatServer, files: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = ask(server, *files, "--collect", "labels,answer,stated")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "8 of 8 replies, " in done.stderr
    assert done.stderr.endswith("runs/toy-chat-mine: 8 replies, complete; next: calprobe report runs/toy-chat-mine\n")
    run = open_asked(Path("runs/toy-chat-mine"))
    assert [asked.variant for asked in run.by_piece] == ["short", "long"]
    assert run.questions["mine"].questions[0].gold == "B"
    again = ask(server, *files, "--collect", "labels,answer,stated", "--quiet")
    assert again.stderr.count("\n") == 1
    assert server.requests.total() == 8


def test_a_written_question_set_is_asked_as_if_it_were_chosen_anew(
    server: ChatServer, files: tuple[str, ...], tmp_path: Path
) -> None:
    chosen, drawn = ("--as", "choice", "--groups", "month", "--draw", "3", "--seed", "5"), tmp_path / "mini.jsonl"
    assert calprobe("questions", "mini", *chosen, "--out", drawn).returncode == 0
    given = (*files[2:], "--collect", "answer", "--quiet")
    ask(server, "--questions", "mini", *chosen, *given, "--out", tmp_path / "anew")
    done = ask(server, "--questions", drawn, *given, "--out", tmp_path / "written")
    assert done.returncode == 0, done.stderr
    anew, written = (open_asked(tmp_path / name) for name in ("anew", "written"))
    assert written.questions["mini"].questions == anew.questions["mini"].questions
    first, second = (run.manifest.sets[0].source for run in (anew, written))
    assert (second.fingerprint, second.probe, second.rule) == (first.fingerprint, first.probe, "nested")
    assert (second.seed, second.available, second.places) == (5, first.available, first.places)


def test_a_study_is_set_and_overridden(server: ChatServer, files: tuple[str, ...], tmp_path: Path) -> None:
    given = ("--study", "audit", "--variants", "short", "--draw-rule", "nested")
    done = ask(server, *files, *given, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    manifest = open_asked(tmp_path / "run").manifest
    assert (manifest.study, manifest.sampling.seed) == ("audit", 42)
    assert manifest.overrides == (f"--prompts {files[3]}", "--variants short", "--draw-rule nested")
    assert manifest.asked[0].stages == ("answer", "stated:decimal_01")


def test_a_dry_run_asks_nothing(server: ChatServer, files: tuple[str, ...], tmp_path: Path) -> None:
    given = (
        *files,
        "--collect",
        "labels,answer,stated",
        "--out",
        tmp_path / "run",
        "--price-in",
        "2",
        "--price-out",
        "8",
    )
    done = ask(server, *given, "--dry-run")
    assert (done.returncode, done.stderr, server.requests.total()) == (0, "", 0)
    assert "requests     8, if none fails" in done.stdout
    assert "user: Which planet is the largest?" in done.stdout
    found = json.loads(ask(server, *given, "--dry-run", "--json").stdout)
    assert (found["requests"], found["tokens_out"], found["tokens_by"]) == (8, 8 * 8 + 4 * 8, "letters")
    assert found["cost"] == pytest.approx((2 * found["tokens_in"] + 8 * found["tokens_out"]) / 1e6)
    assert not (tmp_path / "run").exists()
    done = ask(server, *given)
    assert "toy-chat on openai: 8 requests (4 answer, 4 stated:decimal_01); tokens: about " in done.stderr
    assert f"waiting for {server.url}" in done.stderr
    assert "8 of 8 replies, $" in done.stderr
    again = json.loads(ask(server, *given, "--dry-run", "--json").stdout)
    assert (again["requests"], again["already_there"]) == (0, 8)


def test_failures_are_counted_in_the_last_line(server: ChatServer, files: tuple[str, ...], tmp_path: Path) -> None:
    server.faults = [400]
    done = ask(server, *files, "--collect", "answer", "--out", tmp_path / "run", "--concurrency", "1")
    assert done.returncode == 0
    assert "1 request failed (1 time: the server refused the request (400: fault 400))" in done.stderr
    assert "4 replies, 1 of them failed; next: calprobe report" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--collect", "samples"],
            "--collect samples: answers are sampled by --samples N with --temperature T; give these",
        ),
        (
            ["--collect", "label"],
            "known are labels, answer, stated, closed, greedy, p_true, alternatives; did you mean labels?",
        ),
        (["--collect", "stated"], "--collect stated: a confidence is stated about an answer; collect answer, too"),
        (
            ["--study", "audits"],
            "--study audits: known studies are audit, stated, science-labels, science-answers, wording; "
            "did you mean audit?",
        ),
        (["--study", "kissling"], "kissling scores statements: `calprobe score --study kissling`"),
        (["--samples", "3"], "--samples 3: greedy samples are all the same; give --temperature, such as 1"),
        (["--samples", "0"], "--samples must be a whole number from 1 to 10,000, got 0"),
        (["--samples", "10001", "--temperature", "1"], "--samples must be a whole number from 1 to 10,000, got 10001"),
        (["--top-p", "0"], "--top-p must be above 0, and 1 at most, got 0.0"),
        (["--temperature", "-1"], "--temperature must be finite, and 0 or more, got -1.0"),
        (["--temperature", "inf"], "--temperature must be finite, and 0 or more, got inf"),  # no manifest can hold it
        (["--shard", "5/4"], "--shard 5/4: in I/N, I goes from 1 to N"),
        (["--paraphrases", "x.jsonl"], "--paraphrases x.jsonl: give none, hand, or a JSON Lines file that is there"),
        (["--variants", "shirt"], "has no variant 'shirt'"),
        (
            ["--tensor-parallel", "2"],
            "--backend-option tensor-parallel applies to --backend vllm, and the backend is openai; leave it out",
        ),
        (["--device", "cuda"], "--device applies to --backend transformers, and the backend is openai; leave it out"),
        (["--backend", "vllm"], "--base-url applies to --backend openai, and the backend is vllm; leave it out"),
        (["--limit", "1", "--draw", "1"], "--draw and --limit contradict each other"),
        (
            ["--limit", "1", "--draw-rule", "sample"],
            "--draw-rule says how --draw draws; give --draw N, or leave it out",
        ),
        (["--study", "audit", "--limit", "1", "--draw-rule", "sample"], "--draw-rule says how --draw draws"),
        (["--options", "6"], "--options applies to facts of a probe: mini, bear or a folder; leave it out"),
        (["--forms", "forms.json"], "--forms applies to facts of a probe: mini, bear or a folder; leave it out"),
        (["--max-cost", "1"], "--max-cost: give --price-in and --price-out, too"),
        (["--price-in", "1"], "--price-in and --price-out: give both"),
        (["--json"], "--json is for --dry-run"),
        (["--concurrency", "0"], "--concurrency must be a whole number of at least 1, got 0"),
        (["--base-url", "localhost:80"], "--base-url given twice; give it once"),
    ],
)
def test_wrong_usage_is_said_in_a_line(
    server: ChatServer, files: tuple[str, ...], tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = ask(server, *files, "--out", tmp_path / "run", *arguments)
    assert said in done.stderr
    assert done.returncode == 2
    assert not server.requests
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("name", "said"), [("", "{0} is there twice"), ("other=", "mine.jsonl is there twice")])
def test_a_question_file_is_named_once(
    server: ChatServer, files: tuple[str, ...], tmp_path: Path, name: str, said: str
) -> None:
    path = files[1]
    done = ask(server, *files, "--questions", f"{name}{path}", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert f"{said.format(path)}; name it once" in done.stderr
    assert not server.requests


def test_options_of_servers_need_a_server(files: tuple[str, ...], tmp_path: Path) -> None:
    done = calprobe("ask", "--model", "tiny-clm", *files, "--out", tmp_path / "run", "--max-requests", "3")
    assert done.returncode == 2
    assert "--max-requests applies to --backend openai, and the backend is transformers; leave it out" in done.stderr


def test_a_missing_package_is_named_with_its_extra(
    server: ChatServer, files: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    done = ask(server, *files, "--out", tmp_path / "run")
    assert done.returncode == 1
    assert "--backend openai needs the package openai: pip install 'calprobe[openai]'" in done.stderr


def test_a_server_that_is_not_there_is_an_error(files: tuple[str, ...], tmp_path: Path) -> None:
    with serving() as gone:
        pass
    done = ask(gone, *files, "--attempts", "1", "--out", tmp_path / "run")
    assert done.returncode == 1
    assert f"{gone.url}: no connection to the server" in done.stderr
    assert not (tmp_path / "run").exists()


def test_the_size_of_a_served_model_is_recorded(server: ChatServer, files: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert ask(server, *files, "--parameters", "7.6B", "--out", out, "--quiet").returncode == 0
    size = open_asked(out).manifest.model.size
    assert size is not None
    assert (size.parameters, size.source) == (7_600_000_000, "given")
    done = ask(server, *files, "--parameters", "many", "--out", out)
    assert done.returncode == 2
    assert "'many' is no number such as 134515008, 135M or 7.6B" in done.stderr
    done = calprobe("ask", "--model", "tiny-chat", *files, "--parameters", "1", "--out", tmp_path / "other")
    assert done.returncode == 2
    assert "--parameters applies to --backend vllm or openai, and the backend is transformers" in done.stderr
