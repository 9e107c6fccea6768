"""Attention of heads that share keys and values, which are not repeated for each head, for as long as a block lasts.

Heads of a group become further rows of queries of their one head of keys: the same sums. transformers repeats keys and
values for rows of several tokens, and before 5.23 in each step of writing: there, with Llama 3 8B's shape and 255
rows, 35 of 59 ms that an H200 worked were copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from calprobe.models.attention import AttentionNames

_NAME = "calprobe_grouped"
_OWN = "sdpa"
# What attention functions are given beside queries, keys and values, and would change what is computed.
_NOT_COMPUTED = ("softcap", "s_aux", "position_bias", "head_mask", "cache")
# Of a forward pass: by the id of a mask, that mask, which keeps its id for itself, and what was made of it. Layers with
# a window have another mask than those without; on a second device a layer may get a copy of its own.
_MASKS: ContextVar[dict[int, tuple[Tensor, Tensor]]] = ContextVar("masks")
_KEPT = 2


class GroupedAttention:
    """The attention of a network's layers, where they have such heads and transformers computes it by torch's own."""

    def __init__(self, network: nn.Module) -> None:
        from transformers import AttentionInterface

        self._names = AttentionNames(network)
        groups = [getattr(module, "num_key_value_groups", 1) for module in network.modules()]
        self.pays = max(groups) > 1 and set(self._names.own()) == {_OWN}
        if self.pays:
            AttentionInterface.register(_NAME, _attend)

    def of_a_pass(self) -> AbstractContextManager[None]:
        """A forward pass inside computes attention so; nothing changes where it does not pay."""
        return self._changed() if self.pays else nullcontext()

    @contextmanager
    def _changed(self) -> Iterator[None]:
        token = _MASKS.set({})
        try:
            with self._names.set_to(_NAME):
                yield
        finally:
            _MASKS.reset(token)


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **others: Any,
) -> tuple[Tensor, None]:
    """An attention function as transformers calls it: query [B, H, N, D] -> [B, N, H, D], and no weights."""
    rows, n_heads, n_new, dim = query.shape
    group = n_heads // key.shape[1]
    # A mask is repeated once a pass, and should be smaller than the keys and values that are not, in one layer.
    is_small = n_new == 1 or group * n_new <= 2 * (n_heads - key.shape[1]) * dim
    is_plain = not dropout and all(others.get(name) is None for name in _NOT_COMPUTED)
    if group == 1 or attention_mask is None or attention_mask.shape[1] != 1 or not is_plain or not is_small:
        return _by_transformers(module, query, key, value, attention_mask, scaling=scaling, dropout=dropout, **others)
    grouped = query.reshape(rows, key.shape[1], group * n_new, dim)
    mask = _repeated(attention_mask, group)
    out = F.scaled_dot_product_attention(grouped, key, value, attn_mask=mask, scale=scaling)
    return out.reshape(rows, n_heads, n_new, value.shape[-1]).transpose(1, 2).contiguous(), None


def _repeated(mask: Tensor, group: int) -> Tensor:
    """The mask [B, 1, N, slots] for each head of a group, [B, 1, group N, slots]; of one new token it is one row."""
    if mask.shape[2] == 1:
        return mask
    masks = _MASKS.get()
    if id(mask) not in masks:
        if len(masks) == _KEPT:
            masks.clear()
        masks[id(mask)] = mask, mask.repeat(1, 1, group, 1)
    return masks[id(mask)][1]


def _by_transformers(*args: Any, **options: Any) -> tuple[Tensor, None]:
    from transformers import AttentionInterface

    attended: tuple[Tensor, None] = AttentionInterface()[_OWN](*args, **options)
    return attended
