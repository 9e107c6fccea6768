"""The padded path: padded rows through the model without its head, the head at scored tokens only.

For architectures that take no tree mask (ALiBi, state-space models).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from calprobe.kernels import linear_logprob
from calprobe.models import LoadedModel
from calprobe.models.head import ScoringHead, hidden_states
from calprobe.scoring.padded_rows import OverPaddedRows, PaddedRows


@dataclass(frozen=True, slots=True)
class PaddedExecutor(OverPaddedRows):
    """Scores token rows of a causal model, padded on the right, `batch_tokens` forwarded tokens at a time."""

    model: LoadedModel
    head: ScoringHead
    batch_tokens: int

    @torch.inference_mode()
    def score_batch(self, batch: PaddedRows) -> npt.NDArray[np.float32]:
        inputs, targets, is_token, is_scored = batch.to_device(self.model)
        with hidden_states(self.model.network) as kept:
            self.model.network(input_ids=inputs, attention_mask=is_token.long(), use_cache=False)
        at = kept.hidden.device  # the head's
        hidden, wanted = kept.hidden[is_scored.to(at)], targets[is_scored].to(at)
        one_target_each = torch.arange(len(hidden) + 1, device=at)
        _, logprobs = linear_logprob(hidden, self.head.weight, wanted, one_target_each, self.head.rule)
        scores: npt.NDArray[np.float32] = logprobs.cpu().numpy()
        return scores
