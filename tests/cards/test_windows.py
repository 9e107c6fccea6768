"""Rows of `ask` where memory is counted: its own caches are not lost to later windows, and noise has its room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from tiny_backends import VOCABULARY, dialogue, tiny_backend

from calprobe.backends import Decoding, Dialogue, FollowUp, Pending
from calprobe.backends.local import TransformersBackend, limits
from calprobe.backends.local.cache import RaggedCache

N_ROWS = 6  # conversations that fit into half of the free memory
N_WINDOWS = 4


def rows_of_waves(
    backend: TransformersBackend, n_bytes: int, dialogues: Sequence[Dialogue], monkeypatch: pytest.MonkeyPatch
) -> list[int]:
    """Rows of each wave over several windows, on a device that has so many bytes beside the caches."""
    runner = backend._runner
    caches: list[RaggedCache] = []  # all that hold keys and values
    right = RaggedCache.reserve
    rows: list[int] = []

    def reserve(self: RaggedCache, n_rows: int, n_slots: int) -> None:
        if all(self is not cache for cache in caches):
            caches.append(self)
        if self is runner._cache:
            rows.append(n_rows)
        right(self, n_rows, n_slots)

    monkeypatch.setattr(limits, "free_bytes", lambda device: n_bytes - sum(cache.n_bytes for cache in caches))
    monkeypatch.setattr(RaggedCache, "reserve", reserve)
    for _ in range(N_WINDOWS):
        assert len({reply.question for reply in backend.replies(Pending(each) for each in dialogues)}) == len(dialogues)
    return rows


def asked(**changes: Any) -> list[Dialogue]:
    return [dialogue(f"What is number {number:04}?", str(number), **changes) for number in range(N_ROWS * 2)]


def bytes_of_rows(backend: TransformersBackend, dialogues: Sequence[Dialogue]) -> int:
    """Of memory with half of which the keys and values of so many conversations just fit."""
    tokens = max(each.n_tokens for one in dialogues for each in backend._conversations(Pending(one)))
    return 2 * (N_ROWS * tokens + 1) * backend._runner.limits.bytes_of_token


def test_later_windows_have_as_many_rows_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, dialogues = tiny_backend(), asked()
    room = bytes_of_rows(backend, dialogues)
    assert rows_of_waves(backend, room, dialogues, monkeypatch) == [N_ROWS] * 2 * N_WINDOWS


DRAWN = Decoding(8, temperature=1)


@pytest.mark.parametrize(
    "changes", [{"decoding": DRAWN}, {"follow_ups": (FollowUp("sample", "Again?", DRAWN),)}], ids=["reply", "follow-up"]
)
def test_where_tokens_are_drawn_their_noise_has_room_of_its_own(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, dialogues = tiny_backend(), asked(**changes)
    room = bytes_of_rows(backend, dialogues)
    noise = room // 2  # without it, there would be more rows

    def scratch_bytes(n_rows: int, n_tokens: int, device: torch.device) -> int:
        assert (n_rows, n_tokens) == (backend._runner.limits.branches, VOCABULARY)
        return noise

    monkeypatch.setattr(limits, "scratch_bytes", scratch_bytes)
    assert rows_of_waves(backend, room + noise, dialogues, monkeypatch) == [N_ROWS] * 2 * N_WINDOWS


def test_noise_leaves_some_room_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = tiny_backend()._runner
    monkeypatch.setattr(limits, "free_bytes", lambda device: 800)
    monkeypatch.setattr(limits, "scratch_bytes", lambda *_: 10_000)
    assert [runner.limits.now(runner._engine.model, 0, draws).room for draws in (False, True)] == [800, 100]
