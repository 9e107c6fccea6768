"""Rows of `ask` over several windows where memory is counted: what its own caches hold is not lost to it."""

from __future__ import annotations

import pytest
import torch
from tiny_backends import dialogue, tiny_backend

from calprobe.backends import Pending
from calprobe.backends.local import limits
from calprobe.backends.local.cache import RaggedCache

N_ROWS = 6  # conversations that fit into half of the free memory
N_WINDOWS = 4


def test_later_windows_have_as_many_rows_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend()
    runner = backend._runner
    caches: list[RaggedCache] = []  # all that hold keys and values
    right = RaggedCache.reserve
    rows: list[int] = []  # of each wave

    def reserve(self: RaggedCache, n_rows: int, n_slots: int) -> None:
        if all(self is not cache for cache in caches):
            caches.append(self)
        if self is runner._cache:
            rows.append(n_rows)
        right(self, n_rows, n_slots)

    dialogues = [dialogue(f"What is number {number:04}?", str(number)) for number in range(N_ROWS * 2)]
    tokens = max(each.n_tokens for one in dialogues for each in backend._conversations(Pending(one)))
    total = 2 * (N_ROWS * tokens + 1) * runner.limits.bytes_of_token

    def free(device: torch.device) -> int:
        return total - sum(cache.n_bytes for cache in caches)

    monkeypatch.setattr(limits, "free_bytes", free)
    monkeypatch.setattr(RaggedCache, "reserve", reserve)
    for _ in range(N_WINDOWS):
        assert len(list(backend.replies(Pending(each) for each in dialogues))) == len(dialogues)
    assert rows == [N_ROWS] * 2 * N_WINDOWS
