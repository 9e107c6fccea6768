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
_OF_VALUE = 16  # bytes of scratch: the bits, and as many again, shifted or as a float64
# Bytes of scratch for the rows that are computed at once. On a CPU two dozen passes over them stay in the caches; on a
# card each pass is a launch, which has to be worth its start.
_CPU_SCRATCH, _GPU_SCRATCH = 2**22, 2**29


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
    starts = _mixed_(keys + (positions + 1) * _GOLDEN)
    counters = torch.arange(1, n_tokens + 1, device=keys.device).mul_(_GOLDEN)
    noise = torch.empty(len(keys), n_tokens, device=keys.device)
    at_once = _rows_at_once(n_tokens, keys.device)
    for first in range(0, len(keys), at_once):
        rows = slice(first, first + at_once)
        noise[rows] = _gumbel(_mixed_(starts[rows, None] + counters))
    return noise


def scratch_bytes(n_rows: int, n_tokens: int, device: torch.device) -> int:
    """Memory that `gumbel_noise` takes beside its result: for the rows at once, and less than a row's for counters.

    >>> [scratch_bytes(256, n_tokens, torch.device("cuda")) // 2**20 for n_tokens in (32_000, 262_144)]
    [125, 516]
    """
    return (min(n_rows, _rows_at_once(n_tokens, device)) + 1) * _OF_VALUE * n_tokens


def _rows_at_once(n_tokens: int, device: torch.device) -> int:
    most = _CPU_SCRATCH if device.type == "cpu" else _GPU_SCRATCH
    return max(1, most // (_OF_VALUE * n_tokens))


def _mixed_(bits: Tensor) -> Tensor:
    """SplitMix64's output function, in place; torch multiplies int64 modulo 2**64."""
    bits.bitwise_xor_(_shifted(bits, 30)).mul_(_MULTIPLIERS[0])
    bits.bitwise_xor_(_shifted(bits, 27)).mul_(_MULTIPLIERS[1])
    return bits.bitwise_xor_(_shifted(bits, 31))


def _shifted(bits: Tensor, by: int) -> Tensor:
    """To the right, zeros shifted in: torch's own shift keeps the sign."""
    return (bits >> by).bitwise_and_(2 ** (64 - by) - 1)


def _gumbel(bits: Tensor) -> Tensor:
    """Of bits, which are not kept: float64."""
    bits.bitwise_right_shift_(64 - _BITS).bitwise_and_(2**_BITS - 1)
    return bits.double().add_(0.5).mul_(2.0**-_BITS).log_().neg_().log_().neg_()
