"""The kernel of `gated_unit` and its launcher; its module has formulas, shapes and reference."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from calprobe.kernels.arguments import Gate
from calprobe.kernels.tiles import FUSING, WIDEST_GATE, row_tiles


# WIDTH and STRIDE are constants: a model has one or two, and rows of a known width are loaded 16 bytes at a time.
@triton.jit(do_not_specialize=["n_rows"])
def _gated_unit_kernel(
    p_gate,  # [N, W], rows STRIDE apart
    p_up,  # [N, W], rows STRIDE apart
    p_out,  # [N, W], written
    n_rows,
    IS_GELU: tl.constexpr,
    WIDTH: tl.constexpr,
    STRIDE: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_WIDTH: tl.constexpr,
):
    TWICE_ROOT_2_BY_PI: tl.constexpr = 1.5957691216057308
    N_PARTS: tl.constexpr = (WIDTH + BLOCK_WIDTH - 1) // BLOCK_WIDTH
    # One axis for both: others of a grid hold 65,535 programs.
    row = (tl.program_id(0) // N_PARTS).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    o_width = (tl.program_id(0) % N_PARTS) * BLOCK_WIDTH + tl.arange(0, BLOCK_WIDTH)
    mask = (row < n_rows)[:, None] & (o_width < WIDTH)[None, :]
    offsets = row[:, None] * STRIDE + o_width[None, :]
    gate = tl.load(p_gate + offsets, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(p_up + offsets, mask=mask, other=0.0).to(tl.float32)
    bent = TWICE_ROOT_2_BY_PI * (gate + 0.044715 * gate * gate * gate) if IS_GELU else gate
    act = gate / (1.0 + tl.exp(-bent))
    act = act.to(p_out.dtype.element_ty).to(tl.float32)
    tl.store(p_out + row[:, None] * WIDTH + o_width[None, :], (act * up).to(p_out.dtype.element_ty), mask=mask)


def gated_unit_triton(gate: Tensor, up: Tensor, activation: Gate) -> Tensor:
    """`gated_unit` by the kernel, on a card or in Triton's interpreter; the arguments are taken as checked."""
    width = gate.shape[-1]
    gates, ups = gate.reshape(-1, width), up.reshape(-1, width)  # views, also of the halves of one array
    if gates.stride(1) != 1 or gates.stride() != ups.stride():
        gates, ups = gates.contiguous(), ups.contiguous()
    n_rows = len(gates)
    out = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    tiles = row_tiles(width, WIDEST_GATE)
    if n_rows:
        with torch.cuda.device_of(gate):
            _gated_unit_kernel[(triton.cdiv(n_rows, tiles.rows) * triton.cdiv(width, tiles.width),)](
                gates,
                ups,
                out,
                n_rows,
                IS_GELU=activation == "gelu_tanh",
                WIDTH=width,
                STRIDE=gates.stride(0),
                **tiles.launch_options(),
                **FUSING,
            )
    return out
