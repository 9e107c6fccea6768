"""What kernels and references take and return, the checks of their arguments, and the choice between the two.

Each error says argument, rule and value. Values of arrays are checked on the CPU only: on a card that would stall it.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from calprobe.kernels.tiles import CDNA, OLDEST_CAPABILITY

FLOATS = (torch.float32, torch.bfloat16, torch.float16)
INDICES = (torch.int32, torch.int64)
Gate = Literal["silu", "gelu_tanh"]  # of a gated unit
ANSWER = 2  # the value of calprobe.statements.Role.ANSWER; kernels import nothing of calprobe


@dataclass(frozen=True, slots=True)
class LogitRule:
    """logit = softcap * tanh(scale * (dot + bias) / softcap); without a soft-cap, scale * (dot + bias).

    Gemma 2 soft-caps at 30; Cohere multiplies by `logit_scale`, Granite divides by `logits_scaling`; GPT-J, Phi and
    the BERT family have a bias.
    """

    bias: Tensor | None = None  # [vocab], any floating dtype
    scale: float = 1.0
    softcap: float | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a scale or soft-cap that is not a number of the allowed range."""
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"scale must be finite and > 0, got {self.scale}")
        if self.softcap is not None and not (math.isfinite(self.softcap) and self.softcap > 0):
            raise ValueError(f"softcap must be finite and > 0, or None for no cap, got {self.softcap}")

    def apply_(self, dots: Tensor, bias: Tensor | None) -> Tensor:
        """Turn float32 dot products into logits in place; `bias` is this rule's, cut to the last axis of `dots`."""
        if bias is not None:
            dots.add_(bias)
        if self.softcap is not None:
            return dots.mul_(self.scale / self.softcap).tanh_().mul_(self.softcap)
        return dots if self.scale == 1.0 else dots.mul_(self.scale)


@dataclass(frozen=True, slots=True)
class RotaryRule:
    """How a model turns its heads: Llama's way, unless one of these holds."""

    neighbours: bool = False  # pairs are side by side (Cohere, GLM), not half a head apart
    angle_of_pair: bool = False  # value j of the angles is that of pair j (GLM); else each value has its own
    rounds_last: bool = False  # the products are float32, and their sum is rounded (Cohere, OLMo)


class StatementScores(NamedTuple):
    """What `gather_reduce` returns; every tensor is [statements]."""

    sum: Tensor  # float64, nats; 0 over no tokens
    sum_answer: Tensor  # float64, nats; 0 over no answer tokens
    n_tokens: Tensor  # int32
    n_answer: Tensor  # int32
    first: Tensor  # float64, nats; NaN where a statement has no token
    first_role: Tensor  # int8; -1 where a statement has no token


def triton_takes(array: Tensor) -> bool:
    """Whether the Triton kernels are to take a call on that array's device: on a CUDA device, else the reference does.

    NVIDIA's cards older than compute capability 8.0 and AMD's but CDNA also take the reference (`compiles_for`).
    The environment's CALPROBE_KERNELS overrides that: `reference` for plain torch everywhere, `triton` for the kernels
    everywhere. On a CPU these need TRITON_INTERPRET=1 before Triton is imported, and are slow.
    """
    chosen = os.environ.get("CALPROBE_KERNELS")
    if chosen not in (None, "", "triton", "reference"):
        raise ValueError(f"CALPROBE_KERNELS must be triton or reference, got {chosen!r}")
    if chosen == "triton" and find_spec("triton") is None:
        raise ValueError("CALPROBE_KERNELS=triton needs Triton: pip install triton (on Linux), or unset it")
    if chosen:
        return chosen == "triton"
    return array.is_cuda and compiles_for(array.device)


def compiles_for(device: torch.device) -> bool:
    """Whether Triton compiles the kernels for that card with matrix units and without spills."""
    if torch.version.hip:
        return bool(torch.cuda.get_device_properties(device).gcnArchName.startswith(CDNA))
    return torch.cuda.get_device_capability(device)[0] >= OLDEST_CAPABILITY


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


def rows_of_targets(target_offsets: Tensor, n_targets: int) -> Tensor:
    """Row [M] int64 that each target belongs to; naming the size spares a GPU the wait for it."""
    rows = torch.arange(len(target_offsets) - 1, device=target_offsets.device)
    return rows.repeat_interleave(target_offsets.diff(), output_size=n_targets)
