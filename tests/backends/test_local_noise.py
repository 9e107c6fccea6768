"""Noise that is a function of its key and counter."""

from __future__ import annotations

import math

import pytest
import torch

from calprobe.backends.local.noise import gumbel_noise, sample_key


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
