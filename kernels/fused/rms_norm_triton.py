"""The kernel of `rms_norm` and its launcher; its module has formula, shapes and reference."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from calprobe.kernels.tiles import FUSING, WIDEST_NORM, row_tiles

_ALIGNMENT = 16  # bytes: for other addresses Triton compiles other code, which sums in another order


@triton.jit
def _weighted(
    x, scale, p_weight, o_width, m_width, ONE_PLUS: tl.constexpr, ROUNDS_FIRST: tl.constexpr, DTYPE: tl.constexpr
):
    weight = tl.load(p_weight + o_width, mask=m_width, other=0.0).to(tl.float32)
    normed = x * scale
    if ROUNDS_FIRST:
        normed = normed.to(DTYPE).to(tl.float32)
    if ONE_PLUS:
        weight += 1.0
    return (normed * weight[None, :]).to(DTYPE)


# WIDTH is a constant: a model has two or three, and rows of a known width are loaded 16 bytes at a time.
@triton.jit(do_not_specialize=["n_rows"])
def _rms_norm_kernel(
    p_x,  # [N, W]
    p_weight,  # [W]
    p_out,  # [N, W], written
    n_rows,
    eps,
    ONE_PLUS: tl.constexpr,
    ROUNDS_FIRST: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_WIDTH: tl.constexpr,
):
    DTYPE: tl.constexpr = p_out.dtype.element_ty
    row = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    m_row = row[:, None] < n_rows
    o_width = tl.arange(0, BLOCK_WIDTH)
    m_width = o_width < WIDTH
    p_x += row[:, None] * WIDTH
    p_out += row[:, None] * WIDTH
    # The first part of a row, mostly all of it, stays in registers; what is behind it is read again.
    x = tl.load(p_x + o_width[None, :], mask=m_row & m_width[None, :], other=0.0).to(tl.float32)
    squares = x * x
    for start in range(BLOCK_WIDTH, WIDTH, BLOCK_WIDTH):
        o_part = start + o_width
        part = tl.load(p_x + o_part[None, :], mask=m_row & (o_part < WIDTH)[None, :], other=0.0).to(tl.float32)
        squares += part * part
    scale = tl.div_rn(1.0, tl.sqrt_rn(tl.sum(squares, 1) / WIDTH + eps))[:, None]
    y = _weighted(x, scale, p_weight, o_width, m_width, ONE_PLUS, ROUNDS_FIRST, DTYPE)
    tl.store(p_out + o_width[None, :], y, mask=m_row & m_width[None, :])
    for start in range(BLOCK_WIDTH, WIDTH, BLOCK_WIDTH):
        o_part = start + o_width
        m_part = o_part < WIDTH
        part = tl.load(p_x + o_part[None, :], mask=m_row & m_part[None, :], other=0.0).to(tl.float32)
        y = _weighted(part, scale, p_weight, o_part, m_part, ONE_PLUS, ROUNDS_FIRST, DTYPE)
        tl.store(p_out + o_part[None, :], y, mask=m_row & m_part[None, :])


def rms_norm_triton(
    x: Tensor, weight: Tensor, eps: float, one_plus: bool = False, rounds_first: bool = False
) -> Tensor:
    """`rms_norm` by the kernel, on a card or in Triton's interpreter; the arguments are taken as checked."""
    x, weight = _aligned(x), _aligned(weight)
    out = torch.empty_like(x)  # with x's strides (heads before places, or behind) if x has no gaps
    if x.stride(-1) != 1 or out.stride() != x.stride():
        x = x.contiguous()
        out = torch.empty_like(x)
    width = x.shape[-1]
    n_rows = x.numel() // width
    tiles = row_tiles(width, WIDEST_NORM)
    if n_rows:
        with torch.cuda.device_of(x):
            _rms_norm_kernel[(triton.cdiv(n_rows, tiles.rows),)](
                x,
                weight,
                out,
                n_rows,
                float(eps),
                ONE_PLUS=one_plus,
                ROUNDS_FIRST=rounds_first,
                WIDTH=width,
                **tiles.launch_options(),
                **FUSING,
            )
    return out


def _aligned(array: Tensor) -> Tensor:
    return array.clone() if array.data_ptr() % _ALIGNMENT else array
