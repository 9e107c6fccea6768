"""Random numbers that depend on their key and counter alone: not on batch, order, neighbours, device or library.

The generator is SplitMix64 (Steele, Lea and Flood 2014), of which the n-th output is a function of its start and n: 64
bits in, 64 bits out. The streams of numpy and torch are none of this: they differ by device and version, and the n-th
number takes the n - 1 before it.
"""

from __future__ import annotations

import hashlib
import json

import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15 - 2**64  # 2**64 divided by the golden ratio, as a signed number
_MULTIPLIERS = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
_BITS = 52  # of a uniform number: with the half that keeps it away from 0 and 1, as many as a float64 holds
_VALUES_AT_ONCE = 2**18  # 2 MiB of 64-bit numbers: the dozen passes over them stay in the caches


def sample_key(seed: int, *names: str | int) -> int:
    """A signed 64-bit key from a seed and what tells a sample apart: the first bytes of a SHA-256.

    >>> sample_key(0, "mmlu", "q1", 0) == sample_key(0, "mmlu", "q1", 0) != sample_key(0, "mmlu", "q1", 1)
    True
    """
    text = json.dumps([seed, *names], ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "little", signed=True)


def gumbel_noise(keys: Tensor, positions: Tensor, n_tokens: int) -> Tensor:
    """Standard Gumbel noise -log(-log(u)), u uniform in (0, 1): [rows, n_tokens] float32.

    A number is a function of key, position and token alone. The largest of log p + noise falls on a token with
    probability p (Gumbel-max).

    Args:
        keys: of each row, [rows] int64, see `sample_key`.
        positions: of the token that is to be chosen, [rows] int64.
        n_tokens: size of the vocabulary.
    """
    starts = _mixed(keys + (positions + 1) * _GOLDEN)
    counters = torch.arange(1, n_tokens + 1, device=keys.device) * _GOLDEN
    noise = torch.empty(len(keys), n_tokens, device=keys.device)
    at_once = max(1, _VALUES_AT_ONCE // n_tokens)
    for first in range(0, len(keys), at_once):
        rows = slice(first, first + at_once)
        noise[rows] = _gumbel(_mixed(starts[rows, None] + counters))
    return noise


def _mixed(bits: Tensor) -> Tensor:
    """SplitMix64's output function; torch multiplies int64 modulo 2**64."""
    bits = (bits ^ _shifted(bits, 30)) * _MULTIPLIERS[0]
    bits = (bits ^ _shifted(bits, 27)) * _MULTIPLIERS[1]
    return bits ^ _shifted(bits, 31)


def _shifted(bits: Tensor, by: int) -> Tensor:
    """To the right, zeros shifted in: torch's own shift keeps the sign."""
    shifted: Tensor = (bits >> by) & (2 ** (64 - by) - 1)
    return shifted


def _gumbel(bits: Tensor) -> Tensor:
    uniform = (_shifted(bits, 64 - _BITS).double() + 0.5) * 2.0**-_BITS
    return uniform.log_().neg_().log_().neg_().float()
