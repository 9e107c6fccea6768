"""What every kernel's public function does first: check its arguments, and choose between kernel and reference.

Each error says argument, rule and value. Values of arrays are checked on the CPU only: on a card that would stall it.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor

FLOATS = (torch.float32, torch.bfloat16, torch.float16)
INDICES = (torch.int32, torch.int64)


def triton_takes(array: Tensor) -> bool:
    """Whether the Triton kernels are to take a call on that array's device: on a CUDA device, else the reference does.

    The environment's CALPROBE_KERNELS overrides that: `reference` for plain torch everywhere, `triton` for the kernels
    everywhere. On a CPU these need TRITON_INTERPRET=1 before Triton is imported, and are slow.
    """
    chosen = os.environ.get("CALPROBE_KERNELS")
    if chosen not in (None, "", "triton", "reference"):
        raise ValueError(f"CALPROBE_KERNELS must be triton or reference, got {chosen!r}")
    return chosen == "triton" if chosen else array.is_cuda


def require(holds: bool, message: str) -> None:
    """Raise ValueError with the message unless `holds`."""
    if not holds:
        raise ValueError(message)


def check_axes(**arrays: tuple[Tensor, int]) -> None:
    """Each array by its name with the number of axes that it must have."""
    for name, (array, n_axes) in arrays.items():
        require(array.dim() == n_axes, f"{name} must have {n_axes} axes, got shape {list(array.shape)}")


def check_offsets(offsets: Tensor, name: str, n_rows: int, rows: str, n_items: int) -> None:
    """CSR offsets [rows + 1]: from 0 to n_items, never falling."""
    require(offsets.dtype == torch.int64, f"{name} must be int64, got {offsets.dtype}")
    require(len(offsets) == n_rows + 1, f"{name} must be [{n_rows + 1}], {rows} + 1, got [{len(offsets)}]")
    if offsets.is_cuda:
        return
    first, last = int(offsets[0]), int(offsets[-1])
    require(first == 0 and last == n_items, f"{name} must go from 0 to {n_items}, got {first} to {last}")
    if n_rows:
        lowest = int(offsets.diff().min())
        require(lowest >= 0, f"{name} must not fall, got a step of {lowest}")


def check_devices(first: Tensor, name: str, others: dict[str, Tensor]) -> None:
    """Each of `others`, by its name, on the device of the array `first`, which has that name."""
    for other, array in others.items():
        require(array.device == first.device, f"{other} must be on {name}'s device {first.device}, got {array.device}")
