"""A server with OpenAI's interface: what is asked of it, what is believed of its answers, and what a bad one causes."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from asked_samples import PROMPTS, question_set
from chat_server import HELLO, LETTERS, ChatServer, completion, serving
from proofs import few_of

from calprobe.asking import AskOptions, ask
from calprobe.backends import BackendOptions
from calprobe.errors import CalprobeError, UsageError
from calprobe.runs import AskedRun, Reply
from calprobe.runs.replies import TOO_LONG

pytest.importorskip("openai")
pytestmark = pytest.mark.usefixtures("short_waits")

KEY = "sk-verysecret-0123456789"
QUESTIONS = question_set(5)
DIRECT = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("labels", "answer", "stated"), quiet=True)


def ask_server(
    server: ChatServer, out: Path, options: AskOptions = DIRECT, questions: Any = QUESTIONS, **backend: Any
) -> AskedRun:
    made = BackendOptions(**{"backend": "openai", "base_url": server.url, "timeout_s": 5.0, **backend})
    return ask("toy-chat", questions, out, options, backend_options=made)


def replies(run: AskedRun) -> list[Reply]:
    return [reply for piece in run.pieces for reply in piece.replies]


def test_questions_are_asked_and_labels_are_read_off_the_window(server: ChatServer, tmp_path: Path) -> None:
    run = ask_server(server, tmp_path)
    assert not run.partial
    assert sorted(server.requests.values()) == [1] * 10
    for reply in replies(run):
        assert (reply.finish, reply.token_ids, reply.prompt_ids) == ("stop", None, None)
        assert reply.tokens_out == 1
        if reply.stage != "answer":
            assert reply.label_scores is None
            continue
        scores = reply.label_scores
        assert scores is not None
        assert scores.labels == LETTERS
        masses = np.exp(scores.logprobs[0])
        chosen = LETTERS.index(reply.text)
        np.testing.assert_allclose(masses, np.where(np.arange(4) == chosen, 0.64, 0.08))
        np.testing.assert_allclose(scores.least, math.log(0.001))
        assert scores.positions.tolist() == [0]
        assert scores.ranks is not None
        assert scores.ranks[0, chosen] == 0
    body = server.bodies[0]
    assert (body["temperature"], body["max_tokens"], body["top_logprobs"]) == (0, 8, 20)
    assert "seed" not in body
    assert run.manifest.describe().startswith("backend openai, label probabilities: top 20 tokens, greedy")
    assert run.manifest.backend.address == server.url


def test_a_follow_up_has_the_conversation_in_front_of_it(server: ChatServer, tmp_path: Path) -> None:
    run = ask_server(server, tmp_path)
    answer, stated = (r for r in replies(run) if r.question == "q3")
    (body,) = (b for b in server.bodies if b["messages"][0]["content"] in answer.prompt and len(b["messages"]) == 3)
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == answer.text
    assert stated.prompt.endswith(f"assistant: {answer.text}\nuser: How sure are you, from 0 to 1?")


def test_a_label_that_the_window_lacks_is_not_covered(server: ChatServer, tmp_path: Path) -> None:
    run = ask_server(server, tmp_path, top_logprobs=4)
    for reply in replies(run):
        if reply.label_scores is not None:
            covered = reply.label_scores.covered[0]
            assert 1 <= covered.sum() < 4
            assert reply.label_scores.ranks is not None
            assert set(reply.label_scores.ranks[0][~covered]) == {4}
            np.testing.assert_allclose(reply.label_scores.least, math.log(0.04))


def test_alternatives_are_those_of_the_window(server: ChatServer, tmp_path: Path) -> None:
    run = ask_server(
        server, tmp_path, AskOptions(prompts=PROMPTS, collect=("answer", "alternatives", "stated"), quiet=True)
    )
    for reply in replies(run):
        own = reply.alternatives
        if reply.stage != "answer":
            assert own is None
            continue
        assert own is not None
        (tokens,) = own.tokens()
        assert (tokens[0][0], len(tokens), own.complete, own.ids) == (reply.text, 10, False, ())
        assert np.exp([logprob for _, logprob in tokens]) == pytest.approx([0.6, *[0.04] * 7, 0.001, 0.001])
        assert own.mass[0] == pytest.approx(0.882)
    windows = {"top_logprobs" in body for body in server.bodies if len(body["messages"]) == 1}
    assert windows == {True}
    assert not any("top_logprobs" in body for body in server.bodies if len(body["messages"]) == 3)


def test_samples_have_seeds_of_their_own(server: ChatServer, tmp_path: Path) -> None:
    options = AskOptions(
        prompts=PROMPTS, variants=("direct",), collect=("answer",), samples=3, temperature=0.7, quiet=True
    )
    ask_server(server, tmp_path / "one", options)
    first = {json.dumps(body, sort_keys=True) for body in server.bodies}
    assert len(first) == len({body["seed"] for body in server.bodies}) == 15
    assert {body["top_p"] for body in server.bodies} == {1.0}
    server.bodies.clear()
    ask_server(server, tmp_path / "two", options)
    assert {json.dumps(body, sort_keys=True) for body in server.bodies} == first


@pytest.mark.parametrize(
    "fault",
    few_of(
        [
            500,
            502,
            429,
            408,
            "reset",
            "cut",
            "short",
            "html",
            "",
            "null",
            "[]",
            "{}",
            '{"choices": []}',
            '{"error": "no"}',
        ],
        lambda fault: fault in (500, 429, "reset", "cut", "html"),
    ),
)
def test_what_goes_wrong_once_is_tried_again(server: ChatServer, tmp_path: Path, fault: int | str) -> None:
    with serving() as other:
        expected = replies(ask_server(other, tmp_path / "whole"))
    server.faults = [fault] * 3
    run = ask_server(server, tmp_path / "run")
    assert replies(run) == expected
    assert server.requests.total() == 13


@pytest.mark.parametrize(
    ("finish", "error", "expected"),
    [
        ("error", {"code": 502, "message": "the provider died"}, '{"code": 502, "message": "the provider died"}'),
        ("error", None, '"finish_reason is error"'),
        ("stop", {"code": 502}, '{"code": 502}'),
    ],
)
def test_a_reply_that_an_error_cut_off_is_not_kept(
    server: ChatServer, tmp_path: Path, finish: str, error: dict[str, Any] | None, expected: str
) -> None:
    """OpenRouter says so in the choice, with status 200."""
    choice = {"message": {"content": "The ans"}, "finish_reason": finish, "error": error}
    server.faults = [json.dumps({"model": "toy-chat", "choices": [choice]})] * 2
    first = replies(ask_server(server, tmp_path, attempts=2, concurrency=1))[0]
    assert (first.finish, first.text) == ("error", "")
    assert first.error == f"the server's answer cannot be used: an error instead of a reply: {expected} (2 attempts)"


BAD_TYPES = [
    '{"choices": 7}',
    '{"choices": [7]}',
    '{"choices": [{"message": "A"}]}',
    '{"choices": [{"message": {"content": 7}}]}',
    '{"choices": [{"message": {"content": ["A"]}, "finish_reason": "stop"}]}',
    '{"choices": [{"message": {"content": "A"}, "finish_reason": 7}]}',
    '{"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": 7, "logprob": -1}]}}]}',
    '{"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": "A", "logprob": "x"}]}}]}',
    '{"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": "A", "logprob": NaN}]}}]}',
    '{"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": "A", "logprob": 9}]}}]}',
    '{"choices": [{"message": {"content": "A"}}], "usage": {"prompt_tokens": -3}}',
    '{"choices": [{"message": {"content": "A"}}], "usage": {"completion_tokens": true}}',
    '{"choices": [{"message": {"content": "A"}}], "model": 7}',
    '{"choices": [{"message": {"content": "A"}}, {"message": {"content": "B"}}]}',
    "[" * 100_000,
]


@pytest.mark.parametrize("body", few_of(BAD_TYPES, lambda body: body in BAD_TYPES[::4]))
def test_wrong_types_are_a_counted_failure(server: ChatServer, tmp_path: Path, body: str) -> None:
    server.faults = [body] * 2
    run = ask_server(server, tmp_path, attempts=2, concurrency=1)
    first = replies(run)[0]
    assert first.finish == "error"
    assert "the server's answer cannot be used" in first.error
    assert first.error.endswith("(2 attempts)")
    assert [r.finish for r in replies(run)].count("error") == 2  # and what would have been asked after it


def test_a_failure_is_asked_again_and_nothing_else(server: ChatServer, tmp_path: Path) -> None:
    server.faults = [400]
    run = ask_server(server, tmp_path, concurrency=1)
    assert [r.error for r in replies(run)][:1] == ["the server refused the request (400: fault 400)"]
    before = server.requests.total()
    assert {r.finish for r in replies(ask_server(server, tmp_path))} == {"stop"}
    assert server.requests.total() == before + 2


def test_what_is_too_long_or_never_ends_is_a_counted_failure(server: ChatServer, tmp_path: Path) -> None:
    server.faults = ["huge", "endless", "hang", "hang"]
    began = time.monotonic()
    run = ask_server(server, tmp_path, timeout_s=0.7, concurrency=1)
    assert time.monotonic() - began < 20
    errors = [r.error for r in replies(run) if r.error and not r.error.startswith("not asked")]
    assert len(errors) == 3
    assert errors[0].startswith("an answer of more than")
    assert "more than" in errors[1]
    assert errors[2] == "no answer within 0.7 s (2 attempts)"


def test_the_waits_that_a_server_asks_for_are_kept(server: ChatServer, tmp_path: Path) -> None:
    server.faults = [429]  # Retry-After: 0.2
    ask_server(server, tmp_path, concurrency=2)
    gap = max(b - a for a, b in zip(server.times, server.times[1:], strict=False))
    assert gap >= 0.19


def test_not_more_is_in_progress_than_allowed(server: ChatServer, tmp_path: Path) -> None:
    server.pause_s = 0.02
    ask_server(server, tmp_path / "one", concurrency=1)
    assert server.most_active == 1
    server.most_active = 0
    ask_server(server, tmp_path / "four", concurrency=4)
    assert 2 <= server.most_active <= 4


def test_not_more_is_asked_in_a_minute_than_allowed(server: ChatServer, tmp_path: Path) -> None:
    ask_server(server, tmp_path, requests_per_minute=1200, concurrency=8)
    assert server.times[-1] - server.times[0] >= 9 * 60 / 1200 * 0.9


def test_max_requests_stops_the_run_and_keeps_what_is_paid_for(server: ChatServer, tmp_path: Path) -> None:
    with pytest.raises(CalprobeError, match=r"--max-requests 5 are made; 6 of 10 replies are left"):
        ask_server(server, tmp_path, max_requests=5)  # one of them looks at the server
    assert server.requests.total() == 4
    assert not ask_server(server, tmp_path).partial
    assert sorted(server.requests.values()) == [1] * 10


@pytest.mark.parametrize("concurrency", [1, 8])
def test_max_cost_stops_before_it_is_passed_and_can_be_resumed(
    concurrency: int, server: ChatServer, tmp_path: Path
) -> None:
    prices = {"price_in": 0.0, "price_out": 1e6}  # a dollar for a token: one for a reply, eight for the longest
    with pytest.raises(CalprobeError, match=r"--max-cost \$12.00: \$5.00 are spent, .*; 6 of 10 replies are left"):
        ask_server(server, tmp_path, max_cost=12.0, concurrency=concurrency, **prices)
    assert server.requests.total() == 4
    assert not ask_server(server, tmp_path, **prices).partial
    assert sorted(server.requests.values()) == [1] * 10


def test_max_cost_counts_answers_that_cannot_be_used(server: ChatServer, tmp_path: Path) -> None:
    """A dollar for each of 20 + 1 tokens, also for those that are tried again."""
    usage = {"prompt_tokens": 20, "completion_tokens": 1}
    server.faults = [json.dumps({"choices": [{"message": 7}], "usage": usage})] * 9
    prices = {"price_in": 1e6, "price_out": 1e6}
    with pytest.raises(CalprobeError, match=r"--max-cost \$100.00: \$\d\d.00 are spent, and the next request could"):
        ask_server(server, tmp_path, max_cost=100.0, concurrency=1, attempts=9, **prices)
    assert server.requests.total() == 2


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}])
def test_max_cost_counts_replies_without_usage_at_their_most(
    server: ChatServer, tmp_path: Path, usage: dict[str, int] | None
) -> None:
    server.alters = lambda answer, body: answer.update(usage=usage)
    prices = {"price_in": 0.0, "price_out": 1e6}  # one for the first look, eight for the longest reply
    with pytest.raises(CalprobeError, match=r"--max-cost \$30.00: \$25.00 are spent, .*; 7 of 10 replies are left"):
        ask_server(server, tmp_path, max_cost=30.0, concurrency=1, **prices)
    assert server.requests.total() == 3


@pytest.mark.parametrize("place", ["chosen", "window"])
def test_a_log_probability_that_is_null_costs_the_log_probabilities_alone(
    server: ChatServer, tmp_path: Path, place: str
) -> None:
    def leaves_out(answer: dict[str, Any], body: dict[str, Any]) -> None:
        (token,) = answer["choices"][0]["logprobs"]["content"]
        if body["messages"][-1]["content"] != HELLO:
            (token if place == "chosen" else token["top_logprobs"][1])["logprob"] = None

    server.alters = leaves_out
    run = ask_server(server, tmp_path / "labels", concurrency=1)
    assert [r.error for r in replies(run)][:1] == ["the server gave no log-probabilities with this reply"]
    assert set(server.requests.values()) == {1}  # the next attempt would be as good, and is paid for
    if place == "chosen":
        texts = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer",), quiet=True)
        run = ask_server(server, tmp_path / "texts", texts)
        assert {(r.finish, r.text in LETTERS, r.logprobs) for r in replies(run)} == {("stop", True, None)}


def test_a_model_that_changes_stops_the_run(server: ChatServer, tmp_path: Path) -> None:
    def other(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        handler._raw(json.dumps(completion(body, "other-chat")).encode())  # type: ignore[attr-defined]

    server.faults = [None, None, other]  # type: ignore[list-item]
    with pytest.raises(
        CalprobeError, match="the server now answers with model 'other-chat', and began with 'toy-chat'"
    ):
        ask_server(server, tmp_path, concurrency=1)
    server.answers_with = "other-chat"
    with pytest.raises(UsageError, match="revision: the run has none, requested other-chat"):
        ask_server(server, tmp_path)


def test_a_server_that_is_gone_says_how_to_resume(tmp_path: Path) -> None:
    with serving() as server:
        url, port = server.url, server.port

        def vanish(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
            threading.Thread(target=server.shutdown).start()
            server.socket.close()
            handler.hang_up()  # type: ignore[attr-defined]

        server.faults = [None] * 4 + [vanish] + ["reset"] * 50  # type: ignore[list-item]
        with pytest.raises(CalprobeError, match=r"(no connection|the connection was lost)[\s\S]*replies are left"):
            ask_server(server, tmp_path, concurrency=1, attempts=3)
    with serving(port) as again:
        assert again.url == url
        run = ask_server(again, tmp_path)
        assert not run.partial
        assert server.served + again.served == 10 + 2  # and two first looks
    with pytest.raises(CalprobeError, match="no connection to the server"):
        ask_server(again, tmp_path / "other", attempts=2)


def test_a_server_that_moves_is_the_same(server: ChatServer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ask_server(server, tmp_path)
    with serving() as other, caplog.at_level(logging.WARNING):
        ask_server(other, tmp_path)
        assert not other.requests
    assert f"resuming with address {other.url}, the run started with {server.url}" in caplog.text


def test_a_wrong_model_or_address_is_an_error_at_once(server: ChatServer, tmp_path: Path) -> None:
    options = BackendOptions("openai", base_url=server.url, attempts=1)
    with pytest.raises(
        CalprobeError, match=r"no such model[\s\S]*--model toy-chad: the server lists toy-chat; did you"
    ):
        ask("toy-chad", QUESTIONS, tmp_path, DIRECT, backend_options=options)


def test_a_server_that_continues_no_reply_is_asked_for_the_rest(server: ChatServer, tmp_path: Path) -> None:
    run = ask_server(server, tmp_path, AskOptions(study="audit", quiet=True, variants=("surface_paraphrase",)))
    assert {reply.stage for reply in replies(run)} == {"answer", "stated:decimal_01", "stated:percent_0_100"}


def test_an_empty_list_of_log_probabilities_is_a_counted_failure(server: ChatServer, tmp_path: Path) -> None:
    def hides(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        answer = completion(body)
        answer["choices"][0]["logprobs"] = {"content": []}
        handler._raw(json.dumps(answer).encode())  # type: ignore[attr-defined]

    server.faults = [hides]
    first = replies(ask_server(server, tmp_path, concurrency=1))[0]
    assert (first.finish, first.error) == ("error", "the server gave no log-probabilities with this reply")


def test_a_server_without_log_probabilities_gives_no_labels(server: ChatServer, tmp_path: Path) -> None:
    server.model = "toy-chat"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chat_server._token", lambda *_: None)
        patch.setattr("chat_server.completion", lambda body, *more: _without_logprobs(completion(body, *more)))
        with pytest.raises(UsageError, match="gives no log-probabilities of tokens; leave labels out"):
            ask_server(server, tmp_path)
        options = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer",), quiet=True)
        assert {r.logprobs for r in replies(ask_server(server, tmp_path, options))} == {None}


def test_a_server_that_wants_the_other_name_of_the_budget_is_given_it(server: ChatServer, tmp_path: Path) -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    server.refuses = lambda body: said if "max_tokens" in body else ""
    run = ask_server(server, tmp_path)
    assert {(body.get("max_tokens"), body["max_completion_tokens"]) for body in server.bodies} == {(None, 8)}
    assert {body["temperature"] for body in server.bodies} == {0}  # nothing else changes
    assert {reply.finish for reply in replies(run)} == {"stop"}
    assert run.manifest.backend.settings["budget"] == "max_completion_tokens"
    assert run.manifest.backend.refused == {}


def test_a_model_that_takes_no_temperature_is_asked_at_its_own(server: ChatServer, tmp_path: Path) -> None:
    said = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported."
    server.refuses = lambda body: said if body.get("temperature", 1) != 1 or "top_p" in body else ""
    run = ask_server(server, tmp_path / "run")
    assert not any("temperature" in body for body in server.bodies)
    assert all(body["logprobs"] for body in server.bodies)  # which it does not refuse
    assert {reply.finish for reply in replies(run)} == {"stop"}
    assert run.manifest.backend.settings["not_sent"] == "temperature"
    assert said in run.manifest.backend.refused["temperature"]
    assert "at the model's own temperature, since the server takes no other (" in run.manifest.describe()
    assert "greedy" not in run.manifest.describe()
    sampled = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer",), samples=2, quiet=True)
    run = ask_server(server, tmp_path / "sampled", replace(sampled, temperature=1.0))
    assert {reply.finish for reply in replies(run)} == {"stop"}
    with pytest.raises(
        UsageError, match=r"temperature 0.7: toy-chat on openai takes none but its own \(.*does not supp"
    ):
        ask_server(server, tmp_path / "other", replace(sampled, temperature=0.7))


def test_a_model_that_refuses_log_probabilities_is_named_with_what_the_server_says(
    server: ChatServer, tmp_path: Path
) -> None:
    said = "'logprobs' is not supported with this model."
    server.refuses = lambda body: said if "logprobs" in body else ""
    with pytest.raises(UsageError, match=r"gives no log-probabilities of tokens \(.*'logprobs' is not supported"):
        ask_server(server, tmp_path / "labels")
    options = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer",), quiet=True)
    run = ask_server(server, tmp_path / "run", options)
    assert {reply.logprobs for reply in replies(run)} == {None}
    assert {body["temperature"] for body in server.bodies} == {0}
    assert said in run.manifest.backend.refused["logprobs"]
    assert "greedy" in run.manifest.describe()


def _without_logprobs(answer: dict[str, Any]) -> dict[str, Any]:
    answer["choices"][0].pop("logprobs", None)
    return answer


def test_the_key_is_in_no_file_message_or_repr(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.needs_key = KEY

    def tells(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        answer = completion(body)
        answer["choices"][0]["message"]["content"] = f"Your key is {KEY}."
        handler._raw(json.dumps(answer).encode())  # type: ignore[attr-defined]

    def refuses(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        handler._send(400, {"error": {"message": f"bad {handler.headers['Authorization']} and {KEY}"}})  # type: ignore[attr-defined]

    def breaks(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        handler._raw(f"oh {KEY}".encode())  # type: ignore[attr-defined]

    server.faults = [tells, refuses, breaks, breaks]
    seen: list[object] = []
    with caplog.at_level(logging.DEBUG):
        run = ask_server(server, tmp_path / "run", concurrency=1, attempts=2)
        seen += [run, run.manifest, *replies(run)]
        monkeypatch.setenv("OPENAI_API_KEY", KEY + "x")
        with pytest.raises(CalprobeError, match=r"the server refuses the key \(401: invalid_api_key") as error:
            ask_server(server, tmp_path / "other")
    seen += [error.value, error.value.__cause__]
    assert KEY not in caplog.text
    assert KEY not in repr(seen)
    assert any("***" in r.text for r in replies(run))
    printed = capfd.readouterr()
    assert KEY not in printed.out + printed.err
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file


def test_openais_own_address_needs_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="needs a key: set OPENAI_API_KEY"):
        ask("gpt-x", QUESTIONS, tmp_path, DIRECT, backend_options=BackendOptions("openai"))
    with pytest.raises(UsageError, match="credentials do not belong there") as error:
        BackendOptions("openai", base_url="http://me:hunter2@127.0.0.1:1/v1")
    assert "hunter2" not in str(error.value)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:hunter2@127.0.0.1:1/v1")
    with pytest.raises(UsageError, match="credentials do not belong there") as error:
        ask("gpt-x", QUESTIONS, tmp_path, DIRECT, backend_options=BackendOptions("openai"))
    assert "hunter2" not in str(error.value)


def test_a_thought_is_kept_apart(server: ChatServer, tmp_path: Path) -> None:
    def thinks(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        answer = completion(body)
        answer["choices"][0]["message"]["reasoning_content"] = "Well.."
        handler._raw(json.dumps(answer).encode())  # type: ignore[attr-defined]

    server.faults = [thinks]
    first = replies(ask_server(server, tmp_path, concurrency=1))[0]
    assert (first.reasoning, first.text in LETTERS) == ("Well..", True)


@pytest.mark.parametrize(
    ("content", "reasoning", "text", "is_open"),
    [
        ("<think>\nA or B?\n</think>\n\nB", "A or B?", "B", False),
        ("A or B?\n</think>\n\nB", "A or B?", "B", False),
        ("[THINK]A or B?[/THINK]B", "A or B?", "B", False),
        ("<think>A or", "A or", "", True),
        ("A < B", None, "A < B", False),
    ],
)
def test_a_thought_in_the_reply_is_kept_apart(
    server: ChatServer, tmp_path: Path, content: str, reasoning: str | None, text: str, is_open: bool
) -> None:
    def thinks(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        answer = completion(body)
        answer["choices"][0]["message"]["content"] = content
        handler._raw(json.dumps(answer).encode())  # type: ignore[attr-defined]

    server.faults = [thinks]
    first, stated = replies(ask_server(server, tmp_path, concurrency=1, questions=question_set(1)))
    assert (first.reasoning, first.text, first.reasoning_is_open) == (reasoning, text, is_open)
    assert server.bodies[1]["messages"][1]["content"] == text
    assert stated.stage == "stated:decimal"


def test_half_a_surrogate_pair_is_replaced(server: ChatServer, tmp_path: Path) -> None:
    server.faults = [
        '{"model": "toy-chat", "choices": [{"message": {"content": "\\ud800 A"}, "logprobs": {"content": []}}]}'
    ]
    options = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer",), quiet=True)
    assert replies(ask_server(server, tmp_path, options, concurrency=1))[0].text == "\ufffd A"


@pytest.mark.parametrize("owner", ["vllm", "llamacpp"])
def test_known_servers_continue_a_reply(tmp_path: Path, owner: str) -> None:
    with serving(owner=owner) as server:
        run = ask_server(server, tmp_path, AskOptions(prompts=PROMPTS, collect=("labels", "answer"), quiet=True))
        finals = [b for b in server.bodies if b["messages"][-1]["role"] == "assistant"]
    assert len(finals) == 5
    assert all(b["messages"][-1]["content"].endswith("\n\nFinal answer:") for b in finals)
    assert all(b.get("continue_final_message", owner != "vllm") for b in finals)
    assert {r.stage for r in replies(run)} == {"answer", "final"}


def test_threads_and_connections_end(server: ChatServer, tmp_path: Path) -> None:
    before = threading.active_count()
    files = open_files()
    for number in range(3):
        ask_server(server, tmp_path / f"{number}")
    deadline = time.monotonic() + 5
    while threading.active_count() > before + 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [t for t in threading.enumerate() if t.name == "calprobe-requests"]
    assert open_files() <= files + 6


def open_files() -> int:
    place = Path("/proc/self/fd")
    return len(list(place.iterdir())) if place.exists() else 0


@pytest.mark.parametrize(
    ("said", "is_too_long"),
    [
        ({"code": "context_length_exceeded", "message": "Your input has 9000 tokens"}, True),
        ({"message": "This model's maximum context length is 2048 tokens. However, you requested 2100 tokens"}, True),
        ({"message": "the request exceeds the available context size, try increasing it"}, True),
        ({"message": "logprobs are not supported"}, False),
    ],
)
def test_a_prompt_without_room_is_told_from_other_refusals(said: dict[str, str], is_too_long: bool) -> None:
    import openai

    from calprobe.backends.openai.request_failures import failure_of

    response: Any = SimpleNamespace(request=None, status_code=400, headers={})
    error = openai.BadRequestError("", response=response, body={"error": said})
    failure = failure_of(error, 1.0)
    assert failure.verdict == "refused"
    assert failure.reason.startswith(TOO_LONG) == is_too_long
    assert said["message"][:20] in failure.reason


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Your chosen model requires moderation and your input was flagged for violence", "refused"),
        ("This request violates our content policy", "refused"),
        ("This account has been flagged", "fatal"),
        ("The key has no access to this model", "fatal"),
    ],
)
def test_a_question_that_moderation_refuses_is_told_from_a_key(said: str, verdict: str) -> None:
    import openai

    from calprobe.backends.openai.request_failures import failure_of

    response: Any = SimpleNamespace(request=None, status_code=403, headers={})
    failure = failure_of(openai.PermissionDeniedError("", response=response, body={"error": {"message": said}}), 1.0)
    assert failure.verdict == verdict
    assert said in failure.reason


def test_a_question_that_moderation_refuses_ends_nothing(server: ChatServer, tmp_path: Path) -> None:
    def flags(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        handler._send(403, {"error": {"code": 403, "message": "your input was flagged"}})  # type: ignore[attr-defined]

    server.faults = [flags]
    first, *others = replies(ask_server(server, tmp_path, concurrency=1))
    assert first.error == "the server's moderation refuses the request (403: your input was flagged)"
    assert [reply.finish for reply in others].count("stop") == 8  # the rest, but for what follows the first
