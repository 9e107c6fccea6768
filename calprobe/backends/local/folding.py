"""Attention of query heads on keys and values that they share, without the copies that transformers makes of these.

In grouped-query attention g query heads share a head of keys and values. With a mask, transformers repeats keys and
values g times for each pass. Here the queries of a group stand behind each other, as g times as many places.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

_NAME = "calprobe_folded"
_BEYOND = ("softcap", "position_bias", "cache", "s_aux")  # arguments that change more than a mask does


def folded_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """As transformers' `sdpa`; one mask for all heads is needed, else it is left to that.

    Args:
        module: the attention layer.
        query: [rows, heads, places, dim].
        key: [rows, heads / g, slots, dim].
        value: as `key`.
        attention_mask: [rows, 1, places, slots], added to the products.
        dropout: as transformers hands it over, as are the others.
        scaling: of the products.
    Returns:
        [rows, places, heads, dim], and no weights.
    """
    groups = query.shape[1] // key.shape[1]
    is_plain = not dropout and all(kwargs.get(name) is None for name in _BEYOND)
    if groups == 1 or attention_mask is None or attention_mask.shape[1] != 1 or not is_plain:
        found: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
        return found
    rows, heads, places, dim = query.shape
    folded = query.reshape(rows, key.shape[1], groups * places, dim)
    mask = attention_mask.repeat(1, 1, groups, 1)
    out = F.scaled_dot_product_attention(folded, key, value, attn_mask=mask, scale=scaling)
    return out.reshape(rows, heads, places, value.shape[3]).transpose(1, 2).contiguous(), None


def folds(network: Any) -> bool:
    """Whether the network's heads share keys and values, in layers that look attention up by its name."""
    config = network.config.get_text_config()
    heads, shared = config.num_attention_heads, getattr(config, "num_key_value_heads", None)
    return shared not in (None, heads) and config._attn_implementation == "sdpa"


@contextmanager
def folded_heads(network: Any) -> Iterator[None]:
    """In the block the network's attention is `folded_attention`."""
    ALL_ATTENTION_FUNCTIONS.register(_NAME, folded_attention)
    config = network.config.get_text_config()
    before = config._attn_implementation
    config._attn_implementation = _NAME
    try:
        yield
    finally:
        config._attn_implementation = before
