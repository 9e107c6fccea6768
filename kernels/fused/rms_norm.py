"""Root-mean-square norm of rows, as decoders have it before their layers and, by heads, before attention.

    y = x / sqrt(mean(x^2) + eps) * w            w = weight, or 1 + weight (`one_plus`, Gemma)

The mean and both products are in float32. `rounds_first`: x / sqrt(..) is rounded to x's dtype before it is multiplied,
as Llama's class in transformers does; else the product alone is rounded, as Gemma's and OLMo 2's do.

Shapes: x [.., W] of float32, bfloat16 or float16, weight [W] of the same dtype -> as x. A row's result depends on that
row alone, to the last bit.

The Triton kernel is in `rms_norm_triton`, which is imported with the first tensor that it takes.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from calprobe.kernels.arguments import FLOATS, check_devices, require, triton_takes


def rms_norm_reference(
    x: Tensor, weight: Tensor, eps: float, one_plus: bool = False, rounds_first: bool = False
) -> Tensor:
    """`rms_norm` in plain torch: the CPU's path."""
    wide = x.float()
    normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    if rounds_first:
        normed = normed.to(x.dtype).float()
    return (normed * (1.0 + weight.float() if one_plus else weight.float())).to(x.dtype)


@torch.no_grad()
def rms_norm(x: Tensor, weight: Tensor, eps: float, one_plus: bool = False, rounds_first: bool = False) -> Tensor:
    """The normed rows, formula above: the kernel on a CUDA device, the reference elsewhere.

    No rows give an empty result. NaN makes its row NaN; infinity becomes NaN, and the rest of its row 0. Raises
    ValueError for shapes, dtypes or devices that do not fit, and for an `eps` that is negative or no number. No
    gradients.

    >>> rms_norm(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.tensor([1.0, 2.0]), eps=1e-6)
    tensor([[0.8485, 2.2627],
            [0.0000, 0.0000]])
    """
    _check(x, weight, eps)
    if triton_takes(x):
        from calprobe.kernels.rms_norm_triton import rms_norm_triton

        return rms_norm_triton(x, weight, eps, one_plus, rounds_first)
    return rms_norm_reference(x, weight, eps, one_plus, rounds_first)


def _check(x: Tensor, weight: Tensor, eps: float) -> None:
    """Raise ValueError where an argument of `rms_norm` breaks its contract."""
    require(x.dim() > 0 and x.shape[-1] > 0, f"x must have rows of at least one value, got shape {list(x.shape)}")
    require(x.dtype in FLOATS, f"x must be float32, bfloat16 or float16, got {x.dtype}")
    width = x.shape[-1]
    require(list(weight.shape) == [width], f"weight must be [{width}] as x's rows are, got {list(weight.shape)}")
    require(weight.dtype == x.dtype, f"weight must have x's dtype {x.dtype}, got {weight.dtype}")
    require(math.isfinite(eps) and eps >= 0, f"eps must be finite and >= 0, got {eps}")
    check_devices(x, "x", {"weight": weight})
