"""Noise that is a function of its key and counter."""

from __future__ import annotations

import math
import weakref
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from calprobe.backends.local import noise as noise_module
from calprobe.backends.local.noise import gumbel_noise, sample_key, scratch_bytes

CPU = torch.device("cpu")


def splitmix(state: int) -> int:
    """SplitMix64's next output, in Python's own numbers."""
    mask = 2**64 - 1
    bits = state & mask
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & mask
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & mask
    return bits ^ (bits >> 31)


def gumbel(key: int, position: int, token: int) -> float:
    golden = 0x9E3779B97F4A7C15
    bits = splitmix(splitmix(key + (position + 1) * golden) + (token + 1) * golden)
    return -math.log(-math.log(((bits >> 12) + 0.5) / 2**52))


def test_noise_is_splitmix64_by_hand() -> None:
    key = sample_key(3, "mmlu", "q", 0)
    noise = gumbel_noise(torch.tensor([key, -7]), torch.tensor([5, 0]), 100)
    for token in (0, 1, 99):
        assert noise[0, token].item() == pytest.approx(gumbel(key, 5, token), rel=1e-6)
        assert noise[1, token].item() == pytest.approx(gumbel(-7, 0, token), rel=1e-6)


def test_a_row_does_not_depend_on_its_neighbours_or_on_the_vocabulary() -> None:
    keys, positions = torch.arange(40) * 12345, torch.arange(40)
    together = gumbel_noise(keys, positions, 50_000)
    assert torch.equal(together[17:18], gumbel_noise(keys[17:18], positions[17:18], 50_000))
    assert torch.equal(together[:, :100], gumbel_noise(keys, positions, 100))


@given(
    n_rows=st.integers(1, 9),
    n_tokens=st.integers(1, 400),
    scratch=st.integers(0, 20 * 400 * 16),
    key=st.integers(-(2**63), 2**63 - 10),
)
def test_a_number_does_not_depend_on_how_many_are_computed_at_once(
    n_rows: int, n_tokens: int, scratch: int, key: int
) -> None:
    keys, positions = torch.arange(n_rows) + key, torch.arange(n_rows) * 7
    kept = keys.clone()
    usual = gumbel_noise(keys, positions, n_tokens)
    with patch.object(noise_module, "_CPU_SCRATCH", scratch):
        assert torch.equal(gumbel_noise(keys, positions, n_tokens), usual)
    assert torch.equal(keys, kept)
    for row in range(n_rows):
        assert usual[row, -1].item() == pytest.approx(gumbel(key + row, 7 * row, n_tokens - 1), rel=1e-6, abs=1e-6)


class Peak(TorchDispatchMode):
    """The most bytes that lived at once of those that were allocated inside."""

    def __init__(self) -> None:
        super().__init__()
        self.most = self._now = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        storage = made.untyped_storage()
        if func.namespace == "aten" and storage.data_ptr() not in self._known:
            self._known.add(storage.data_ptr())
            self._now += storage.nbytes()
            self.most = max(self.most, self._now)
            weakref.finalize(storage, self._freed, storage.data_ptr(), storage.nbytes())
        return made

    def _freed(self, address: int, n_bytes: int) -> None:
        self._known.discard(address)
        self._now -= n_bytes


@pytest.mark.parametrize("n_at_once", [1, 3, 100])
def test_no_more_memory_is_taken_than_is_planned_for(n_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    n_rows, n_tokens = 7, 50_000
    monkeypatch.setattr(noise_module, "_CPU_SCRATCH", n_at_once * 16 * n_tokens)
    keys, positions = torch.arange(n_rows), torch.arange(n_rows)
    with Peak() as peak:
        result = gumbel_noise(keys, positions, n_tokens)
    planned = scratch_bytes(n_rows, n_tokens, CPU)
    assert 0.7 * planned < peak.most - result.nbytes <= planned


def test_keys_and_positions_give_other_noise() -> None:
    keys = torch.tensor([sample_key(0, "a", number) for number in range(4)])
    noise = gumbel_noise(torch.cat([keys, keys]), torch.arange(8), 1000)
    assert torch.corrcoef(noise).fill_diagonal_(0).abs().max() < 0.15
    assert len({sample_key(seed, name) for seed in range(3) for name in ("a", "b", 1, "1")}) == 12


def test_noise_has_gumbels_distribution() -> None:
    noise = gumbel_noise(torch.tensor([1, 2]), torch.tensor([0, 0]), 200_000).double().flatten()
    uniform = torch.exp(-torch.exp(-noise)).sort().values
    distance = (uniform - (torch.arange(len(uniform)) + 0.5) / len(uniform)).abs().max()
    assert distance < 1.63 / math.sqrt(len(uniform))  # Kolmogorov and Smirnov's, 1 %
    assert torch.isfinite(noise).all()
