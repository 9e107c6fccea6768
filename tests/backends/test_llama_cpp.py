"""llama.cpp's own server with a real model: questions, labels through its window, a reply that is continued."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asked_samples import LETTERS, PROMPTS, question_set

from calprobe.asking import AskOptions, ask
from calprobe.backends import BackendOptions
from calprobe.errors import DataMissingError
from calprobe.models import LoadOptions
from calprobe.models.source import resolve
from calprobe.questions.types import Question, QuestionSet, SetSource
from calprobe.runs import open_asked

xllamacpp = pytest.importorskip("xllamacpp")
pytestmark = pytest.mark.weights

QUESTIONS = question_set(1)
OPTIONS = AskOptions(prompts=PROMPTS, collect=("labels", "answer", "stated"), quiet=True)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    try:
        file = resolve("smollm2-135m").location
    except DataMissingError as error:
        pytest.skip(str(error))
    parameters: Any = xllamacpp.CommonParams()
    parameters.model.path = file
    parameters.n_ctx, parameters.n_parallel, parameters.warmup = 2048, 2, False
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    server: Any = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


def test_a_run_over_llama_cpp(address: str, tmp_path: Path) -> None:
    backend = BackendOptions("openai", base_url=address, concurrency=2)
    run = ask("smollm2", QUESTIONS, tmp_path / "run", OPTIONS, backend_options=backend)
    assert not run.partial
    replies = [reply for piece in run.pieces for reply in piece.replies]
    assert len(replies) == 5
    assert {reply.finish for reply in replies} <= {"stop", "length"}
    assert run.manifest.backend.settings["server"] == "llama.cpp"
    assert run.manifest.backend.top_logprobs == 20
    assert run.manifest.model.size is not None
    assert run.manifest.model.size.parameters == 134_515_008
    for reply in replies:
        assert reply.token_ids is not None
        assert reply.tokens_in > 0
        assert reply.tokens_out > 0
        if reply.stage in ("answer", "final"):
            scores = reply.label_scores
            assert scores is not None
            assert scores.positions[0] == 0
            masses = np.exp(scores.logprobs)
            assert (masses.sum(axis=1) <= 1 + 1e-3).all()
            assert np.isfinite(scores.least).all()
    finals = [reply.label_scores for reply in replies if reply.stage == "final"]
    assert any(scores is not None and scores.covered[0].any() for scores in finals)
    assert open_asked(tmp_path / "run").pieces == run.pieces


@pytest.mark.proof
def test_a_reply_has_the_tokens_that_transformers_gives_it(address: str, tmp_path: Path) -> None:
    texts = ("What is the opposite of alive? Reply in a sentence.", "Say a smiley emoji.")
    questions = tuple(Question(f"q{n}", text, "open", accepted=("x",)) for n, text in enumerate(texts))
    asked = QuestionSet("said", questions, SetSource("5" * 64))
    options = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer",), max_new_tokens=8, quiet=True)
    served = BackendOptions("openai", base_url=address)
    there = ask("smollm2", asked, tmp_path / "there", options, backend_options=served)
    here = ask("smollm2-135m", asked, tmp_path / "here", options, load_options=LoadOptions(dtype="float32"))
    pairs = [
        (a, b)
        for x, y in zip(there.pieces, here.pieces, strict=True)
        for a, b in zip(x.replies, y.replies, strict=True)
    ]
    same = [(a, b) for a, b in pairs if a.text == b.text]
    assert {a.finish for a, _ in same} == {"stop", "length"}
    for a, b in same:  # the end of the turn is in none of them, and is counted by the server alone
        assert a.logprobs is not None
        assert a.token_ids == b.token_ids
        assert a.tokens_out == len(a.logprobs) + (a.finish == "stop")
        np.testing.assert_allclose(a.logprobs, b.logprobs, atol=0.2)


@pytest.mark.proof
def test_replies_are_held_to_a_schema(address: str, tmp_path: Path) -> None:
    number = Question("n", "How many legs has a spider?", "number", answer=8)
    who = Question("w", "Who wrote Hamlet?", "open", accepted=("Shakespeare",))
    sets = [question_set(3), *(QuestionSet(q.kind, (q,), SetSource(q.id * 64)) for q in (number, who))]
    backend = BackendOptions("openai", base_url=address.removesuffix("/v1"), extra_body={"repeat_penalty": 1.1})
    options = AskOptions(prompts="structured", collect=("answer",), quiet=True)
    run = ask("smollm2", sets, tmp_path / "run", options, backend_options=backend)
    for piece in run.pieces:
        for reply in piece.replies:
            content = json.loads(reply.text)
            assert list(content) == ["answer", "confidence"]
            assert content["confidence"] in range(101)
            assert isinstance(content["answer"], int | float) == (piece.set == "number")
            assert piece.set != "sums" or content["answer"] in LETTERS
