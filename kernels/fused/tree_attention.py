"""Attention of the places of a prefix tree to the places above them, without a mask.

Places lie in depth-first preorder: place i sees place j exactly when `j <= i < end[j]`. Cut into blocks of 64 places,
every place above one of a block lies in the block or above the block's first place. So a block of queries needs its
own 64 keys and `ancestors`, the path to its first place, whatever the number of places.

    score[i, j] = softcap * tanh(scale * (query[i] . key[j]) / softcap)       (AttentionRule; no soft-cap: scale * dot)
    out[i]      = sum over j seen of softmax(score[i])[j] * value[j]

With a window, i sees j only if also `depth[i] - depth[j] < window`. In torch: `F.scaled_dot_product_attention` of each
row under the mask of the intervals.

Shapes: query [B, H, N, D], key and value [B, K, N, D], where K divides H and head h reads key head h // (H / K) ->
[B, N, H, D] in the inputs' dtype. Scores, softmax and sums are in float32; the weights of the values are rounded to the
inputs' dtype.
"""

from __future__ import annotations

import torch
from torch import Tensor

from calprobe.kernels.arguments import FLOATS, check_axes, check_devices, require, triton_takes
from calprobe.kernels.tree_layout import BLOCK_PLACES, AttentionRule, TreeLayout

LARGEST_HEAD = 256  # values; the sums of a larger one do not fit the registers


def tree_attention_reference(
    query: Tensor, key: Tensor, value: Tensor, layout: TreeLayout, rule: AttentionRule
) -> Tensor:
    """`tree_attention` in plain torch, all blocks at once: the CPU's path.

    Nothing larger than the scores of a block's queries with its own keys and the most ancestors is held.
    """
    n_rows, n_heads, n_places, _ = query.shape
    n_blocks = layout.ancestors.shape[1]
    grouped = (key.shape[1], n_heads // key.shape[1])
    device = query.device
    places = torch.arange(n_blocks * BLOCK_PLACES, device=device).view(n_blocks, BLOCK_PLACES)
    at = places.clamp(max=n_places - 1)
    keys = torch.cat([at.expand(n_rows, -1, -1), layout.ancestors.long()], 2)  # [rows, blocks, keys]
    is_key = torch.cat([(places < n_places).expand(n_rows, -1, -1), _is_ancestor(layout)], 2)
    row = torch.arange(n_rows, device=device)[:, None, None]
    seen = (keys[:, :, None] <= at[:, :, None]) & (at[:, :, None] < layout.end[row, keys][:, :, None])
    seen &= is_key[:, :, None]
    if rule.window is not None:
        seen &= layout.depth[:, at][..., None] - layout.depth[row, keys][:, :, None] < rule.window
    # [rows, blocks, key heads, heads of a group, queries or keys, dim]
    queries = query[:, :, at].transpose(1, 2)
    queries = queries.reshape(*queries.shape[:2], *grouped, *queries.shape[3:]).float()
    gathered_keys, values = (each.transpose(1, 2)[row, keys].transpose(2, 3)[:, :, :, None] for each in (key, value))
    scores = queries @ gathered_keys.float().mT
    scores = (
        scores * rule.scale if rule.softcap is None else rule.softcap * (scores * (rule.scale / rule.softcap)).tanh()
    )
    weights = scores.masked_fill_(~seen[:, :, None, None], -torch.inf).softmax(-1)
    out = (weights.to(value.dtype).float() @ values.float()).to(query.dtype)
    return out.flatten(2, 3).transpose(2, 3).flatten(1, 2)[:, :n_places].contiguous()


def _is_ancestor(layout: TreeLayout) -> Tensor:
    """Which of `ancestors` are used, [rows, blocks, most]."""
    used = layout.depth[:, ::BLOCK_PLACES]
    return torch.arange(layout.ancestors.shape[2], device=used.device) < used[..., None]


@torch.no_grad()
def tree_attention(query: Tensor, key: Tensor, value: Tensor, layout: TreeLayout, rule: AttentionRule) -> Tensor:
    """Attention [B, N, H, D] of each place to the places above it and itself; formula and shapes above.

    The kernel on a CUDA device, the reference elsewhere. Raises ValueError for shapes, dtypes or devices that do not
    fit, and for heads of more than 256 values or of a number that 8 does not divide. Values of the layout are not
    checked. No gradients.

    >>> one = torch.zeros(1, 1, dtype=torch.int32)  # a tree of one place
    >>> layout = TreeLayout(one + 1, one, torch.zeros(1, 1, 0, dtype=torch.int32))
    >>> heads = torch.ones(1, 2, 1, 8)
    >>> tree_attention(heads, heads, 3 * heads, layout, AttentionRule(scale=0.5)).flatten(1).unique()
    tensor([3.])
    """
    _check(query, key, value, layout)
    if triton_takes(query):
        from calprobe.kernels.tree_attention_triton import tree_attention_triton

        return tree_attention_triton(query, key, value, layout, rule)
    return tree_attention_reference(query, key, value, layout, rule)


def _check(query: Tensor, key: Tensor, value: Tensor, layout: TreeLayout) -> None:
    """Raise ValueError where an argument of `tree_attention` breaks its contract."""
    check_axes(query=(query, 4), key=(key, 4), value=(value, 4))
    check_axes(end=(layout.end, 2), depth=(layout.depth, 2), ancestors=(layout.ancestors, 3))
    require(query.dtype in FLOATS, f"query must be float32, bfloat16 or float16, got {query.dtype}")
    n_rows, n_heads, n_places, n_dim = query.shape
    require(n_places > 0, "query must have at least one place, got none")
    require(n_dim % 8 == 0 and 0 < n_dim <= LARGEST_HEAD, f"heads must have 8, 16, .. 256 values, got {n_dim}")
    n_key_heads = key.shape[1]
    require(n_key_heads > 0 and n_heads % n_key_heads == 0, f"{n_key_heads} key heads do not divide {n_heads} heads")
    for name, array in (("key", key), ("value", value)):
        shape = [n_rows, n_key_heads, n_places, n_dim]
        require(list(array.shape) == shape, f"{name} must be {shape}, got {list(array.shape)}")
        require(array.dtype == query.dtype, f"{name} must have query's dtype {query.dtype}, got {array.dtype}")
    n_blocks = -(-n_places // BLOCK_PLACES)
    for name, array, shape in (
        ("end", layout.end, [n_rows, n_places]),
        ("depth", layout.depth, [n_rows, n_places]),
        ("ancestors", layout.ancestors, [n_rows, n_blocks, layout.ancestors.shape[2]]),
    ):
        require(list(array.shape) == shape, f"{name} must be {shape}, got {list(array.shape)}")
        require(array.dtype == torch.int32, f"{name} must be int32, got {array.dtype}")
        require(array.is_contiguous(), f"{name} must be contiguous, got strides {array.stride()}")
    layouts = {"end": layout.end, "depth": layout.depth, "ancestors": layout.ancestors}
    check_devices(query, "query", {"key": key, "value": value, **layouts})
