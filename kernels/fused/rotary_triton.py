"""The kernel of `rotary` and its launcher; its module has formulas, shapes and reference."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from calprobe.kernels.arguments import RotaryRule
from calprobe.kernels.tiles import WIDEST_NORM, row_tiles


@triton.jit
def _product(x, angle, ROUNDS_LAST: tl.constexpr, DTYPE: tl.constexpr):
    product = x * angle
    return product if ROUNDS_LAST else product.to(DTYPE).to(tl.float32)


# Neighbours are loaded and stored together, 16 bytes at a time, and taken apart in registers.
@triton.jit
def _load_pairs(p_rows, m_row, o_pair, NEIGHBOURS: tl.constexpr, PAIRS: tl.constexpr):
    if NEIGHBOURS:
        o_value = tl.arange(0, 2 * o_pair.shape[1])[None, :]
        values = tl.load(p_rows + o_value, mask=m_row & (o_value < 2 * PAIRS), other=0.0).to(tl.float32)
        a, b = tl.split(tl.reshape(values, (m_row.shape[0], o_pair.shape[1], 2)))
    else:
        mask = m_row & (o_pair < PAIRS)
        a = tl.load(p_rows + o_pair, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(p_rows + PAIRS + o_pair, mask=mask, other=0.0).to(tl.float32)
    return a, b


@triton.jit
def _store_pairs(p_rows, a, b, m_row, o_pair, NEIGHBOURS: tl.constexpr, PAIRS: tl.constexpr):
    if NEIGHBOURS:
        o_value = tl.arange(0, 2 * o_pair.shape[1])[None, :]
        tl.store(p_rows + o_value, tl.interleave(a, b), mask=m_row & (o_value < 2 * PAIRS))
    else:
        mask = m_row & (o_pair < PAIRS)
        tl.store(p_rows + o_pair, a, mask=mask)
        tl.store(p_rows + PAIRS + o_pair, b, mask=mask)


# A program takes heads of one place, or of a few: these lie side by side in memory, and share their angles.
@triton.jit(do_not_specialize=["n_rows", "n_places"])
def _rotary_kernel(
    p_x,  # [B, H, N, D], by strides; the values of a head side by side
    p_cos,  # [B or 1, N, R]
    p_sin,  # [B or 1, N, R]
    p_out,  # [B, H, N, D], written
    n_rows,  # B N H
    n_places,
    x_batch,
    x_head,
    x_place,
    out_batch,
    out_head,
    out_place,
    cos_batch,  # 0: one for all
    NEIGHBOURS: tl.constexpr,
    ANGLE_OF_PAIR: tl.constexpr,
    ROUNDS_LAST: tl.constexpr,
    N_HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    TURNED: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_PAIRS: tl.constexpr,
    BLOCK_REST: tl.constexpr,
):
    DTYPE: tl.constexpr = p_out.dtype.element_ty
    PAIRS: tl.constexpr = TURNED // 2
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    m_row = (row < n_rows)[:, None]
    head, token = row % N_HEADS, row // N_HEADS
    place, batch = (token % n_places).to(tl.int64), (token // n_places).to(tl.int64)
    p_x += (batch * x_batch + head * x_head + place * x_place)[:, None]
    p_out += (batch * out_batch + head * out_head + place * out_place)[:, None]
    o_angle = (batch * cos_batch + place * TURNED)[:, None]

    o_pair = tl.arange(0, BLOCK_PAIRS)[None, :]
    a, b = _load_pairs(p_x, m_row, o_pair, NEIGHBOURS, PAIRS)
    if ANGLE_OF_PAIR:
        mask = m_row & (o_pair < PAIRS)
        cos_a = tl.load(p_cos + o_angle + o_pair, mask=mask, other=0.0).to(tl.float32)
        sin_a = tl.load(p_sin + o_angle + o_pair, mask=mask, other=0.0).to(tl.float32)
        cos_b, sin_b = cos_a, sin_a
    else:
        cos_a, cos_b = _load_pairs(p_cos + o_angle, m_row, o_pair, NEIGHBOURS, PAIRS)
        sin_a, sin_b = _load_pairs(p_sin + o_angle, m_row, o_pair, NEIGHBOURS, PAIRS)
    y_a = _product(a, cos_a, ROUNDS_LAST, DTYPE) - _product(b, sin_a, ROUNDS_LAST, DTYPE)
    y_b = _product(b, cos_b, ROUNDS_LAST, DTYPE) + _product(a, sin_b, ROUNDS_LAST, DTYPE)
    _store_pairs(p_out, y_a.to(DTYPE), y_b.to(DTYPE), m_row, o_pair, NEIGHBOURS, PAIRS)

    if WIDTH > TURNED:
        o_rest = TURNED + tl.arange(0, BLOCK_REST)[None, :]
        m_rest = m_row & (o_rest < WIDTH)
        tl.store(p_out + o_rest, tl.load(p_x + o_rest, mask=m_rest, other=0.0), mask=m_rest)


def rotary_triton(x: Tensor, cos: Tensor, sin: Tensor, rule: RotaryRule) -> Tensor:
    """`rotary` by the kernel, on a card or in Triton's interpreter; the arguments are taken as checked."""
    x = x if x.stride(-1) == 1 else x.contiguous()
    cos, sin = cos.contiguous(), sin.contiguous()
    out = torch.empty_like(x)  # with x's strides (heads before places, or behind) if x has no gaps
    if x.numel():
        sizes = rotary_sizes(x.shape[1], x.shape[3], cos.shape[2])
        n_rows = x.numel() // x.shape[3]
        with torch.cuda.device_of(x):
            _rotary_kernel[(triton.cdiv(n_rows, sizes["BLOCK_ROWS"]),)](
                x,
                cos,
                sin,
                out,
                n_rows,
                x.shape[2],
                *x.stride()[:3],
                *out.stride()[:3],
                cos.stride(0) if len(cos) > 1 else 0,
                NEIGHBOURS=rule.neighbours,
                ANGLE_OF_PAIR=rule.angle_of_pair,
                ROUNDS_LAST=rule.rounds_last,
                **sizes,
                enable_fp_fusion=False,  # a fused product is not rounded: other bits than the model's own
            )
    return out


def rotary_sizes(n_heads: int, width: int, turned: int) -> dict[str, int]:
    """Sizes and blocks of a launch under the names of the kernel, and its warps; they depend on the model alone."""
    tiles = row_tiles(turned, WIDEST_NORM)
    return {
        "N_HEADS": n_heads,
        "WIDTH": width,
        "TURNED": turned,
        "BLOCK_ROWS": tiles.rows,
        "BLOCK_PAIRS": tiles.width // 2,
        "BLOCK_REST": triton.next_power_of_2(max(1, width - turned)),
        "num_warps": tiles.warps,
    }
