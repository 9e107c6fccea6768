"""Log-sum-exp of a linear head's logits in plain torch, tile by tile: the CPU's share of `linear_logprob`.

Products are summed in float32 and logits stay in float32. Nothing larger than a tile of logits and an upcast part of
the weight is held. torch's threads are used, as many as it is set to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from calprobe.kernels.logit_rule import LogitRule
from calprobe.kernels.onednn import linear

# Measured on two Zen 5 cores: speed is flat from tiles of 256 x 512 logits to 512 x 2,048 (4 MiB, which the caches
# hold between product and softmax) and falls beyond; with few rows a chunk of 8,192 words halves bf16's, since its
# upcast copy then goes to memory and back. The largest of the flat ones: every tile is a few starts and joins of the
# threads, and those are what costs when something else wants the cores.
TILE_ROWS, TILE_VOCAB = 512, 2048


def tiled_lse(hidden: Tensor, weight: Tensor, rule: LogitRule) -> Tensor:
    """Log-sum-exp [N] float32 of the logits of `hidden` [N, D] under `weight` [V, D] and `rule`.

    The vocabulary is the outer loop, so that each part of a bf16 or fp16 weight is upcast once.
    """
    n_rows, n_vocab = len(hidden), len(weight)
    # In float64: 256 tiles of a large vocabulary, each rounded to float32's 2e-6 near 17, drift by 1e-5.
    lse = torch.full((n_rows,), -torch.inf, dtype=torch.float64, device=hidden.device)
    with _exact_fast_products(hidden.dtype):
        for start in range(0, n_vocab, TILE_VOCAB):
            words = weight[start : start + TILE_VOCAB].float()
            bias = None if rule.bias is None else rule.bias[start : start + TILE_VOCAB].float()
            for top in range(0, n_rows, TILE_ROWS):
                logits = rule.apply_(linear(hidden[top : top + TILE_ROWS].float(), words), bias)
                running = lse[top : top + TILE_ROWS]
                torch.logaddexp(running, _logsumexp_(logits).double(), out=running)
    return lse.float()


def _logsumexp_(logits: Tensor) -> Tensor:
    """Log-sum-exp over the last axis, which it overwrites.

    The largest probability is exp(0) / sum, so that a softmax gives the sum; torch runs softmax as one fused loop and
    logsumexp as four, of twice the time.
    """
    highest = logits.amax(1)
    largest_probability = torch.softmax(logits, 1, out=logits).amax(1)
    return torch.where(highest == -torch.inf, highest, highest - largest_probability.log_())


@contextmanager
def _exact_fast_products(dtype: torch.dtype) -> Iterator[None]:
    """Allow the processor's bf16 units for float32 operands that hold bf16 values: exact, and sums stay float32.

    torch.mm of bf16 rounds its *result* to bf16. oneDNN's "bf16" mode for float32 operands rounds the *operands*, here
    already bf16, and gives float32. Whether it then takes the bf16 units is its own choice: oneDNN 3.12 stays in
    float32 on a Zen 5, which has AVX-512 and bf16 but no AMX. The switch is one for the process, so nothing else may
    multiply float32 matrices on the CPU in another thread meanwhile. torch before 2.9 has no such switch; plain float32
    products run there.
    """
    switch = getattr(torch.backends.mkldnn, "matmul", None)
    if dtype != torch.bfloat16 or switch is None:
        yield
        return
    before = switch.fp32_precision
    switch.fp32_precision = "bf16"
    try:
        yield
    finally:
        switch.fp32_precision = before
