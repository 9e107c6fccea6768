"""Log-probabilities of chosen tokens under a linear head, without the logits ever being written.

    logit[n, v]  = softcap * tanh(scale * (hidden[n] . weight[v] + bias[v]) / softcap)      (LogitRule)
    lse[n]       = log(sum over v of exp(logit[n, v]))
    logprob[m]   = logit[n, targets[m]] - lse[n]      for target_offsets[n] <= m < target_offsets[n + 1]

In torch: `F.linear(hidden, weight, bias).float().log_softmax(-1)[rows, targets]`.

Shapes: hidden [N, D], weight [V, D], bias [V], targets [M] int32 or int64, target_offsets [N + 1] int64 -> lse [N]
float32, logprobs [M] float32. hidden and weight in one of float32, bfloat16, float16; products are summed in float32
and logits stay in float32, whatever the dtype. A log-probability is clamped to 0: the log-sum-exp and the target's own
logit are summed in different orders, and a token that holds all the mass would else come out a rounding above 0.
A logit of -inf is a token of probability 0; NaN in a row's logits makes the row's results NaN.

The Triton kernels are in `linear_logprob_triton`, which is imported with the first tensor that they take: where none
comes, triton need neither be loaded nor be installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from calprobe.kernels.arguments import (
    FLOATS,
    INDICES,
    LogitRule,
    check_axes,
    check_devices,
    check_offsets,
    require,
    rows_of_targets,
    triton_takes,
)
from calprobe.kernels.onednn import linear, onednn_takes
from calprobe.kernels.tiles import Precision

LONGEST_STRIDE = 2**23  # elements between rows: the kernels count inside a block of 256 rows in 32 bits


class ReferenceTiles(NamedTuple):
    """What the reference computes at once: logits [rows, vocab], and targets, for which it gathers two [targets, D]."""

    rows: int
    vocab: int
    targets: int


# A tile of logits (4 MiB) must stay in a processor's caches between product and softmax. With few rows a larger part of
# the vocabulary halves bf16's speed, since its upcast copy then goes to memory and back. Smaller tiles cost more starts
# and joins of the threads. A card has no use for caches, but each tile is a dozen launches: 512 MiB of logits.
CPU_TILES, CARD_TILES = ReferenceTiles(512, 2048, 4096), ReferenceTiles(8192, 16_384, 8192)


def linear_logprob_reference(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    target_offsets: Tensor,
    rule: LogitRule = LogitRule(),
    precision: Precision = "ieee",
) -> tuple[Tensor, Tensor]:
    """`linear_logprob` in plain torch, in tiles: the CPU's path, and that of cards on which no kernel runs.

    `precision` changes nothing here. Nothing larger than a tile of logits and an upcast part of the weight is held.
    """
    tiles = CPU_TILES if hidden.device.type == "cpu" else CARD_TILES
    lse = _tiled_lse(hidden, weight, rule, tiles)
    rows = rows_of_targets(target_offsets, len(targets))
    logprobs = torch.empty(len(targets), dtype=torch.float32, device=hidden.device)
    for start in range(0, len(targets), tiles.targets):
        part = slice(start, start + tiles.targets)
        row, target = rows[part], targets[part].long()
        dots = (hidden[row].float() * weight[target].float()).sum(1)
        logits = rule.apply_(dots, None if rule.bias is None else rule.bias[target].float())
        logprobs[part] = (logits - lse[row]).clamp_(max=0.0)
    return lse, logprobs


def _tiled_lse(hidden: Tensor, weight: Tensor, rule: LogitRule, tiles: ReferenceTiles) -> Tensor:
    """Log-sum-exp [N] float32 of each row's logits.

    The vocabulary is the outer loop, so that each part of a bf16 or fp16 weight is upcast once, if it has to be.
    """
    is_wide = gives_float32(hidden)
    n_rows, n_vocab = len(hidden), len(weight)
    # In float64: 256 tiles of a large vocabulary, each rounded to float32's 2e-6 near 17, drift by 1e-5.
    lse = torch.full((n_rows,), -torch.inf, dtype=torch.float64, device=hidden.device)
    with _exact_fast_products(hidden.dtype):
        for start in range(0, n_vocab, tiles.vocab):
            part = slice(start, start + tiles.vocab)
            words = weight[part] if is_wide else weight[part].float()
            bias = None if rule.bias is None else rule.bias[part].float()
            for top in range(0, n_rows, tiles.rows):
                rows = hidden[top : top + tiles.rows]
                dots = wide_products(rows, words) if is_wide else linear(rows.float(), words)
                logits = rule.apply_(dots, bias)
                running = lse[top : top + tiles.rows]
                torch.logaddexp(running, _logsumexp_(logits).double(), out=running)
    return lse.float()


def gives_float32(operand: Tensor) -> bool:
    """Whether `wide_products` takes operands of that dtype on that device: bf16 and fp16 on cards, by torch from 2.8 on
    (not in its builds for ROCm)."""
    return operand.is_cuda and operand.dtype != torch.float32 and _gives_float32(operand.dtype, operand.device)


@cache
def _gives_float32(dtype: torch.dtype, device: torch.device) -> bool:
    try:
        wide_products(*torch.ones(2, 16, 16, dtype=dtype, device=device))
    except (TypeError, RuntimeError):  # no such argument; no such product on that device
        return False
    return True


def wide_products(rows: Tensor, words: Tensor) -> Tensor:
    """`rows @ words.T` [rows, words] in float32, of operands in a shorter dtype: sums are not rounded to it."""
    return torch.mm(rows, words.T, out_dtype=torch.float32)


def _logsumexp_(logits: Tensor) -> Tensor:
    """Log-sum-exp over the last axis, which it overwrites.

    Where MKL serves badly, its exponential does too: torch's softmax is one fused loop without it. The largest
    probability is exp(0) / sum, so that a softmax gives the sum.
    """
    highest = logits.amax(1)
    if onednn_takes(logits):
        largest_probability = torch.softmax(logits, 1, out=logits).amax(1)
        return torch.where(highest == -torch.inf, highest, highest - largest_probability.log_())
    finite = torch.where(highest == -torch.inf, 0.0, highest)
    return logits.sub_(finite[:, None]).exp_().sum(1).log_().add_(finite)


@contextmanager
def _exact_fast_products(dtype: torch.dtype) -> Iterator[None]:
    """Allow the processor's bf16 units for float32 operands that hold bf16 values: exact, and sums stay float32.

    torch.mm of bf16 rounds its *result* to bf16. oneDNN's "bf16" mode for float32 operands rounds the *operands*, here
    already bf16, and gives float32. Whether it then takes the bf16 units is its own choice. The switch is one for the
    process, so nothing else may multiply float32 matrices on the CPU in another thread meanwhile. torch before 2.9 has
    no such switch; plain float32 products run there.
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


@torch.no_grad()
def linear_logprob(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    target_offsets: Tensor,
    rule: LogitRule = LogitRule(),
    precision: Precision = "ieee",
) -> tuple[Tensor, Tensor]:
    """Log-sum-exp [N] of each row's logits and log-probability [M] (nats, <= 0) of each target; formula above.

    The kernels on a CUDA device, the reference elsewhere. `precision` says how a card multiplies float32 inputs:
    `ieee`, or `tf32x3`, three products on the tensor cores with an error near float32's. No rows or no targets give
    empty results. Raises ValueError for shapes, dtypes, devices or strides that do not fit, D not a multiple of 8, and
    on the CPU for targets outside the vocabulary or offsets that do not fit; on a card, where checking values would
    stall it, a target outside the vocabulary gives NaN. No gradients.

    >>> hidden, weight = torch.eye(1, 8), torch.zeros(4, 8)
    >>> lse, logprobs = linear_logprob(hidden, weight, torch.tensor([3, 0]), torch.tensor([0, 2]))
    >>> lse.exp().item(), logprobs.exp().tolist()
    (4.0, [0.25, 0.25])
    """
    _check(hidden, weight, targets, target_offsets, rule)
    arguments = (hidden, weight, targets, target_offsets, rule, precision)
    if triton_takes(hidden):
        from calprobe.kernels.linear_logprob_triton import linear_logprob_triton

        return linear_logprob_triton(*arguments)
    return linear_logprob_reference(*arguments)


def _check(hidden: Tensor, weight: Tensor, targets: Tensor, target_offsets: Tensor, rule: LogitRule) -> None:
    """Raise ValueError where an argument of `linear_logprob` breaks its contract."""
    check_axes(hidden=(hidden, 2), weight=(weight, 2), targets=(targets, 1), target_offsets=(target_offsets, 1))
    require(hidden.dtype in FLOATS, f"hidden must be float32, bfloat16 or float16, got {hidden.dtype}")
    require(weight.dtype == hidden.dtype, f"weight must have hidden's dtype {hidden.dtype}, got {weight.dtype}")
    require(targets.dtype in INDICES, f"targets must be int32 or int64, got {targets.dtype}")
    n_dim = hidden.shape[1]
    require(n_dim > 0 and n_dim % 8 == 0, f"hidden's last axis must be a multiple of 8, got {n_dim}")
    require(weight.shape[1] == n_dim, f"weight must be [vocab, {n_dim}] as hidden is, got {list(weight.shape)}")
    require(len(weight) > 0, "weight must have at least one row, got none")
    require(weight.stride(1) == 1, f"weight's last axis must be contiguous, got strides {weight.stride()}")
    require(weight.stride(0) % 8 == 0, f"weight's rows must be a multiple of 8 apart, got {weight.stride(0)}")
    stride = max(hidden.stride(0), weight.stride(0))
    require(stride < LONGEST_STRIDE, f"rows of hidden and weight must be less than 2**23 apart, got {stride}")
    check_offsets(target_offsets, "target_offsets", len(hidden), "hidden's rows", len(targets))
    others = {"weight": weight, "targets": targets, "target_offsets": target_offsets}
    if rule.bias is not None:
        others["bias"] = rule.bias
        shape = list(rule.bias.shape)
        require(shape == [len(weight)], f"bias must be [{len(weight)}], one a row of weight, got {shape}")
        require(rule.bias.is_contiguous(), f"bias must be contiguous, got strides {rule.bias.stride()}")
    check_devices(hidden, "hidden", others)
    if not targets.is_cuda and len(targets):
        low, high = int(targets.min()), int(targets.max())
        require(low >= 0 and high < len(weight), f"targets must lie in [0, {len(weight)}), got {low} to {high}")
