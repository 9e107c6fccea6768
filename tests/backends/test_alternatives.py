"""Alternatives of tokens: those of a plain forward pass, whatever the batch; what windows show; how they are stored."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tiny_backends import TEMPLATE, asked, dialogue, own_logprobs, tiny_backend
from tolerances import TINY_STEPS

from calprobe.backends import Decoding
from calprobe.backends.local import TransformersBackend
from calprobe.confidence.samples import token_entropy
from calprobe.runs import Alternatives, Reply
from calprobe.runs.decode import DecodeError
from calprobe.runs.reply_json import reply_from_json, reply_json, whole_texts
from calprobe.runs.window import Step, WindowToken, tokens_in_front, window_alternatives

K = 5
HOT = Decoding(8, temperature=3.0, seed=1)


@pytest.fixture(scope="module", params=["llama", "mamba"])  # many rows at once; one by one through generate
def backend(request: pytest.FixtureRequest) -> TransformersBackend:
    return tiny_backend(request.param)


def replies(backend: TransformersBackend, *questions: str) -> list[Reply]:
    several = [dialogue(text, text, decoding=HOT, samples=(0, 1), alternatives=K) for text in questions]
    return [reply for _, reply in sorted(asked(backend, *several).items())]


def test_they_are_those_of_a_plain_forward_pass(backend: TransformersBackend) -> None:
    outside = 0
    for reply in replies(backend, "What is it?", "Who was she, and when?"):
        own, plain = reply.alternatives, own_logprobs(backend._loaded, reply)[: len(reply.token_ids or ())]
        assert own is not None
        assert own.complete
        assert own.places.shape == (len(reply.token_ids or ()), K)
        ids = np.array(own.ids)[own.places]
        assert ids[:, 0].tolist() == list(reply.token_ids or ())
        np.testing.assert_allclose(own.logprobs, np.take_along_axis(plain.numpy(), ids, 1), atol=TINY_STEPS)
        np.testing.assert_allclose(own.logprobs[:, 0], reply.logprobs, atol=1e-6)
        for row, values in zip(own.logprobs, plain, strict=True):
            best = values.topk(K).values.numpy()
            is_among = row[0] >= best[-1] - TINY_STEPS
            outside += not is_among
            kept = best if is_among else best[:-1]
            np.testing.assert_allclose(np.sort(row if is_among else row[1:])[::-1], kept, atol=TINY_STEPS)
            assert (np.diff(row[1:]) <= 0).all()
        entropies = [token_entropy(values.double().numpy()) for values in plain]
        np.testing.assert_allclose(own.entropies, entropies, atol=TINY_STEPS)
    assert outside  # some samples were drawn from outside the most probable tokens


def test_batch_and_order_change_nothing(backend: TransformersBackend) -> None:
    questions = ["What is it?", "Who was she, and when?", "Why?"]
    together = replies(backend, *questions)
    alone = [reply for text in sorted(questions) for reply in replies(backend, text)]
    for one, other in zip(together, alone, strict=True):
        assert (one.text, one.token_ids) == (other.text, other.token_ids)
        assert one.alternatives is not None
        assert other.alternatives is not None
        np.testing.assert_allclose(one.alternatives.logprobs, other.alternatives.logprobs, atol=TINY_STEPS)
        np.testing.assert_allclose(one.alternatives.entropies, other.alternatives.entropies, atol=TINY_STEPS)


def test_texts_of_tokens_are_those_inside_a_text() -> None:
    (reply,) = asked(tiny_backend("llama"), dialogue("So?", decoding=HOT, alternatives=K)).values()
    assert reply.alternatives is not None
    assert "".join(own[0][0] for own in reply.alternatives.tokens()) == reply.text
    assert asked(tiny_backend("llama"), dialogue("So?"))["q", "answer", 0].alternatives is None


def test_a_thought_has_none() -> None:
    template = TEMPLATE.replace("[assistant] {% endif %}", "[assistant] <think>{% endif %}")
    backend = tiny_backend("llama", template)
    (reply,) = asked(backend, dialogue("So?", decoding=HOT, alternatives=K)).values()
    assert reply.reasoning_is_open
    assert reply.thought_tokens == len(reply.token_ids or ())
    assert reply.alternatives is not None
    assert len(reply.alternatives) == 0
    ids = backend.writer.tokens.inner("ab</think>cd")
    assert backend.writer.tokens.thought(ids, "</think>", is_open=False) == len("ab</think>")  # a token a byte


def test_a_window_shows_a_part_and_its_entropy_is_the_least() -> None:
    chosen = WindowToken("x", np.log(0.05), 7)
    step = Step(chosen, [WindowToken("a", np.log(0.5), 1), WindowToken("b", np.log(0.3), 2)])
    whole = Step(WindowToken("a", np.log(0.5), 1), step.window)
    own = window_alternatives([step, whole], 10)
    assert [[text for text, _ in tokens] for tokens in own.tokens()] == [["x", "a", "b"], ["a", "b"]]
    assert own.places[1, 2] == -1
    assert own.mass.tolist() == pytest.approx([0.85, 0.8])
    assert own.entropies.tolist() == pytest.approx(
        [token_entropy(np.log([0.05, 0.5, 0.3])), token_entropy(np.log([0.5, 0.3]))]
    )
    assert not own.complete
    assert own.ids == (7, 1, 2)
    assert [len(tokens) for tokens in window_alternatives([step], 2).tokens()] == [2]


@pytest.mark.parametrize(
    ("tokens", "text", "number"),
    [(["<think>", "a b", "</think>", "c"], "c", 3), (["c", " d"], "c d", 0), (["a", "b"], "x", None), ([], "", 0)],
)
def test_tokens_in_front_of_a_reply(tokens: list[str], text: str, number: int | None) -> None:
    assert tokens_in_front(tokens, text) == number


MADE = Alternatives.of([[("é ", 3, -0.5), ("b", 4, -1.0)], [("b", 4, -0.1)]], [0.9, 0.3], complete=True)


def test_json_keeps_every_bit_and_earlier_replies_have_no_such_key() -> None:
    reply = Reply("k", "s", "q", "v", "answer", "é b", "stop", alternatives=MADE, thought_tokens=2)
    again = reply_from_json(reply_json(reply))
    assert again == reply
    assert again.alternatives is not None
    assert again.alternatives.logprobs.tobytes() == MADE.logprobs.tobytes()
    plain = reply_json(replace(reply, alternatives=None, thought_tokens=0))
    assert not {"alternatives", "thought_tokens"} & json.loads(plain).keys()
    broken = replace(reply, alternatives=MADE.with_texts(["a\ud800", "b"]))
    assert whole_texts(broken).alternatives == MADE.with_texts(["a\ufffd", "b"])


@pytest.mark.parametrize(
    ("key", "value"), [("places", "AAAA"), ("places", "?"), ("ids", [1]), ("texts", ["a"]), ("complete", 1)]
)
def test_damaged_alternatives_are_refused(key: str, value: object) -> None:
    line = json.loads(reply_json(Reply("k", "s", "q", "v", "answer", "", "stop", alternatives=MADE)))
    line["alternatives"][key] = value
    with pytest.raises(DecodeError, match="alternatives"):
        reply_from_json(json.dumps(line))
