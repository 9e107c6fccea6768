"""vLLM in this process with a real model, in an environment of its own: `make test-vllm`."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from asked_samples import PROMPTS, question_set

from calprobe.asking import AskOptions, ask
from calprobe.backends import Backend, BackendOptions, open_backend
from calprobe.errors import CalprobeError
from calprobe.runs import AskedRun, Reply

pytest.importorskip("vllm")
pytestmark = pytest.mark.weights

QUESTIONS = question_set(4)
OPTIONS = AskOptions(prompts=PROMPTS, collect=("labels", "answer", "stated"), quiet=True)


def replies(run: AskedRun) -> list[Reply]:
    return [reply for piece in run.pieces for reply in piece.replies]


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    from calprobe.models import LoadOptions

    options = BackendOptions("vllm", eager=True, max_model_len=1024)
    found = open_backend("smollm2-135m", options, LoadOptions(dtype="float32"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def asked(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> AskedRun:
    return ask(backend, QUESTIONS, tmp_path_factory.mktemp("vllm") / "run", OPTIONS)


def test_every_request_is_answered(asked: AskedRun) -> None:
    assert not asked.partial
    assert {reply.finish for reply in replies(asked)} <= {"stop", "length"}
    assert asked.manifest.backend.top_logprobs == 200
    assert asked.manifest.backend.settings["dtype"] == "float32"


def test_follow_ups_grow_from_the_tokens_of_the_conversation(asked: AskedRun) -> None:
    answers = {(r.variant, r.question): r for r in replies(asked) if r.stage == "answer"}
    for reply in replies(asked):
        answer = answers[reply.variant, reply.question]
        if reply.stage != "answer":
            assert reply.prompt_ids is not None
            assert answer.prompt_ids is not None
            assert answer.token_ids is not None
            said = (*answer.prompt_ids, *answer.token_ids)
            assert reply.prompt_ids[: len(said)] == said


def test_the_window_agrees_with_the_complete_softmax(asked: AskedRun, tmp_path: Path) -> None:
    """transformers sums all forms; the window has those among 200 tokens, so it may have a little less."""
    exact = ask("smollm2-135m", QUESTIONS, tmp_path / "exact", OPTIONS)
    compared = 0
    for ours, theirs in zip(replies(asked), replies(exact), strict=True):
        if ours.stage != "answer" or ours.label_scores is None or theirs.label_scores is None:
            continue
        assert ours.prompt_ids == theirs.prompt_ids
        covered = ours.label_scores.covered[0]
        difference = theirs.label_scores.logprobs[0][covered] - ours.label_scores.logprobs[0][covered]
        assert (np.abs(difference) < 0.02).all()
        compared += int(covered.sum())
    assert compared > 4


def test_alternatives_agree_with_the_complete_softmax(backend: Backend, tmp_path: Path) -> None:
    """Greedy replies are the same; of each position the same ten tokens, with an entropy that the window bounds."""
    options = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer", "alternatives"), quiet=True)
    compared = 0
    pairs = (
        replies(ask(each, QUESTIONS, tmp_path / name, options))
        for name, each in (("w", backend), ("e", "smollm2-135m"))
    )
    for ours, theirs in zip(*pairs, strict=True):
        assert ours.token_ids == theirs.token_ids
        assert ours.alternatives is not None
        assert theirs.alternatives is not None
        assert (theirs.alternatives.complete, ours.alternatives.complete) == (True, False)
        assert (ours.alternatives.entropies < theirs.alternatives.entropies + 1e-3).all()
        for here, there in zip(ours.alternatives.tokens(), theirs.alternatives.tokens(), strict=True):
            least = max(min(logprob for _, logprob in each) for each in (here, there)) + 1e-3
            assert {text for text, logprob in here if logprob > least} == {
                text for text, logprob in there if logprob > least
            }
            assert np.allclose([value for _, value in here], [value for _, value in there], atol=1e-3)
            compared += 1
    assert compared > 4


def test_samples_have_seeds(backend: Backend, tmp_path: Path) -> None:
    options = AskOptions(
        prompts=PROMPTS, variants=("direct",), collect=("answer",), samples=4, temperature=1.0, quiet=True
    )
    first, second = (replies(ask(backend, QUESTIONS, tmp_path / name, options)) for name in ("one", "two"))
    assert [r.text for r in first] == [r.text for r in second]
    assert len({r.text for r in first}) > 4


def test_an_engine_that_is_killed_ends_the_run(backend: Backend, tmp_path: Path) -> None:
    """The last test: the engine is gone. vLLM alone would wait for it without end."""
    options = AskOptions(prompts=PROMPTS, variants=("steps",), collect=("answer",), max_new_tokens=400, quiet=True)
    engines = [child for child in multiprocessing.active_children() if child.name.startswith("EngineCore")]
    assert engines
    killer = threading.Timer(1.5, engines[0].kill)
    killer.start()
    with pytest.raises(CalprobeError, match="vLLM's engine is dead"):
        ask(backend, question_set(200), tmp_path / "run", options)
