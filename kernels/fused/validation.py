"""What the kernels' public functions accept, checked once; each error says argument, rule and value."""

from __future__ import annotations

import torch
from torch import Tensor

from calprobe.kernels.logit_rule import LogitRule

FLOATS = (torch.float32, torch.bfloat16, torch.float16)
INDICES = (torch.int32, torch.int64)
LONGEST_STRIDE = 2**23  # elements between rows: the kernels count inside a block of 256 rows in 32 bits


def check_linear_logprob(
    hidden: Tensor, weight: Tensor, targets: Tensor, target_offsets: Tensor, rule: LogitRule
) -> None:
    """Raise ValueError where an argument of `linear_logprob` breaks its contract."""
    _check_axes(hidden=(hidden, 2), weight=(weight, 2), targets=(targets, 1), target_offsets=(target_offsets, 1))
    _require(hidden.dtype in FLOATS, f"hidden must be float32, bfloat16 or float16, got {hidden.dtype}")
    _require(weight.dtype == hidden.dtype, f"weight must have hidden's dtype {hidden.dtype}, got {weight.dtype}")
    _require(targets.dtype in INDICES, f"targets must be int32 or int64, got {targets.dtype}")
    n_dim = hidden.shape[1]
    _require(n_dim > 0 and n_dim % 8 == 0, f"hidden's last axis must be a multiple of 8, got {n_dim}")
    _require(weight.shape[1] == n_dim, f"weight must be [vocab, {n_dim}] as hidden is, got {list(weight.shape)}")
    _require(len(weight) > 0, "weight must have at least one row, got none")
    _require(weight.stride(1) == 1, f"weight's last axis must be contiguous, got strides {weight.stride()}")
    _require(weight.stride(0) % 8 == 0, f"weight's rows must be a multiple of 8 apart, got {weight.stride(0)}")
    stride = max(hidden.stride(0), weight.stride(0))
    _require(stride < LONGEST_STRIDE, f"rows of hidden and weight must be less than 2**23 apart, got {stride}")
    _check_offsets(target_offsets, "target_offsets", len(hidden), "hidden's rows", len(targets))
    others = {"weight": weight, "targets": targets, "target_offsets": target_offsets}
    if rule.bias is not None:
        others["bias"] = rule.bias
        shape = list(rule.bias.shape)
        _require(shape == [len(weight)], f"bias must be [{len(weight)}], one a row of weight, got {shape}")
        _require(rule.bias.is_contiguous(), f"bias must be contiguous, got strides {rule.bias.stride()}")
    _check_devices(hidden, "hidden", others)
    if not targets.is_cuda and len(targets):
        low, high = int(targets.min()), int(targets.max())
        _require(low >= 0 and high < len(weight), f"targets must lie in [0, {len(weight)}), got {low} to {high}")


def check_segment_reduce(logprobs: Tensor, roles: Tensor, offsets: Tensor) -> None:
    """Raise ValueError where an argument of `segment_reduce` breaks its contract."""
    _check_axes(logprobs=(logprobs, 1), roles=(roles, 1), offsets=(offsets, 1))
    _require(logprobs.dtype.is_floating_point, f"logprobs must be floating, got {logprobs.dtype}")
    _require(roles.dtype == torch.int8, f"roles must be int8, got {roles.dtype}")
    _require(len(roles) == len(logprobs), f"roles must be [{len(logprobs)}] as logprobs is, got [{len(roles)}]")
    _check_offsets(offsets, "offsets", max(len(offsets) - 1, 0), "statements", len(logprobs))
    _check_devices(logprobs, "logprobs", {"roles": roles, "offsets": offsets})


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _check_axes(**arrays: tuple[Tensor, int]) -> None:
    for name, (array, n_axes) in arrays.items():
        _require(array.dim() == n_axes, f"{name} must have {n_axes} axes, got shape {list(array.shape)}")


def _check_offsets(offsets: Tensor, name: str, n_rows: int, rows: str, n_items: int) -> None:
    """CSR offsets [rows + 1]: from 0 to n_items, never falling. Their values are looked at on the CPU only."""
    _require(offsets.dtype == torch.int64, f"{name} must be int64, got {offsets.dtype}")
    _require(len(offsets) == n_rows + 1, f"{name} must be [{n_rows + 1}], {rows} + 1, got [{len(offsets)}]")
    if offsets.is_cuda:
        return
    first, last = int(offsets[0]), int(offsets[-1])
    _require(first == 0 and last == n_items, f"{name} must go from 0 to {n_items}, got {first} to {last}")
    if n_rows:
        lowest = int(offsets.diff().min())
        _require(lowest >= 0, f"{name} must not fall, got a step of {lowest}")


def _check_devices(first: Tensor, name: str, others: dict[str, Tensor]) -> None:
    for other, array in others.items():
        _require(array.device == first.device, f"{other} must be on {name}'s device {first.device}, got {array.device}")
