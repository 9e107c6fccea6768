"""The gated unit of a decoder's feed-forward layer, between its products.

    y = act(gate) * up         act(g) = g / (1 + exp(-g))                                       (silu)
                               act(g) = g / (1 + exp(-2 u)), u = sqrt(2 / pi) (g + 0.044715 g^3)  (gelu_tanh)

The second is 0.5 g (1 + tanh(u)), without its cancellation at the lower end. In torch: `F.silu(gate) * up`,
`F.gelu(gate, approximate="tanh") * up`. Computed in float32; act is rounded to gate's dtype before the product, and
the product after it, as torch rounds the two.

Shapes: gate and up [.., W] of float32, bfloat16 or float16 -> as gate. Each value depends on two others alone.

The Triton kernel is in `gated_unit_triton`, which is imported with the first tensor that it takes.
"""

from __future__ import annotations

from typing import get_args

import torch
from torch import Tensor
from torch.nn import functional as F

from calprobe.kernels.arguments import FLOATS, Gate, check_devices, require, triton_takes


def gated_unit_reference(gate: Tensor, up: Tensor, activation: Gate) -> Tensor:
    """`gated_unit` in plain torch: the CPU's path."""
    wide = gate.float()
    act = F.silu(wide) if activation == "silu" else F.gelu(wide, approximate="tanh")
    return (act.to(gate.dtype).float() * up.float()).to(gate.dtype)


@torch.no_grad()
def gated_unit(gate: Tensor, up: Tensor, activation: Gate) -> Tensor:
    """The gated values, formulas above: the kernel on a CUDA device, the reference elsewhere.

    `gate` and `up` may be the halves of one array. No rows give an empty result; NaN stays at its place, and negative
    infinity as a gate gives NaN. Raises ValueError for shapes, dtypes or devices that do not fit, and for an activation
    that is none of the two. No gradients.

    >>> gated_unit(torch.tensor([0.0, 1.0, -1.0]), torch.tensor([5.0, 2.0, 2.0]), "silu")
    tensor([ 0.0000,  1.4621, -0.5379])
    """
    _check(gate, up, activation)
    if triton_takes(gate):
        from calprobe.kernels.gated_unit_triton import gated_unit_triton

        return gated_unit_triton(gate, up, activation)
    return gated_unit_reference(gate, up, activation)


def _check(gate: Tensor, up: Tensor, activation: Gate) -> None:
    """Raise ValueError where an argument of `gated_unit` breaks its contract."""
    shape = list(gate.shape)
    require(gate.dim() > 0 and shape[-1] > 0, f"gate must have rows of at least one value, got shape {shape}")
    require(gate.dtype in FLOATS, f"gate must be float32, bfloat16 or float16, got {gate.dtype}")
    require(list(up.shape) == shape, f"up must be {shape} as gate is, got {list(up.shape)}")
    require(up.dtype == gate.dtype, f"up must have gate's dtype {gate.dtype}, got {up.dtype}")
    require(activation in get_args(Gate), f"activation must be silu or gelu_tanh, got {activation!r}")
    check_devices(gate, "gate", {"up": up})
