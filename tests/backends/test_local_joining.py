"""Conversations that join a wave, and the memory of waves: same replies, fuller passes, rows that stay as many."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from asked_samples import PROMPTS, question_set
from tiny_backends import LETTERS, TEMPLATE, asked, dialogue, generated, own_logprobs, tiny_backend
from tolerances import TINY_SCORE, TINY_SUM

from calprobe.answers import closed_replies
from calprobe.asking import AskOptions, ask
from calprobe.backends import Decoding, Dialogue, FollowUp, Message, Pending
from calprobe.backends.local import TransformersBackend, limits
from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.closed_scoring import ClosedSets
from calprobe.backends.local.plain import PlainRunner
from calprobe.backends.local.ragged import RaggedRunner
from calprobe.runs.replies import Reply

Patch = pytest.MonkeyPatch
FOLLOW_UPS = (
    FollowUp("final", "\nAnswer:", Decoding(2), continues=True, labels=LETTERS),
    FollowUp("stated", "How sure?", Decoding(3), closed=closed_replies("x/10")),
    FollowUp("word", "Which?", Decoding(2), labels=("New York", "Rome")),
)


def backend_of(**changes: Any) -> TransformersBackend:
    """A chat model whose replies end at any time: some of its vocabulary are end tokens."""
    backend = tiny_backend(template=TEMPLATE)
    backend._turns.ends = frozenset(range(2, 260, 9))
    runner = runner_of(backend)
    runner.limits = replace(runner.limits, **changes)
    return backend


def runner_of(backend: TransformersBackend) -> RaggedRunner:
    assert isinstance(backend._runner, RaggedRunner)
    return backend._runner


def questions() -> list[Dialogue]:
    rng = random.Random(3)
    texts = [f"{'Which one? ' * rng.randrange(4)}{rng.randrange(10**6)}" for _ in range(12)]
    plain = [dialogue(text, f"q{n}", labels=LETTERS, decoding=Decoding(12)) for n, text in enumerate(texts)]
    asked_more = [replace(each, variant="more", follow_ups=FOLLOW_UPS) for each in plain[:6]]
    sampled = Decoding(12, 1.0, 0.95, seed=4)
    return [*plain, *asked_more, *(replace(each, variant="s", decoding=sampled, samples=(0, 1, 2)) for each in plain)]


def replies_of(backend: TransformersBackend, dialogues: list[Dialogue]) -> dict[tuple[str, str, str, int], Reply]:
    found = [*backend.replies(Pending(each) for each in dialogues)]
    return {(reply.question, reply.variant, reply.stage, reply.sample): reply for reply in found}


def test_conversations_that_join_have_the_replies_that_they_have_alone() -> None:
    expected = replies_of(backend_of(), questions())
    lengths = {len(reply.token_ids or ()) for reply in expected.values()}
    assert len(lengths) > 5, "replies of one length leave no row to anybody"
    mixed = questions()
    random.Random(1).shuffle(mixed)
    for changes in ({"rows": 5, "joining": 1}, {"rows": 8, "joining": 3, "branches": 4}, {"rows": 2, "joining": 2}):
        found = replies_of(backend_of(**changes), mixed)
        assert found.keys() == expected.keys()
        for key, reply in found.items():
            alone = expected[key]
            assert (reply.text, reply.token_ids, reply.finish) == (alone.text, alone.token_ids, alone.finish), key
            assert reply.logprobs == pytest.approx(alone.logprobs, abs=TINY_SCORE)
            if alone.label_scores is not None and reply.label_scores is not None:
                assert reply.label_scores.logprobs == pytest.approx(alone.label_scores.logprobs, abs=TINY_SUM)
                assert (reply.label_scores.ranks == alone.label_scores.ranks).all()


def test_what_joins_is_what_the_models_own_forward_says() -> None:
    backend = backend_of(rows=3, joining=1)
    backend._turns.ends = frozenset({2})
    texts = [f"Which one is it, {n}? " + "x" * n for n in range(9)]
    replies = asked(backend, *(dialogue(text, f"q{n}", decoding=Decoding(3 + n)) for n, text in enumerate(texts)))
    model = backend._loaded
    for reply in replies.values():
        assert reply.token_ids is not None
        assert reply.token_ids == generated(model, reply.prompt_ids or (), int(reply.question[1:]) + 3)
        own = own_logprobs(model, reply)[range(len(reply.token_ids)), list(reply.token_ids)]
        assert reply.logprobs == pytest.approx(own.tolist(), abs=TINY_SCORE)


def rows_of_steps(backend: TransformersBackend, dialogues: list[Dialogue], monkeypatch: Patch) -> list[int]:
    """How many rows each pass has that forwards one token in each."""
    extend, rows = runner_of(backend)._engine.extend, []

    def counting(cache: Any, first_row: int, lengths: Any, new: Any) -> torch.Tensor:
        rows.extend([len(new)] * (max(map(len, new)) == 1))
        return extend(cache, first_row, lengths, new)

    monkeypatch.setattr(runner_of(backend)._engine, "extend", counting)
    assert replies_of(backend, dialogues)
    return rows


def test_steps_stay_full_where_conversations_join(monkeypatch: Patch) -> None:
    dialogues = [dialogue(f"{n * 37 % 101} Which one, {n}?", f"q{n}", decoding=Decoding(24)) for n in range(40)]
    alone = rows_of_steps(backend_of(rows=6), dialogues, monkeypatch)
    joined = rows_of_steps(backend_of(rows=6, joining=1), dialogues, monkeypatch)
    assert sum(joined) == sum(alone)  # the same tokens
    assert len(joined) < 0.75 * len(alone)
    assert sum(joined[: len(joined) // 2]) > 0.8 * 6 * (len(joined) // 2) > sum(alone[: len(joined) // 2])


def test_nobody_joins_on_a_cpu() -> None:
    assert runner_of(backend_of()).limits.joining is None


def test_rows_stay_as_many_when_caches_hold_memory(monkeypatch: Patch) -> None:
    """A device of so many bytes, of which the caches' are taken: 24 GB halved its rows in the second window."""
    backend = backend_of(rows=64)
    runner = runner_of(backend)
    asked_for = 0

    def free(device: torch.device) -> int:
        nonlocal asked_for
        asked_for += 1
        return 40 * 60 * runner.limits.bytes_of_token - sum(held.n_bytes for held in runner._held)

    monkeypatch.setattr(limits, "free_bytes", free)
    waves = []
    begun = runner._wave
    monkeypatch.setattr(runner, "_wave", lambda wave, now: waves.append(len(wave)) or begun(wave, now))  # type: ignore[func-returns-value]
    many = [dialogue(f"Which one? {n:02}", f"q{n}", decoding=Decoding(3)) for n in range(60)]
    for window in range(3):
        assert len(replies_of(backend, [replace(each, variant=f"w{window}") for each in many])) == 60
    in_window = waves[: len(waves) // 3]
    assert waves == in_window * 3
    assert 1 < len(in_window) < 60
    assert asked_for == len(waves)  # once a wave


def test_copies_for_closed_sets_are_bounded_by_memory(monkeypatch: Patch) -> None:
    backend = backend_of()
    turns_at_once: list[int] = []
    score = ClosedSets.score

    def counting(self: ClosedSets, cache: Any, rows: Any, turns: Any, tree: Any) -> None:
        turns_at_once.append(len(turns))
        room = self._limits.room // 2
        assert len(turns) * (max(len(turn.prompt.ids) for turn in turns) + tree.n_places) * per_token <= room
        score(self, cache, rows, turns, tree)

    monkeypatch.setattr(ClosedSets, "score", counting)
    per_token = runner_of(backend).limits.bytes_of_token
    of_set: dict[str, Any] = {"decoding": Decoding(1), "follow_ups": FOLLOW_UPS[1:2]}
    many = [dialogue(f"Which one? {n:02}", f"q{n}", **of_set) for n in range(12)]
    replies_of(backend, many)
    assert turns_at_once == [12]
    turns_at_once.clear()
    backend.close()
    monkeypatch.setattr(limits, "free_bytes", lambda device: 2000 * per_token)
    replies_of(backend, many)
    assert 1 < len(turns_at_once) < 12
    assert sum(turns_at_once) == 12


def damaged(backend: TransformersBackend, text: str) -> set[int]:
    """Let the tokens of that text be NaN in the backend's model."""
    model: Any = backend._loaded
    ids = set(model.tokenizer(text, add_special_tokens=False)["input_ids"])

    def damage(module: Any, given: Any, embedded: torch.Tensor) -> torch.Tensor:
        is_bad = torch.isin(given[0], torch.tensor(sorted(ids)))
        return embedded.masked_fill(is_bad[..., None], torch.nan)

    model.network.get_input_embeddings().register_forward_hook(damage)
    return ids


@pytest.mark.parametrize("changes", [{"rows": 5, "joining": 1}, {"rows": 4, "branches": 3}, {}, None])
def test_numbers_that_are_nan_fail_their_own_request_alone(changes: dict[str, Any] | None) -> None:
    odd = FollowUp("odd", "\xa7?", Decoding(3), closed=closed_replies("x/10"))
    rest = FollowUp("rest", "Where?", Decoding(2), labels=("New \xa7ork", "Rome"))  # NaN where the label goes on
    dialogues = [
        replace(
            each,
            messages=(Message("user", "\xa7" * (9 if n % 3 == 0 else 0) + each.messages[0].text),),
            follow_ups=(*each.follow_ups, odd, rest) if each.follow_ups else (),
        )
        for n, each in enumerate(questions())
    ]
    expected = replies_of(backend_of(), dialogues)
    backend = backend_of(**(changes or {}))
    if changes is None:
        backend._runner = PlainRunner(backend._loaded, backend._turns)
    bad = damaged(backend, "\xa7")
    found = replies_of(backend, dialogues)
    is_bad = {
        key: key[2] == "rest" or bool(bad & {*(reply.prompt_ids or ()), *(reply.token_ids or ())[:-1]})
        for key, reply in expected.items()
    }
    answered = {key[:2] + key[3:] for key in expected if key[2] == "answer" and not is_bad[key]}
    assert found.keys() == {key for key in expected if key[2] == "answer" or key[:2] + key[3:] in answered}
    failed = {key for key, reply in found.items() if reply.finish == "error"}
    assert failed >= {key for key in found if is_bad[key]}
    # The label behind an answer may go on from the follow-up of which all tokens of a pass are NaN.
    assert {key[2] for key in failed if not is_bad[key]} <= {"final"}
    assert {key[2] for key in failed} >= {"answer", "odd", "rest"}
    assert {found[key].error for key in failed} == {
        "the model gives NaN in float32: copy or download its weights again"
    }
    for key in found.keys() - failed:
        assert (found[key].token_ids, found[key].finish) == (expected[key].token_ids, expected[key].finish)
        assert found[key].logprobs == pytest.approx(expected[key].logprobs, abs=TINY_SCORE)


def test_a_row_that_held_nan_spoils_what_comes_into_it_unless_it_is_cleared() -> None:
    backend = backend_of()
    bad, *_ = damaged(backend, "\xa7")
    engine, cache = runner_of(backend)._engine, RaggedCache()
    cache.reserve(2, 20)
    engine.forward(cache, 0, [0, 0], [[bad] * 20, [5] * 20])
    assert engine.extend(cache, 0, [0, 19], [[6, 7], [5]]).isnan().any(1).tolist() == [True, False]
    cache.clear([0])
    assert not engine.extend(cache, 0, [0, 19], [[6, 7], [5]]).isnan().any()


def test_a_run_goes_on_behind_replies_that_are_nan_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    backend = tiny_backend(template=TEMPLATE, max_positions=2048)
    damaged(backend, "7")
    run = ask(backend, question_set(6), tmp_path / "run", AskOptions(prompts=PROMPTS, collect=("answer",), quiet=True))
    replies = [reply for piece in run.pieces for reply in piece.replies]
    failed = {reply.question for reply in replies if reply.finish == "error" and reply.stage == "answer"}
    assert len(failed) in range(1, 6)
    assert failed >= {"q4", "q5"}  # of which 7 is an option
    n_failed = sum(reply.finish == "error" and "not asked" not in reply.error for reply in replies)
    assert (
        f"{n_failed} requests failed ({n_failed} times: the model gives NaN in float32: copy or download" in caplog.text
    )
