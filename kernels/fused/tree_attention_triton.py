"""The kernel of `tree_attention` and its launcher; its module has formula, shapes and reference.

One program takes a stretch of queries of one head through the keys of their block, a chunk at a time, and then through
the block's gathered ancestors, with a running maximum and sum (Dao et al. 2022, "FlashAttention"). Which query sees
which key is computed from `end` in registers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from calprobe.kernels.tiles import FUSING
from calprobe.kernels.tree_layout import BLOCK_PLACES, AttentionRule, TreeLayout


@dataclass(frozen=True, slots=True)
class AttentionTiles:
    """Queries of one program, keys of one step, warps and pipeline stages."""

    queries: int
    keys: int
    warps: int
    stages: int

    def launch_options(self) -> dict[str, int]:
        """These sizes under the names that the kernel and Triton's launcher give them."""
        blocks = {"BLOCK_QUERIES": self.queries, "BLOCK_KEYS": self.keys}
        return {**blocks, "num_warps": self.warps, "num_stages": self.stages}


# By head size. Chunks of 32 keys: most blocks have fewer ancestors, and a larger chunk would be mostly masked. A
# program keeps [queries, head size] sums in float32 and as many queries in registers; these sizes spill on no card, and
# fit 99 KB of shared memory.
_HALF = {64: AttentionTiles(64, 32, 4, 2), 128: AttentionTiles(64, 32, 8, 2), 256: AttentionTiles(64, 32, 8, 2)}
_FLOAT32 = {64: AttentionTiles(64, 32, 8, 2), 128: AttentionTiles(32, 32, 8, 2), 256: AttentionTiles(16, 32, 8, 2)}
# AMD's warps have 64 threads: four of them, one on each unit of a processor, have 512 registers a thread, eight 256.
_HIP_HALF = {64: AttentionTiles(64, 32, 4, 2), 128: AttentionTiles(64, 32, 4, 2), 256: AttentionTiles(32, 32, 4, 2)}
_HIP_FLOAT32 = {64: AttentionTiles(64, 32, 4, 2), 128: AttentionTiles(32, 32, 4, 2), 256: AttentionTiles(16, 16, 4, 2)}


BLOCK_DIMS = tuple(_HALF)


def attention_tiles(dtype: torch.dtype, block_dim: int, is_hip: bool = False) -> AttentionTiles:
    """The tiles for heads of up to `block_dim` values, 64, 128 or 256, on an NVIDIA card or an AMD one."""
    half, float32 = (_HIP_HALF, _HIP_FLOAT32) if is_hip else (_HALF, _FLOAT32)
    return (float32 if dtype == torch.float32 else half)[block_dim]


# What differs from batch to batch: a row's stride is a multiple of its places.
_DIFFERS = ["n_places", "n_blocks", "most_ancestors", "window"]
_DIFFERS += ["query_row_eighths", "key_row_eighths", "value_row_eighths"]


@triton.jit(do_not_specialize=_DIFFERS)
def _tree_attention_kernel(
    p_query,  # [B, H, N, D], strides in eighths
    p_key,  # [B, K, N, D], strides in eighths
    p_value,  # [B, K, N, D], strides in eighths
    p_out,  # [B, N, H, D], contiguous, written
    p_end,  # [B, N] int32
    p_depth,  # [B, N] int32
    p_ancestors,  # [B, blocks, most_ancestors] int32
    query_row_eighths,
    query_head_eighths,
    query_place_eighths,
    key_row_eighths,
    key_head_eighths,
    key_place_eighths,
    value_row_eighths,
    value_head_eighths,
    value_place_eighths,
    n_places,
    n_blocks,
    most_ancestors,
    n_heads,
    n_group,  # heads that share a key head
    n_dim_eighths,
    scale,
    softcap,
    window,
    HAS_SOFTCAP: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_PLACES: tl.constexpr,
    BLOCK_QUERIES: tl.constexpr,
    BLOCK_KEYS: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    LOG2_E: tl.constexpr = 1.4426950408889634
    LOWEST: tl.constexpr = -3.4028234e38  # not -inf: -inf minus -inf is NaN where a first chunk is all masked
    factor = (softcap if HAS_SOFTCAP else scale) * LOG2_E  # of the values below, to scores in base 2
    n_dim = n_dim_eighths * 8
    i_row = tl.program_id(1) // n_heads
    i_head = tl.program_id(1) % n_heads
    i_row_64, i_key_head = i_row.to(tl.int64), (i_head // n_group).to(tl.int64)
    first_query = tl.program_id(0) * BLOCK_QUERIES
    i_block = first_query // BLOCK_PLACES
    first = i_block * BLOCK_PLACES
    p_query += i_row_64 * (query_row_eighths * 8) + i_head.to(tl.int64) * (query_head_eighths * 8)
    p_key += i_row_64 * (key_row_eighths * 8) + i_key_head * (key_head_eighths * 8)
    p_value += i_row_64 * (value_row_eighths * 8) + i_key_head * (value_head_eighths * 8)
    p_end += i_row_64 * n_places
    p_depth += i_row_64 * n_places
    p_ancestors += (i_row_64 * n_blocks + i_block) * most_ancestors

    o_dim = tl.arange(0, BLOCK_DIM)
    m_dim = o_dim[None, :] < n_dim
    # Queries past the end repeat the last place: never stored.
    query = tl.minimum(first_query + tl.arange(0, BLOCK_QUERIES), n_places - 1)
    o_query = query.to(tl.int64)[:, None] * (query_place_eighths * 8) + o_dim[None, :]
    queries = tl.load(p_query + o_query, mask=m_dim, other=0.0)
    if HAS_WINDOW:
        query_depth = tl.load(p_depth + query)
    highest = tl.full([BLOCK_QUERIES], LOWEST, tl.float32)
    total = tl.zeros([BLOCK_QUERIES], tl.float32)
    sums = tl.zeros([BLOCK_QUERIES, BLOCK_DIM], tl.float32)
    n_ancestors = tl.load(p_depth + first)  # of the block's first place: all lie before the block
    # Keys of the own block behind the last query are seen by none.
    n_own = tl.cdiv(first_query + BLOCK_QUERIES - first, BLOCK_KEYS)
    own_end = tl.minimum(first + n_own * BLOCK_KEYS, n_places)
    for i in range(n_own + tl.cdiv(n_ancestors, BLOCK_KEYS)):
        slot = (i - n_own) * BLOCK_KEYS + tl.arange(0, BLOCK_KEYS)
        is_ancestor = (slot >= 0) & (slot < n_ancestors)
        gathered = tl.load(p_ancestors + slot, mask=is_ancestor, other=0)
        own = first + i * BLOCK_KEYS + tl.arange(0, BLOCK_KEYS)
        is_key = is_ancestor | (own < own_end)
        key = tl.where(is_ancestor, gathered, tl.where(is_key, own, 0))
        key_end = tl.load(p_end + key, mask=is_key, other=0)  # what is no key ends before any query
        o_key = key.to(tl.int64)[:, None]
        keys = tl.load(p_key + o_key * (key_place_eighths * 8) + o_dim[None, :], mask=m_dim, other=0.0)
        values = tl.load(p_value + o_key * (value_place_eighths * 8) + o_dim[None, :], mask=m_dim, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision=PRECISION)
        if HAS_SOFTCAP:
            # tanh(y) = 1 - 2 / (exp(2y) + 1): right at both ends.
            scores = 1.0 - 2.0 / (tl.exp2(scores * (2.0 * LOG2_E * scale / softcap)) + 1.0)
        seen = (key[None, :] <= query[:, None]) & (query[:, None] < key_end[None, :])
        if HAS_WINDOW:
            seen &= query_depth[:, None] - tl.load(p_depth + key)[None, :] < window
        scores = tl.where(seen, scores, float("-inf"))
        raised = tl.maximum(highest, tl.max(scores, 1) * factor)
        kept = tl.exp2(highest - raised)
        weights = tl.exp2(scores * factor - raised[:, None])
        total = total * kept + tl.sum(weights, 1)
        sums = tl.dot(weights.to(values.dtype), values, sums * kept[:, None], input_precision=PRECISION)
        highest = raised
    place = first_query + tl.arange(0, BLOCK_QUERIES)
    p_out += ((i_row_64 * n_places + place.to(tl.int64)) * n_heads + i_head)[:, None] * n_dim + o_dim[None, :]
    tl.store(p_out, (sums / total[:, None]).to(p_out.dtype.element_ty), mask=m_dim & (place[:, None] < n_places))


def tree_attention_triton(query: Tensor, key: Tensor, value: Tensor, layout: TreeLayout, rule: AttentionRule) -> Tensor:
    """`tree_attention` by the kernel, on a card or in Triton's interpreter; the arguments are taken as checked."""
    n_rows, n_heads, n_places, n_dim = query.shape
    query, key, value = (_aligned(each) for each in (query, key, value))
    out = torch.empty(n_rows, n_places, n_heads, n_dim, dtype=query.dtype, device=query.device)
    block_dim = next(size for size in BLOCK_DIMS if n_dim <= size)
    tiles = attention_tiles(query.dtype, block_dim, query.is_cuda and torch.version.hip is not None)
    n_blocks, most_ancestors = layout.ancestors.shape[1:]
    with torch.cuda.device_of(query):
        _tree_attention_kernel[(triton.cdiv(n_places, tiles.queries), n_rows * n_heads)](
            query,
            key,
            value,
            out,
            layout.end,
            layout.depth,
            layout.ancestors,
            *(stride // 8 for each in (query, key, value) for stride in each.stride()[:3]),
            n_places,
            n_blocks,
            most_ancestors,
            n_heads,
            n_heads // key.shape[1],
            n_dim // 8,
            float(rule.scale),
            float(rule.softcap or 1.0),
            rule.window or 0,
            HAS_SOFTCAP=rule.softcap is not None,
            HAS_WINDOW=rule.window is not None,
            PRECISION="ieee",
            BLOCK_PLACES=BLOCK_PLACES,
            BLOCK_DIM=block_dim,
            **tiles.launch_options(),
            **FUSING,
        )
    return out


def _aligned(array: Tensor) -> Tensor:
    """The array with rows that the kernel reads 16 bytes at a time; fused projections give slices that already are."""
    strides = array.stride()
    return array if strides[3] == 1 and all(stride % 8 == 0 for stride in strides[:3]) else array.contiguous()
