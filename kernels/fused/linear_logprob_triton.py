"""The kernels of `linear_logprob` and their launcher; its module has formula, shapes and reference.

The vocabulary is walked tile by tile with a running maximum and sum (Milakov & Gimelshein 2018, "Online normalizer
calculation for softmax"); programs that share rows leave partial log-sum-exps [splits, N] behind.
"""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.runtime import driver

from calprobe.kernels.arguments import LogitRule, rows_of_targets
from calprobe.kernels.tiles import FUSING, Precision, TileSet, choose_tiles, tile_set, tiles_per_split

BLOCK_TARGETS, BLOCK_TARGET_DIM = 16, 128  # one program of the target kernel keeps 2,048 sums, 16 a thread
INTERPRETED_PROCESSORS = 8  # stands for the card's count where the interpreter runs: several splits, few programs


@triton.jit
def _tanh(x, factor):
    # tanh(factor * x): right at both ends, absolute error that of float32 near 1.
    return 1.0 - 2.0 / (tl.exp2(x * (2.8853900817779268 * factor)) + 1.0)


@triton.jit
def _load_bias(p_bias, first_token, n_vocab, BLOCK_VOCAB: tl.constexpr):
    token = tl.minimum(first_token + tl.arange(0, BLOCK_VOCAB), n_vocab - 1)
    return tl.load(p_bias + token).to(tl.float32)[None, :]


# Sizes that differ from batch to batch: specialised (on 1, and on multiples of 16), each would compile anew in mid-run.
@triton.jit(do_not_specialize=["n_rows", "n_splits", "tiles_per_split"])
def _partial_lse_kernel(
    p_hidden,  # [N, D], rows 8 * hidden_stride_eighths apart
    p_weight,  # [V, D], rows 8 * weight_stride_eighths apart
    p_bias,  # [V]; p_weight again, and unread, where there is none
    p_partial,  # [splits, N] float32, written: log-sum-exp of the logits of one split's tiles
    n_rows,
    n_vocab,
    n_dim_eighths,
    hidden_stride_eighths,
    weight_stride_eighths,
    scale,
    softcap,
    n_splits,
    tiles_per_split,
    HAS_BIAS: tl.constexpr,
    HAS_SOFTCAP: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_VOCAB: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    LOG2_E: tl.constexpr = 1.4426950408889634
    LN_2: tl.constexpr = 0.6931471805599453
    factor = (softcap if HAS_SOFTCAP else scale) * LOG2_E  # of the values below, to logits in base 2
    LOWEST: tl.constexpr = -3.4028234e38  # not -inf: -inf minus -inf is NaN where a first tile holds only -inf
    # Eighths, so that the compiler sees that every row starts on 16 bytes and reads 16 at a time.
    n_dim, hidden_stride, weight_stride = n_dim_eighths * 8, hidden_stride_eighths * 8, weight_stride_eighths * 8
    # Neighbouring programs take the splits of the same rows, so that those rows' hidden states stay in the L2 cache.
    i_rows = tl.program_id(0) // n_splits
    i_split = tl.program_id(0) % n_splits
    o_dim = tl.arange(0, BLOCK_DIM)
    first_tile = i_split * tiles_per_split
    n_tiles = tl.minimum(tiles_per_split, tl.cdiv(n_vocab, BLOCK_VOCAB) - first_tile)
    n_steps = tl.cdiv(n_dim, BLOCK_DIM)
    # A 64-bit scalar for the block, 32-bit offsets inside it: half the registers of 64-bit pointers. Rows past the end
    # repeat the last one: cheaper than a mask, and never stored.
    first_row = i_rows.to(tl.int64) * BLOCK_ROWS
    row = tl.minimum(tl.arange(0, BLOCK_ROWS), (n_rows - 1 - first_row).to(tl.int32))
    o_hidden = row[:, None] * hidden_stride + o_dim[None, :]
    p_hidden += first_row * hidden_stride
    highest = tl.full([BLOCK_ROWS], LOWEST, tl.float32)
    total = tl.zeros([BLOCK_ROWS], tl.float32)
    # The sums start from the bias: added afterwards, it would need registers beside them, and 128 x 256 spills.
    dots = tl.zeros([BLOCK_ROWS, BLOCK_VOCAB], tl.float32)
    if HAS_BIAS:
        dots += _load_bias(p_bias, first_tile * BLOCK_VOCAB, n_vocab, BLOCK_VOCAB)
    # One loop over tiles and steps, not two nested: the next tile's loads then run during this tile's softmax.
    for i in range(n_tiles * n_steps):
        i_step = i % n_steps
        first_token = (first_tile + i // n_steps) * BLOCK_VOCAB
        token = tl.minimum(tl.arange(0, BLOCK_VOCAB), n_vocab - 1 - first_token)
        m_dim = o_dim[None, :] < n_dim - i_step * BLOCK_DIM
        p_tile = p_weight + first_token.to(tl.int64) * weight_stride + i_step * BLOCK_DIM
        rows = tl.load(p_hidden + i_step * BLOCK_DIM + o_hidden, mask=m_dim, other=0.0)
        tokens = tl.load(p_tile + token[:, None] * weight_stride + o_dim[None, :], mask=m_dim, other=0.0)
        dots = tl.dot(rows, tl.trans(tokens), dots, input_precision=PRECISION)
        if i_step == n_steps - 1:
            if HAS_SOFTCAP:
                dots = _tanh(dots, scale / softcap)
            if first_token + BLOCK_VOCAB > n_vocab:
                dots = tl.where(tl.arange(0, BLOCK_VOCAB)[None, :] < n_vocab - first_token, dots, float("-inf"))
            # One multiply-add an element: as factor > 0, the largest logit is that of the largest value.
            raised = tl.maximum(highest, tl.max(dots, 1) * factor)
            total = total * tl.exp2(highest - raised) + tl.sum(tl.exp2(dots * factor - raised[:, None]), 1)
            highest = raised
            dots = tl.zeros([BLOCK_ROWS, BLOCK_VOCAB], tl.float32)
            if HAS_BIAS:
                dots += _load_bias(p_bias, first_token + BLOCK_VOCAB, n_vocab, BLOCK_VOCAB)
    o_row = first_row + tl.arange(0, BLOCK_ROWS)
    tl.store(p_partial + i_split.to(tl.int64) * n_rows + o_row, (highest + tl.log2(total)) * LN_2, mask=o_row < n_rows)


@triton.jit(do_not_specialize=["n_targets"])
def _target_logprob_kernel(
    p_hidden,  # [N, D], rows 8 * hidden_stride_eighths apart
    p_weight,  # [V, D], rows 8 * weight_stride_eighths apart
    p_bias,  # [V]; p_weight again, and unread, where there is none
    p_target,  # [M] int32 or int64
    p_row,  # [M] int64: the row of hidden that each target belongs to
    p_lse,  # [N] float32
    p_logprob,  # [M] float32, written
    n_targets,
    n_vocab,
    n_dim_eighths,
    hidden_stride_eighths,
    weight_stride_eighths,
    scale,
    softcap,
    HAS_BIAS: tl.constexpr,
    HAS_SOFTCAP: tl.constexpr,
    BLOCK_TARGETS: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    n_dim, hidden_stride, weight_stride = n_dim_eighths * 8, hidden_stride_eighths * 8, weight_stride_eighths * 8
    o_target = tl.program_id(0).to(tl.int64) * BLOCK_TARGETS + tl.arange(0, BLOCK_TARGETS)
    o_dim = tl.arange(0, BLOCK_DIM)
    m_target = o_target < n_targets
    row = tl.load(p_row + o_target, mask=m_target, other=0)
    target = tl.load(p_target + o_target, mask=m_target, other=0).to(tl.int64)
    inside = (target >= 0) & (target < n_vocab)
    target = tl.where(inside, target, 0)
    p_rows = p_hidden + row[:, None] * hidden_stride + o_dim[None, :]
    p_tokens = p_weight + target[:, None] * weight_stride + o_dim[None, :]
    products = tl.zeros([BLOCK_TARGETS, BLOCK_DIM], tl.float32)
    for start in range(0, n_dim, BLOCK_DIM):
        mask = m_target[:, None] & (o_dim[None, :] < n_dim - start)
        rows = tl.load(p_rows + start, mask=mask, other=0.0).to(tl.float32)
        tokens = tl.load(p_tokens + start, mask=mask, other=0.0).to(tl.float32)
        products += rows * tokens
    dots = tl.sum(products, 1)
    if HAS_BIAS:
        dots += tl.load(p_bias + target).to(tl.float32)
    logits = softcap * _tanh(dots, scale / softcap) if HAS_SOFTCAP else dots * scale
    logprobs = logits - tl.load(p_lse + row, mask=m_target, other=0.0)
    logprobs = tl.where(logprobs > 0.0, 0.0, logprobs)  # keeps NaN, where a minimum would not
    tl.store(p_logprob + o_target, tl.where(inside, logprobs, float("nan")), mask=m_target)


def linear_logprob_triton(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    target_offsets: Tensor,
    rule: LogitRule = LogitRule(),
    precision: Precision = "ieee",
) -> tuple[Tensor, Tensor]:
    """`linear_logprob` by the kernels, on a card or in Triton's interpreter; the arguments are taken as checked."""
    n_rows, n_targets = len(hidden), len(targets)
    hidden = hidden if hidden.stride(1) == 1 and hidden.stride(0) % 8 == 0 else hidden.contiguous()
    logprobs = torch.empty(n_targets, dtype=torch.float32, device=hidden.device)
    if n_rows == 0:
        return torch.empty(0, dtype=torch.float32, device=hidden.device), logprobs
    with torch.cuda.device_of(hidden):
        lse = _launch_partial_lse(hidden, weight, rule, precision).logsumexp(0)
        if n_targets:
            _target_logprob_kernel[(triton.cdiv(n_targets, BLOCK_TARGETS),)](
                hidden,
                weight,
                weight if rule.bias is None else rule.bias,
                targets.contiguous(),
                rows_of_targets(target_offsets, n_targets),
                lse,
                logprobs,
                n_targets,
                *_sizes_and_scales(hidden, weight, rule),
                HAS_BIAS=rule.bias is not None,
                HAS_SOFTCAP=rule.softcap is not None,
                BLOCK_TARGETS=BLOCK_TARGETS,
                BLOCK_DIM=BLOCK_TARGET_DIM,
                **FUSING,
            )
    return lse, logprobs


def _launch_partial_lse(hidden: Tensor, weight: Tensor, rule: LogitRule, precision: Precision) -> Tensor:
    """Partial log-sum-exps [splits, N] float32."""
    n_rows = len(hidden)
    tiles = choose_tiles(hidden.dtype, precision, n_rows, _tile_set(hidden.device))
    row_blocks, vocab_tiles = triton.cdiv(n_rows, tiles.rows), triton.cdiv(len(weight), tiles.vocab)
    per_split = tiles_per_split(row_blocks, vocab_tiles, _n_processors(hidden.device))
    n_splits = triton.cdiv(vocab_tiles, per_split)
    partial = torch.empty(n_splits, n_rows, dtype=torch.float32, device=hidden.device)
    _partial_lse_kernel[(row_blocks * n_splits,)](
        hidden,
        weight,
        weight if rule.bias is None else rule.bias,
        partial,
        n_rows,
        *_sizes_and_scales(hidden, weight, rule),
        n_splits,
        per_split,
        HAS_BIAS=rule.bias is not None,
        HAS_SOFTCAP=rule.softcap is not None,
        PRECISION=precision,
        **tiles.launch_options(),
        **FUSING,
    )
    return partial


def _sizes_and_scales(hidden: Tensor, weight: Tensor, rule: LogitRule) -> tuple[int | float, ...]:
    """The arguments that both kernels take in the same order, n_vocab to softcap."""
    n_vocab, n_dim = weight.shape
    eighths = n_dim // 8, hidden.stride(0) // 8, weight.stride(0) // 8
    return n_vocab, *eighths, float(rule.scale), float(rule.softcap or 1.0)


def _n_processors(device: torch.device) -> int:
    if device.type != "cuda":
        return INTERPRETED_PROCESSORS
    return torch.cuda.get_device_properties(device).multi_processor_count


def _tile_set(device: torch.device) -> TileSet:
    return "wide" if device.type != "cuda" else _tile_set_of_card(device.index)


@cache
def _tile_set_of_card(index: int) -> TileSet:
    if torch.version.hip:
        return "hip"
    # What Triton refuses kernels by; torch 2.6 does not tell it.
    shared_bytes: int = driver.active.utils.get_device_properties(index)["max_shared_mem"]
    return tile_set(torch.cuda.get_device_capability(index)[0], shared_bytes)
