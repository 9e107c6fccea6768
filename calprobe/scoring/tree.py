"""The tree path: prefixes that statements share are forwarded once, packed side by side under a tree mask.

Exact: every node sees its own ancestors only and has its depth as its position, as it would in its statement alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from calprobe.kernels import linear_logprob
from calprobe.models import LoadedModel
from calprobe.models.head import ScoringHead, hidden_states
from calprobe.planning import TreeBatch, TreePlan, plan_tree
from calprobe.scoring.executor import score_batches
from calprobe.statements.token_rows import TokenRows

# Places in a row: long enough to share much, short enough that attention over masked places stays cheap. On two CPU
# cores 160 is 5 to 10 % faster than 256 (SmolLM2-135M, P30 and P36).
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

    def run(self, plan: TreePlan) -> npt.NDArray[np.float32]:
        """Log-probability [scored tokens] of each given the start token and all tokens before it."""
        return score_batches(plan, self._score_batch)

    @torch.inference_mode()
    def _score_batch(self, batch: TreeBatch) -> npt.NDArray[np.float32]:
        device = self.model.device
        position_ids = torch.from_numpy(batch.position_ids).to(device)
        with hidden_states(self.model.network) as kept:
            self.model.network(
                input_ids=torch.from_numpy(batch.token_ids).to(device),
                position_ids=position_ids,
                attention_mask=attention_masks(
                    self.model.network, position_ids, torch.from_numpy(batch.end).to(device)
                ),
                use_cache=False,
            )
        hidden, at = kept.hidden, kept.hidden.device  # the head's, with a device map another than the input's
        _, logprobs = linear_logprob(
            hidden.flatten(0, 1)[torch.from_numpy(batch.scored).to(at)],
            self.head.weight,
            torch.from_numpy(batch.targets).to(at),
            torch.from_numpy(batch.target_offsets).to(at),
            self.head.rule,
        )
        scores: npt.NDArray[np.float32] = logprobs.cpu().numpy()
        return scores


def attention_masks(network: Any, position_ids: Tensor, end: Tensor) -> Tensor | dict[str, Tensor]:
    """The tree mask as the model's layers want it: 0 where place i sees place j, the dtype's lowest value elsewhere.

    It is added to the scores; a boolean mask would be silently wrong in eager attention. Layers with a sliding window
    shorter than the deepest path see only so far up; a model with both kinds of layers takes a mask for each by name.

    Args:
        network: tells dtype and windows.
        position_ids: depth of each place, [rows, width].
        end: one past the last place below each, [rows, width].
    Returns:
        [rows, 1, width, width], or a dict of two such masks.
    """
    place = torch.arange(end.shape[1], device=end.device)
    seen = (place[None, :] <= place[:, None]) & (place[:, None] < end[:, None, :])
    config = network.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    if window is None or int(position_ids.max()) < window:
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
