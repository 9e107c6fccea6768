"""How vLLM is kept busy, with an engine in its place that writes a token a step into each of its rows."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tiny_backends import dialogue
from tiny_models import tiny_tokenizer

from calprobe.backends import BackendOptions, Decoding, Dialogue, FollowUp, Pending
from calprobe.backends.vllm.vllm_backend import VllmBackend
from calprobe.backends.vllm.vllm_opening import Opened
from calprobe.errors import CalprobeError
from calprobe.runs import ModelRecord
from calprobe.runs.replies import Reply

ROWS = 4  # that the engine writes at once
FOLLOW_UPS = (FollowUp("stated", "How sure?", Decoding(2)),)
LETTER = tiny_tokenizer().convert_tokens_to_ids("a")


class DeadError(Exception):
    """In the place of vLLM's `EngineDeadError`."""


class ClientError(Exception):
    """In the place of vLLM's `VLLMClientError`."""


@dataclass
class Engine:
    """As much of vLLM's engine as the backend uses: each request is written to its last token, first come first."""

    logprob: float = -0.5  # of each token
    reason: str = "length"
    dies: bool = False
    refuses: bool = False
    waiting: dict[str, Any] = field(default_factory=dict)
    sent: dict[str, Any] = field(default_factory=dict)
    written: list[int] = field(default_factory=list)  # rows, by step
    aborted: list[str] = field(default_factory=list)

    @property
    def vllm_config(self) -> Any:
        return SimpleNamespace(scheduler_config=SimpleNamespace(max_num_seqs=ROWS))

    def add_request(self, name: str, prompt: dict[str, Any], sampling: Any) -> None:
        assert name not in self.sent
        assert prompt["type"] == "token"
        assert sampling.output_kind == "final"
        assert sampling.max_tokens > 0
        if self.refuses:
            raise ClientError("no such token\nat all")
        self.waiting[name] = SimpleNamespace(left=sampling.max_tokens, prompt=prompt["prompt_token_ids"])
        self.sent[name] = sampling

    def step(self) -> list[Any]:
        if self.dies:
            raise DeadError
        rows = list(self.waiting)[:ROWS]
        assert rows, "vLLM would wait for ever"
        self.written.append(len(rows))
        for name in rows:
            self.waiting[name].left -= 1
        return [self._output(name) for name in rows if not self.waiting[name].left]

    def abort_request(self, names: Sequence[str]) -> None:
        if self.dies:
            raise DeadError
        for name in names:
            if self.waiting.pop(name, None):
                self.aborted.append(name)

    def _output(self, name: str) -> Any:
        del self.waiting[name]
        n_tokens = self.sent[name].max_tokens
        logprobs = [{LETTER: SimpleNamespace(logprob=self.logprob, decoded_token="a")}] * n_tokens
        reply = SimpleNamespace(token_ids=[LETTER] * n_tokens, logprobs=logprobs, finish_reason=self.reason)
        return SimpleNamespace(request_id=name, outputs=[reply])


@pytest.fixture(autouse=True)
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = SimpleNamespace(FINAL_ONLY="final")
    for name, names in {
        "vllm": {"SamplingParams": SimpleNamespace},
        "vllm.exceptions": {"VLLMClientError": ClientError},
        "vllm.sampling_params": {"RequestOutputKind": kinds},
        "vllm.v1.engine.exceptions": {"EngineDeadError": DeadError},
    }.items():
        monkeypatch.setitem(sys.modules, name, cast("Any", SimpleNamespace(**names)))


def backend(engine: Engine, max_tokens: int = 512) -> VllmBackend:
    found = Opened(
        SimpleNamespace(llm_engine=engine), tiny_tokenizer(), ModelRecord("toy"), "float16", 20, max_tokens, {}
    )
    return VllmBackend(found, BackendOptions("vllm"))


def dialogues(budgets: Sequence[int], **more: Any) -> list[Dialogue]:
    return [dialogue("Who?", f"q{n}", decoding=Decoding(budget), **more) for n, budget in enumerate(budgets)]


def names(replies: Iterator[Reply]) -> list[tuple[str, str]]:
    return [(reply.question, reply.stage) for reply in replies]


def test_no_reply_and_no_follow_up_waits_for_a_longer_reply() -> None:
    asked = [Pending(each) for each in dialogues([30, 3], follow_ups=FOLLOW_UPS)]
    assert names(backend(Engine()).replies(asked)) == [
        ("q1", "answer"),
        ("q1", "stated"),
        ("q0", "answer"),
        ("q0", "stated"),
    ]


def test_all_rows_are_written_until_the_last_requests() -> None:
    """However replies differ in length: as many requests wait as are written, and no more, which a kill would lose."""
    drawn = random.Random(0)
    budgets = [drawn.randint(1, 40) for _ in range(50)]
    engine = Engine()
    taken, at_steps = 0, list[tuple[int, int]]()

    def pending() -> Iterator[Pending]:
        nonlocal taken
        for each in dialogues(budgets):
            taken += 1
            yield Pending(each)

    step = engine.step
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "step", lambda: at_steps.append((taken, len(engine.waiting))) or step())
        assert len(names(backend(engine).replies(pending()))) == len(budgets)
    assert all(waiting == 2 * ROWS for taken, waiting in at_steps if taken < len(budgets))
    busy = sum(rows == ROWS for rows in engine.written)
    assert len(engine.written) - busy < max(budgets)
    assert set(engine.written[:busy]) == {ROWS}


def test_only_what_is_not_known_is_sent() -> None:
    (asked,) = dialogues([4], follow_ups=FOLLOW_UPS, samples=(0, 1))
    both = list(backend(Engine()).replies([Pending(asked)]))
    known = {(reply.stage, reply.sample): reply for reply in both if (reply.stage, reply.sample) != ("stated", 1)}
    engine = Engine()
    (again,) = backend(engine).replies([Pending(asked, known)])
    assert again == next(reply for reply in both if (reply.stage, reply.sample) == ("stated", 1))
    assert len(engine.sent) == 1


def test_a_prompt_without_room_is_refused_and_the_others_are_asked() -> None:
    engine = Engine()
    short, long = dialogue("Who?", "short"), dialogue("Who? " * 30, "long")
    answering = backend(engine, max_tokens=100)
    replies = list(answering.replies([Pending(long), Pending(short)]))
    assert replies[0].tokens_in >= answering.capabilities.room == 100  # so it is asked again where there is more
    assert [(reply.question, reply.finish) for reply in replies] == [("long", "error"), ("short", "length")]
    assert replies[0].is_too_long
    assert len(engine.sent) == 1


def test_nan_is_a_failed_request_with_nothing_asked_behind_it() -> None:
    engine = Engine(logprob=math.nan)
    (reply,) = backend(engine).replies([Pending(each) for each in dialogues([4], follow_ups=FOLLOW_UPS)])
    assert reply.error == "the model gives NaN in float16: ask into another --out with --dtype float32"
    assert len(engine.sent) == 1


@pytest.mark.parametrize(("fault", "error"), [({"refuses": True}, "no such token"), ({"reason": "error"}, "ended it")])
def test_what_the_engine_refuses_or_ends_is_a_failed_request(fault: dict[str, Any], error: str) -> None:
    (reply,) = backend(Engine(**fault)).replies([Pending(each) for each in dialogues([4], follow_ups=FOLLOW_UPS)])
    assert reply.finish == "error"
    assert error in (reply.error or "")


def test_samples_have_seeds_of_their_own() -> None:
    keys = {("answer", sample): f"key {sample}" for sample in (0, 1)}
    asked = dialogue("Who?", decoding=Decoding(2, temperature=1.0), samples=(0, 1), keys=keys)
    engine = Engine()
    list(backend(engine).replies([Pending(asked)]))
    assert len({sampling.seed for sampling in engine.sent.values()}) == 2


def test_what_is_in_progress_ends_with_whoever_reads() -> None:
    engine = Engine()
    replies = backend(engine).replies([Pending(each) for each in dialogues([2, 9, 9])])
    next(replies)
    cast("Any", replies).close()
    assert engine.aborted == ["1", "2"]
    assert not engine.waiting


def test_the_next_replies_have_nothing_of_those_that_were_left() -> None:
    """A traceback keeps an iterator that nobody reads any more."""
    engine = Engine()
    answering = backend(engine)
    left = answering.replies([Pending(each) for each in dialogues([2, 9, 9])])
    next(left)
    again = names(answering.replies([Pending(each) for each in dialogues([3, 4])]))
    assert again == [("q0", "answer"), ("q1", "answer")]
    assert engine.aborted == ["1", "2"]
    assert not list(left)


def test_a_signal_while_a_request_is_sent_leaves_none_behind() -> None:
    engine = Engine()
    answering = backend(engine)
    add = engine.add_request

    def signalled(*request: Any) -> None:
        add(*request)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "add_request", signalled)
        with pytest.raises(KeyboardInterrupt):
            list(answering.replies([Pending(each) for each in dialogues([2])]))
    assert not engine.waiting


def test_dialogues_that_cannot_be_read_leave_no_request_behind() -> None:
    def pending() -> Iterator[Pending]:
        yield from (Pending(each) for each in dialogues([2, 9]))
        raise CalprobeError("the disk is full")

    engine = Engine()
    with pytest.raises(CalprobeError, match="the disk is full"):
        list(backend(engine).replies(pending()))
    assert not engine.waiting


def test_a_dead_engine_stops_the_run_in_a_sentence() -> None:
    with pytest.raises(CalprobeError, match="toy: vLLM's engine is dead, it says above why"):
        list(backend(Engine(dies=True)).replies([Pending(each) for each in dialogues([2])]))


def test_signals_need_not_wait_for_replies() -> None:
    assert backend(Engine()).capabilities.stops_at_once
