"""The token that ends a turn counts in no score of a reply, however a server shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asked_samples import LETTERS, PROMPTS, question_set
from chat_server import ChatServer

from calprobe.asking import AskOptions, ask
from calprobe.backends import BackendOptions
from calprobe.backends.openai.server_backend import OpenAIBackend
from calprobe.errors import UsageError
from calprobe.runs import Reply, open_asked
from calprobe.runs.end_of_turn import tokens_of_text

pytest.importorskip("openai")
pytestmark = pytest.mark.usefixtures("short_waits")

OPTIONS = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("labels", "answer", "alternatives"), quiet=True)
SPELT, HIDDEN = "<|im_end|>", ""
RULE = "logprobs"  # the setting that says which tokens have log-probabilities


def step(text: str, logprob: float, number: int, shown: list[int] | None = None) -> dict[str, Any]:
    """A token as servers show it."""
    token = {"token": text, "logprob": logprob, "id": number, "bytes": shown}
    others = [{"token": label, "logprob": -3.0, "id": 90 + n, "bytes": None} for n, label in enumerate(LETTERS)]
    return token | {"top_logprobs": [token, *(other for other in others if other["token"] != text)]}


def replying(server: ChatServer, content: str, steps: list[dict[str, Any]], finish: str = "stop", **more: Any) -> None:
    """Have the server give this reply to everything."""

    def alter(answer: dict[str, Any], _: dict[str, Any]) -> None:
        message = {"role": "assistant", "content": content, **more}
        answer["choices"] = [{"message": message, "finish_reason": finish, "logprobs": {"content": steps}}]
        answer["usage"]["completion_tokens"] = len(steps)

    server.alters = alter


def the_reply(server: ChatServer, out: Path) -> Reply:
    backend = BackendOptions("openai", base_url=server.url, timeout_s=5.0)
    ask("toy-chat", question_set(1), out, OPTIONS, backend_options=backend)
    (piece,) = open_asked(out).pieces
    (reply,) = piece.replies
    return reply


TEXT = [step("A", -0.1, 1), step(".", -0.3, 2)]


@pytest.mark.parametrize(
    ("end", "finish"),
    [
        ([step(HIDDEN, -0.9, 3, [])], "stop"),  # llama.cpp
        ([step(SPELT, -0.9, 3, list(SPELT.encode()))], "stop"),  # vLLM
        ([step(SPELT, -0.9, 3)], "stop"),
        ([step("</s>", -0.9, 3), step(HIDDEN, -2.0, 4)], "stop"),
        ([], "stop"),  # OpenAI, SGLang
        ([], "length"),
    ],
)
def test_the_end_of_the_turn_is_no_token_of_the_reply(
    server: ChatServer, tmp_path: Path, end: list[dict[str, Any]], finish: str
) -> None:
    replying(server, "A.", TEXT + end, finish)
    reply = the_reply(server, tmp_path)
    assert (reply.text, reply.finish, reply.token_ids, reply.logprobs) == ("A.", finish, (1, 2), (-0.1, -0.3))
    assert reply.alternatives is not None
    assert [tokens[0][0] for tokens in reply.alternatives.tokens()] == ["A", "."]
    assert reply.label_scores is not None
    assert reply.label_scores.positions.tolist() == [0]
    assert reply.label_scores.starts is not None
    assert reply.tokens_out == 2 + len(end)  # what the server counts


def test_an_end_behind_a_thought_is_found(server: ChatServer, tmp_path: Path) -> None:
    thought = [step("Hm", -0.5, 5), step("</think>", -0.5, 6), step("\n\n", -0.5, 7)]
    replying(server, "A.", [*thought, *TEXT, step(SPELT, -0.9, 3)], reasoning_content="Hm")
    reply = the_reply(server, tmp_path)
    assert (reply.token_ids, reply.thought_tokens, reply.tokens) == ((5, 6, 7, 1, 2), 3, 2)
    assert reply.alternatives is not None
    assert len(reply.alternatives) == 2


def test_a_reply_of_nothing_but_the_end_has_no_tokens(server: ChatServer, tmp_path: Path) -> None:
    replying(server, "", [step(SPELT, -0.9, 3)])
    reply = the_reply(server, tmp_path)
    assert (reply.finish, reply.text, reply.token_ids, reply.logprobs) == ("stop", "", (), ())
    assert reply.label_scores is not None
    np.testing.assert_allclose(reply.label_scores.logprobs[0, 1], -3.0)


def test_a_reply_that_is_cut_keeps_its_last_token(server: ChatServer, tmp_path: Path) -> None:
    replying(server, "A.", [*TEXT, step("", -0.9, 3, [240, 159])], "length")  # half of a character
    assert the_reply(server, tmp_path).token_ids == (1, 2, 3)


@pytest.mark.parametrize(
    ("pieces", "content", "count"),
    [
        (["Write ", "</s>"], "Write </s>", 2),
        (["Write ", "</s>", "</s>"], "Write </s>", 2),
        (["Write ", "</s>", ""], "Write </s>", 2),
        (["Dead", ".", "\n", "<|im_end|>"], "Dead.", 3),  # servers strip white space
        (["It is ", "\ufffd", "\ufffd", "<|eot_id|>"], "It is 🙂", 3),  # halves of characters without their bytes
        (["It is ", "\ufffd", "\ufffd"], "It is 🙂", 3),
        (["It is ", "[x]"], "So: It is [x]", 2),  # a content with the reply's opening in front
        ([], "", 0),
        ([], "Yes", 0),
    ],
)
def test_where_the_text_ends(pieces: list[str], content: str, count: int) -> None:
    assert tokens_of_text([piece.encode() for piece in pieces], content, False) == count


def test_replies_with_and_without_their_ends_do_not_meet(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replying(server, "A.", TEXT)
    settings = OpenAIBackend.settings
    with monkeypatch.context() as earlier:
        earlier.setattr(OpenAIBackend, "settings", lambda self: {k: v for k, v in settings(self).items() if k != RULE})
        the_reply(server, tmp_path)
    with pytest.raises(UsageError, match=r"contains a different run.*logprobs of the tokens of the text"):
        the_reply(server, tmp_path)
