"""Servers of today: other parameters, keys and headers, models that think, addresses without /v1."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from asked_samples import PROMPTS, question_set
from chat_server import ChatServer

from calprobe.asking import AskOptions, ask
from calprobe.backends import BackendOptions
from calprobe.cells.asked_folder import asked_of
from calprobe.confidence.asked.reply_table import reply_tables
from calprobe.errors import CalprobeError, UsageError
from calprobe.runs import AskedRun, Reply
from calprobe.studies.asked.lengths import cell_lengths

pytest.importorskip("openai")
pytestmark = pytest.mark.usefixtures("short_waits")

SECRET = "gw-verysecret-0123456789"
QUESTIONS = question_set(3)
ANSWERS = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer",), quiet=True)
BY_DEFAULT = AskOptions(prompts=PROMPTS, variants=("direct",), quiet=True)


def ask_server(server: ChatServer, out: Path, options: AskOptions = ANSWERS, **backend: Any) -> AskedRun:
    made = BackendOptions(**{"backend": "openai", "base_url": server.url, "timeout_s": 5.0, **backend})
    return ask("toy-chat", QUESTIONS, out, options, backend_options=made)


def replies(run: AskedRun) -> list[Reply]:
    return [reply for piece in run.pieces for reply in piece.replies]


def refusing(*names: str) -> Any:
    """Refuses a request with any of these parameters, and names the first that it has."""

    def why(body: dict[str, Any]) -> str:
        name = next((name for name in names if name in body), None)
        return f"Unsupported parameter: '{name}' is not supported with this model." if name else ""

    return why


def test_labels_that_nobody_asked_for_are_left_out_with_the_reason(
    server: ChatServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.refuses = refusing("max_tokens", "temperature", "logprobs")
    with caplog.at_level(logging.INFO):
        run = ask_server(server, tmp_path, BY_DEFAULT)
    assert {(reply.finish, reply.label_scores) for reply in replies(run)} == {("stop", None)}
    assert set(run.manifest.backend.refused) == {"temperature", "logprobs"}
    assert run.manifest.backend.settings["budget"] == "max_completion_tokens"
    (warning,) = (record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)
    assert "gives no log-probabilities of tokens (the server refused the request (400: Unsupported para" in warning
    assert warning.endswith("asked without probabilities of labels")


def test_one_refusal_may_name_both(server: ChatServer, tmp_path: Path) -> None:
    said = "temperature and logprobs are not supported with this reasoning_effort"
    server.refuses = lambda body: said if {"temperature", "logprobs"} & set(body) else ""
    run = ask_server(server, tmp_path, reasoning_effort="low")
    assert set(run.manifest.backend.refused) == {"temperature", "logprobs"}
    assert {body["reasoning_effort"] for body in server.bodies} == {"low"}


def thinks(answer: dict[str, Any], body: dict[str, Any]) -> None:
    """64 hidden tokens of thought in front of each reply; a smaller budget ends within it."""
    limit, choice = body.get("max_tokens", 0), answer["choices"][0]
    is_cut = limit <= 64
    if is_cut:
        choice["message"]["content"], choice["finish_reason"] = None, "length"
    spent = {"reasoning_tokens": limit if is_cut else 64}
    answer["usage"] |= {"completion_tokens": limit if is_cut else 65, "completion_tokens_details": spent}


@pytest.mark.parametrize("budget", [100, 32])
def test_hidden_thoughts_are_counted(
    server: ChatServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, budget: int
) -> None:
    server.alters = thinks
    options = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer",), max_new_tokens=budget, quiet=True)
    with caplog.at_level(logging.WARNING):
        asked = asked_of("run", ask_server(server, tmp_path, options))
    is_cut = budget == 32
    (lengths,) = cell_lengths(reply_tables(asked.sets, asked.replies)["sums"]["direct"])
    assert lengths.tokens is not None
    assert lengths.thoughts is not None
    assert (lengths.tokens.mean, lengths.thoughts.mean) == ((0, 32) if is_cut else (1, 64))
    assert (lengths.cut, lengths.open_thoughts) == (float(is_cut), float(is_cut))
    assert asked.about["thoughts"].startswith(f"kept apart in 3 of 3 replies, {3 * is_cut} of them without an end")
    assert ("3 of 3 replies were cut inside the thought" in caplog.text) == is_cut


def test_a_thought_that_a_server_refuses_to_cut_is_a_cut_reply(server: ChatServer, tmp_path: Path) -> None:
    said = "Could not finish the message because max_tokens or model output limit was reached."
    server.refuses = lambda body: said if body["max_tokens"] < 64 else ""
    run = ask_server(server, tmp_path)
    assert {(r.finish, r.text, r.is_cut_in_thought, r.reasoning_tokens) for r in replies(run)} == {
        ("length", "", True, 8)
    }


@pytest.mark.parametrize(
    ("owner", "refused", "sent"),
    [
        ("tests", "", {"reasoning_effort": "low"}),
        ("tests", "reasoning_effort", {"reasoning": {"effort": "low"}}),
        ("llamacpp", "", {"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "low"}}),
        ("vllm", "", {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": True}}),
    ],
)
def test_the_effort_of_thinking_is_sent_as_the_server_takes_it(
    server: ChatServer, tmp_path: Path, owner: str, refused: str, sent: dict[str, Any]
) -> None:
    server.owner, server.refuses = owner, refusing(refused)
    run = ask_server(server, tmp_path, reasoning_effort="low")
    assert all(sent.items() <= body.items() for body in server.bodies)
    assert run.manifest.backend.settings["reasoning_effort"] == "low"
    assert "reasoning effort low" in run.manifest.describe()
    with pytest.raises(UsageError, match="backend settings"):
        ask_server(server, tmp_path, reasoning_effort="high")


def test_an_effort_that_is_refused_names_its_option(server: ChatServer, tmp_path: Path) -> None:
    server.refuses = lambda body: "Unsupported value: 'reasoning_effort' does not support 'huge'"
    with pytest.raises(CalprobeError, match=r"does not support 'huge'[\s\S]*--reasoning-effort huge: give another"):
        ask_server(server, tmp_path, reasoning_effort="huge")


def test_headers_and_keys_are_sent_and_kept_nowhere(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("GATEWAY", SECRET)
    monkeypatch.setenv("OTHER_KEY", f"{SECRET}-key")
    server.needs_key = f"{SECRET}-key"
    server.alters = lambda answer, body: answer["choices"][0]["message"].update(content=f"A, by {SECRET}")
    options: Any = {"headers": {"X-Team": "physics", "X-Gateway": "Token ${GATEWAY}"}, "api_key_env": "OTHER_KEY"}
    with caplog.at_level(logging.DEBUG):
        run = ask_server(server, tmp_path, **options)
    assert {(h["x-team"], h["x-gateway"]) for h in server.headers} == {("physics", f"Token {SECRET}")}
    assert {reply.text for reply in replies(run)} == {"A, by ***"}
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert SECRET not in caplog.text + repr(BackendOptions("openai", **options))
    assert SECRET.encode() not in written
    monkeypatch.delenv("GATEWAY")
    with pytest.raises(UsageError, match=r"--header X-Gateway: there is no environment variable \$GATEWAY"):
        ask_server(server, tmp_path, **options)
    with pytest.raises(UsageError, match="not the key itself"):
        BackendOptions("openai", api_key_env="sk-verysecret")


def test_further_fields_are_sent_recorded_and_part_of_the_run(server: ChatServer, tmp_path: Path) -> None:
    server.owner = "llamacpp"
    body = {"top_k": 5, "provider": {"order": ["a"]}, "chat_template_kwargs": {"lang": "de"}}
    run = ask_server(server, tmp_path, extra_body=body)
    sent = {**body, "chat_template_kwargs": {"enable_thinking": False, "lang": "de"}}
    assert all(sent.items() <= request.items() for request in server.bodies)
    assert json.loads(run.manifest.backend.settings["extra_body"]) == body
    with pytest.raises(UsageError, match="backend settings"):
        ask_server(server, tmp_path, extra_body={"top_k": 6})
    for name, said in (("temperature", "calprobe sets it"), ("api_key", "give secrets by --header")):
        with pytest.raises(UsageError, match=said):
            BackendOptions("openai", extra_body={name: 1})


def test_an_address_may_lack_its_version(server: ChatServer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        run = ask_server(server, tmp_path, base_url=server.url.removesuffix("v1"))
    assert run.manifest.backend.address == server.url
    assert f"asked at {server.url}" in caplog.text
    made = BackendOptions("openai", base_url=server.url.removesuffix("/v1"), attempts=1)
    with pytest.raises(CalprobeError, match=r"no such model[\s\S]*the server lists toy-chat"):
        ask("toy-chad", QUESTIONS, tmp_path / "other", ANSWERS, backend_options=made)
