"""The tree path: prefixes that statements share are forwarded once, packed side by side under a tree mask.

Exact: every node sees its own ancestors only and has its depth as its position, as it would in its statement alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from calprobe.kernels import linear_logprob
from calprobe.models import LoadedModel
from calprobe.models.head import Keeper, ScoringHead, hidden_states
from calprobe.planning import TreeBatch, TreePlan, WidenedPlan, plan_tree
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.executor import AfterBatch, EdgeScores, score_batches, uploaded_to_both

# Places in a row: long enough to share much, short enough that attention over masked places stays cheap, which is
# less on a CPU.
CPU_ROW_LENGTH, GPU_ROW_LENGTH = 160, 512


@dataclass(frozen=True, slots=True)
class TreeExecutor:
    """Scores token rows of a causal model over their prefix tree, `batch_tokens` forwarded places at a time."""

    model: LoadedModel
    head: ScoringHead
    batch_tokens: int
    row_length: int

    def plan(self, rows: TokenRows) -> TreePlan:
        """The prefix tree of `rows`, packed into batches."""
        return plan_tree(rows, self.model.start_token_id, self.batch_tokens, self.row_length)

    def run(self, plan: TreePlan | WidenedPlan, after_batch: AfterBatch = lambda done, of: None) -> EdgeScores:
        """Scores of all tokens, each given the start token and all tokens before it."""
        with hidden_states(self.model.network) as kept:
            return score_batches(plan, partial(self._score_batch, kept), self.head.weight.device, after_batch)

    @torch.inference_mode()
    def _score_batch(self, kept: Keeper, batch: TreeBatch) -> Tensor:
        arrays = (batch.token_ids, batch.position_ids, batch.end)
        wanted = (batch.scored, batch.targets, batch.target_offsets)
        # With a device map the head may be elsewhere.
        (token_ids, position_ids, end), (scored, targets, target_offsets) = uploaded_to_both(
            arrays, self.model.device, wanted, self.head.weight.device
        )
        deepest = int(batch.position_ids.max())
        self.model.network(
            input_ids=token_ids,
            position_ids=position_ids,
            attention_mask=attention_masks(self.model.network, position_ids, end, deepest),
            use_cache=False,
        )
        hidden = kept.taken().flatten(0, 1)[scored]
        logprobs: Tensor = linear_logprob(
            hidden, self.head.weight, targets, target_offsets, self.head.rule, self.head.precision
        )[1]
        return logprobs


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
