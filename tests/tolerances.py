"""How far two right computations may lie apart, from their dtype and the number of terms that they sum.

Machines sum in other orders: other vector widths, other numbers of threads, other libraries. A tolerance that was found
by looking at one machine fails on the next one. So tests of models and kernels take theirs from here. What is computed
in float64 with NumPy alone may say 1e-9 or more beside the assertion: that is a million times its rounding.
"""

from __future__ import annotations

import math

import torch


def rounding(dtype: torch.dtype, terms: int, largest: float = 1.0) -> float:
    """Absolute difference that rounding explains between two sums of `terms` values.

    Each addition rounds a partial sum by half an eps of it at most, and these errors rarely add up: they grow like the
    root of the number of terms (Higham and Mary 2019).

    Args:
        largest: what no partial sum exceeds.
    """
    return torch.finfo(dtype).eps * math.sqrt(terms) * largest


def product_rounding(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> float:
    """`rounding` of x W^T + b, of which no partial sum exceeds |x| |W|^T + |b|.

    Args:
        x: [.., terms], of the dtype that is summed in.
        weight: [outputs, terms].
    """
    bounds = x.abs() @ weight.abs().T + (0 if bias is None else bias.abs())
    return rounding(x.dtype, x.shape[-1] + (bias is not None), float(bounds.max()) if bounds.numel() else 0.0)


# Tiny models of tests/tiny_models.py: two layers of 32 to 64 values with 48 in between, at most 64 places, a softmax
# over 97 or 260 words, and scores of about 8 nats. Of 114 random models (19 architectures) under two instruction sets
# of torch by three of MKL, tree and padded paths differed from single statements by a tenth of this at most.
# Recurrences differ by more: each step rounds the state that the next one reads.
TINY_TERMS = 2 * (4 * 32 + 2 * 48 + 64) + 32 + 260
TINY_SCORE = rounding(torch.float32, TINY_TERMS, largest=8.0)  # nats, of a token
TINY_SUM = 16 * TINY_SCORE  # of a statement of at most sixteen tokens
TINY_STEPS = math.sqrt(64) * TINY_SCORE  # of a token behind at most 64 steps of a recurrence


def tiny_score(architecture: str) -> float:
    """Nats, of a token of the tiny model of this architecture."""
    return TINY_STEPS if architecture in {"mamba", "rwkv", "falcon-h1"} else TINY_SCORE
