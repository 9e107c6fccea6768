"""What a model does to the dot products of its head before the softmax, as data that a kernel can take."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor


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
        if not math.isfinite(self.scale):
            raise ValueError(f"scale must be finite, got {self.scale}")
        if self.softcap is not None and not (math.isfinite(self.softcap) and self.softcap > 0):
            raise ValueError(f"softcap must be finite and > 0, or None for no cap, got {self.softcap}")

    def apply_(self, dots: Tensor, bias: Tensor | None) -> Tensor:
        """Turn float32 dot products into logits in place; `bias` is this rule's, cut to the last axis of `dots`."""
        if bias is not None:
            dots.add_(bias)
        if self.softcap is not None:
            return dots.mul_(self.scale / self.softcap).tanh_().mul_(self.softcap)
        return dots if self.scale == 1.0 else dots.mul_(self.scale)
