"""Rotary positions: pairs of a head's values are turned by the angles of their place, before attention.

    y[a] = x[a] cos[a] - x[b] sin[a]         (a, b) = (j, j + R/2), or (2j, 2j + 1) where pairs are neighbours
    y[b] = x[b] cos[b] + x[a] sin[b]         j from 0 to R/2; y[i] = x[i] from R on

Each product is rounded to x's dtype before the sum, or (`rounds_last`) the sum alone is. `RotaryRule` has the variants.
No product is fused with its sum, so that kernel and reference, and the steps in which a model writes it, give the same
bits.

Shapes: x [B, H, N, D] of float32, bfloat16 or float16; cos and sin [B or 1, N, R], R even and at most D, of x's dtype,
or of float32 with `rounds_last` -> as x.

The Triton kernel is in `rotary_triton`, which is imported with the first tensor that it takes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from calprobe.kernels.arguments import FLOATS, RotaryRule, check_axes, check_devices, require, triton_takes
from calprobe.kernels.tiles import WIDEST_NORM


def rotary_reference(x: Tensor, cos: Tensor, sin: Tensor, rule: RotaryRule) -> Tensor:
    """`rotary` in plain torch: the CPU's path."""
    n_turned = cos.shape[-1]
    products = torch.float32 if rule.rounds_last else x.dtype
    a, b = (half.to(products) for half in _pairs(x[..., :n_turned], rule.neighbours))
    cos_a, cos_b = _angles(cos, rule)
    sin_a, sin_b = _angles(sin, rule)
    turned = (a * cos_a - b * sin_a, b * cos_b + a * sin_b)
    joined = torch.stack(turned, -1).flatten(-2) if rule.neighbours else torch.cat(turned, -1)
    return torch.cat([joined.to(x.dtype), x[..., n_turned:]], -1)


def _pairs(values: Tensor, neighbours: bool) -> tuple[Tensor, Tensor]:
    if neighbours:
        return values[..., 0::2], values[..., 1::2]
    half = values.shape[-1] // 2
    return values[..., :half], values[..., half:]


def _angles(values: Tensor, rule: RotaryRule) -> tuple[Tensor, Tensor]:
    """Of the first and the second value of each pair, for every head."""
    if rule.angle_of_pair:
        return (values[:, None, :, : values.shape[-1] // 2],) * 2
    return _pairs(values[:, None], rule.neighbours)


@torch.no_grad()
def rotary(x: Tensor, cos: Tensor, sin: Tensor, rule: RotaryRule) -> Tensor:
    """The turned values, formulas above: the kernel on a CUDA device, the reference elsewhere.

    No rows give an empty result; NaN and infinity stay in their pair. Raises ValueError for shapes, dtypes or devices
    that do not fit. No gradients.

    >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]).view(1, 1, 1, 5)
    >>> quarter = torch.zeros(1, 1, 4), torch.ones(1, 1, 4)  # cos and sin
    >>> rotary(x, *quarter, RotaryRule()).flatten().tolist()
    [-3.0, -4.0, 1.0, 2.0, 5.0]
    >>> rotary(x, *quarter, RotaryRule(neighbours=True)).flatten().tolist()
    [-2.0, 1.0, -4.0, 3.0, 5.0]
    """
    _check(x, cos, sin, rule)
    if triton_takes(x):
        from calprobe.kernels.rotary_triton import rotary_triton

        return rotary_triton(x, cos, sin, rule)
    return rotary_reference(x, cos, sin, rule)


def _check(x: Tensor, cos: Tensor, sin: Tensor, rule: RotaryRule) -> None:
    """Raise ValueError where an argument of `rotary` breaks its contract."""
    check_axes(x=(x, 4), cos=(cos, 3))
    require(x.dtype in FLOATS, f"x must be float32, bfloat16 or float16, got {x.dtype}")
    n_batch, _, n_places, width = x.shape
    n_turned = cos.shape[2]
    fits = cos.shape[0] in (1, n_batch) and cos.shape[1] == n_places
    require(fits, f"cos must be [{n_batch} or 1, {n_places}, R] as x's places are, got {list(cos.shape)}")
    most = min(width, WIDEST_NORM)
    require(
        n_turned % 2 == 0 and 0 < n_turned <= most, f"cos must have 2 to {most} values, in pairs, got {list(cos.shape)}"
    )
    require(sin.shape == cos.shape, f"sin must be {list(cos.shape)} as cos is, got {list(sin.shape)}")
    allowed = (x.dtype, torch.float32) if rule.rounds_last else (x.dtype,)
    named = " or ".join(dict.fromkeys(map(str, allowed)))
    require(cos.dtype in allowed, f"cos must have the dtype {named}, got {cos.dtype}")
    require(sin.dtype == cos.dtype, f"sin must have cos's dtype {cos.dtype}, got {sin.dtype}")
    check_devices(x, "x", {"cos": cos, "sin": sin})
