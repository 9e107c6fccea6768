"""A network's attention over a prefix tree in preorder, in place of its own, for as long as a block lasts.

transformers' layers look their attention function up by a name in the config, at each call. Inside the block that name
is one whose function is `calprobe.kernels.tree_attention`; transformers builds no mask for names that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from calprobe.kernels import tree_attention
from calprobe.kernels.tree_layout import AttentionRule, TreeLayout
from calprobe.models.attention import AttentionNames

_NAME = "calprobe_tree"
# What attention functions are given beside queries, keys and values, and would change what is computed.
_NOT_COMPUTED = ("s_aux", "position_bias", "head_mask")


class AttentionUnusable(Exception):
    """The network's attention is not what `tree_attention` computes; the message says why."""


class FlatAttention:
    """The attention of a network's layers, as long as `over` lasts; the network is then its thread's alone."""

    def __init__(self, network: nn.Module) -> None:
        from transformers import AttentionInterface

        AttentionInterface.register(_NAME, _attend)
        self._names = AttentionNames(network)

    @contextmanager
    def over(self, layout: TreeLayout, deepest: int) -> Iterator[None]:
        """Let the layers attend over the tree; `deepest` is its largest depth.

        Raises AttentionUnusable if the network's forward pass did not call for attention by name.
        """
        batch = _Batch(deepest, {layout.end.device: layout})
        token = _BATCH.set(batch)
        try:
            with self._names.set_to(_NAME):
                yield
        finally:
            _BATCH.reset(token)
        if not batch.calls:
            raise AttentionUnusable("its layers do not look their attention up by name")


@dataclass(slots=True)
class _Batch:
    """What the layers of the running forward pass attend over."""

    deepest: int
    layouts: dict[torch.device, TreeLayout]
    calls: int = field(default=0)

    def on(self, device: torch.device) -> TreeLayout:
        """The layout on a layer's device; with a device map, layers are on several."""
        if device not in self.layouts:
            (first, *_) = self.layouts.values()
            end, depth, ancestors = (each.to(device) for each in (first.end, first.depth, first.ancestors))
            self.layouts[device] = replace(first, end=end, depth=depth, ancestors=ancestors)
        return self.layouts[device]


_BATCH: ContextVar[_Batch] = ContextVar("batch")


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    sliding_window: int | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """An attention function as transformers calls it: query [B, H, N, D] -> [B, N, H, D], and no weights."""
    batch = _BATCH.get()
    batch.calls += 1
    if attention_mask is not None:
        raise AttentionUnusable("its attention has a mask or bias of its own")
    for name in _NOT_COMPUTED:
        if others.get(name) is not None:
            raise AttentionUnusable(f"its attention has {name}")
    _refuse_unnamed_window(module, sliding_window, batch.deepest)
    window = sliding_window if sliding_window is not None and sliding_window <= batch.deepest else None
    rule = AttentionRule(query.shape[-1] ** -0.5 if scaling is None else scaling, softcap, window)
    return tree_attention(query, key, value, batch.on(query.device), rule), None


def _refuse_unnamed_window(module: Any, given: int | None, deepest: int) -> None:
    """Raise AttentionUnusable if the layer sees only so far up by a mask that it expects, and the tree is deeper."""
    config = getattr(module, "config", None)
    window = getattr(config, "sliding_window", None) or getattr(config, "attention_chunk_size", None)
    if given is not None or window is None or deepest < window:
        return
    types, index = getattr(config, "layer_types", None), getattr(module, "layer_idx", None)
    if types is None or index is None or types[index] != "full_attention":
        raise AttentionUnusable("its layers do not say how far up they see")
