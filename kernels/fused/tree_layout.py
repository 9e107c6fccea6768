"""What `tree_attention` is told beside queries, keys and values: who sees whom, and how products become scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

BLOCK_PLACES = 64


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """Who sees whom in a batch of prefix trees, one a row, in preorder. All tensors int32, contiguous."""

    end: Tensor  # [rows, places] one past the last place below, and > the place itself
    depth: Tensor  # [rows, places] places above
    ancestors: Tensor  # [rows, blocks, most] places above each block's first place; the first `depth` of that are used


@dataclass(frozen=True, slots=True)
class AttentionRule:
    """How dot products become scores, and how far up a place sees. Raises ValueError for a number out of range."""

    scale: float
    softcap: float | None = None
    window: int | None = None  # places of a path that are seen, the own one included; None: all

    def __post_init__(self) -> None:
        """Raise ValueError for a scale, soft-cap or window that is not a number of the allowed range."""
        for name, value in (("scale", self.scale), ("softcap", self.softcap)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be finite and > 0, got {value}")
        if self.window is not None and self.window < 1:
            raise ValueError(f"window must be at least 1, got {self.window}")
