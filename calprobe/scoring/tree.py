"""The tree paths: prefixes that statements share are forwarded once, packed side by side.

On the path `tree` attention has a tree mask, and rows are short. On the path `flat` a batch is a single row without a
mask: its attention reads who sees whom from the preorder. Exact: every node sees its own ancestors only and has its
depth as its position, as it would in its statement alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from calprobe.kernels.tree_layout import BLOCK_PLACES, TreeLayout
from calprobe.models import LoadedModel
from calprobe.models.flat_attention import FlatAttention
from calprobe.models.fused_layers import fused_layers
from calprobe.models.head import Keeper, ScoringHead, hidden_states
from calprobe.models.split_linears import split_linears
from calprobe.planning import TreeBatch, TreePlan, block_ancestors, plan_tree
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.executor import AfterBatch, Batches, EdgeScores, score_batches, uploaded_to_both

# Places in a row: long enough to share much, short enough that attention over masked places stays cheap, which is
# less on a CPU.
CPU_ROW_LENGTH, GPU_ROW_LENGTH = 160, 512
# A deeper tree is for rows with a mask: in flat attention each block gathers the path to it.
DEEPEST_FLAT = 256


@dataclass(frozen=True, slots=True)
class TreeExecutor:
    """Scores token rows of a causal model over their prefix tree, `batch_tokens` forwarded places at a time."""

    model: LoadedModel
    head: ScoringHead
    batch_tokens: int
    row_length: int
    flat: bool = False

    def plan(self, rows: TokenRows) -> TreePlan:
        """The prefix tree of `rows`, packed into batches."""
        return plan_tree(rows, self.model.start_token_id, self.batch_tokens, self.width(rows))

    def width(self, rows: TokenRows) -> int:
        """Places in a full row: all of a batch where attention is flat."""
        is_flat = self.flat and are_shallow(rows).all()
        return self.batch_tokens if is_flat else self.row_length

    def run(self, plan: Batches, after_batch: AfterBatch = lambda done, of: None) -> EdgeScores:
        """Scores of all tokens, each given the start token and all tokens before it."""
        network = self.model.network
        attention = FlatAttention(network) if self.flat else None
        with (
            hidden_states(network) as kept,
            split_linears(network, self.model.precision),
            fused_layers(network, self.model.fused),
        ):
            score = partial(self._score_batch, kept, attention)
            return score_batches(plan, score, self.head.scores_on, after_batch)

    @torch.inference_mode()
    def _score_batch(self, kept: Keeper, attention: FlatAttention | None, batch: TreeBatch) -> Tensor:
        network, deepest = self.model.network, int(batch.position_ids.max())
        is_flat = attention is not None and deepest < DEEPEST_FLAT
        above = block_ancestors(batch.position_ids, BLOCK_PLACES) if is_flat else _NO_ANCESTORS
        arrays = (batch.token_ids, batch.position_ids, batch.end, above)
        wanted = (batch.scored, batch.targets, batch.target_offsets)
        # With a device map the head may be elsewhere.
        (token_ids, position_ids, end, ancestors), (scored, targets, target_offsets) = uploaded_to_both(
            arrays, self.model.device, wanted, self.head.weight.device
        )
        given = {"input_ids": token_ids, "position_ids": position_ids, "use_cache": False}
        if attention is not None and is_flat:
            with attention.over(TreeLayout(end.int(), position_ids.int(), ancestors), deepest):
                network(**given)
        else:
            network(**given, attention_mask=attention_masks(network, position_ids, end, deepest))
        hidden = kept.taken().flatten(0, 1)[scored]
        return self.head.logprobs(hidden, targets, target_offsets)


def are_shallow(rows: TokenRows) -> npt.NDArray[np.bool_]:
    """Which statements flat attention takes, [statements]."""
    return rows.lengths <= DEEPEST_FLAT


_NO_ANCESTORS = np.empty(0, np.int32)


def attention_masks(network: Any, position_ids: Tensor, end: Tensor, deepest: int) -> Tensor | dict[str, Tensor]:
    """The tree mask as the model's layers want it: 0 where place i sees place j, the dtype's lowest value elsewhere.

    It is added to the scores; a boolean mask would be silently wrong in eager attention. Layers with a sliding window
    shorter than the deepest path see only so far up; a model with both kinds of layers takes a mask for each by name.

    Args:
        network: tells dtype and windows.
        position_ids: depth of each place, [rows, width].
        end: one past the last place below each, [rows, width].
        deepest: the largest depth; taken from the device, it would have to be waited for.
    Returns:
        [rows, 1, width, width], or a dict of two such masks.
    """
    place = torch.arange(end.shape[1], device=end.device)
    seen = (place[None, :] <= place[:, None]) & (place[:, None] < end[:, None, :])
    config = network.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    if window is None or deepest < window:
        return _additive(seen, network.dtype)
    near = seen & (position_ids[:, :, None] - position_ids[:, None, :] < window)
    if len(set(getattr(config, "layer_types", None) or ())) < 2:
        return _additive(near, network.dtype)
    return {
        "full_attention": _additive(seen, network.dtype),
        "sliding_attention": _additive(near, network.dtype),
    }


def _additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]
