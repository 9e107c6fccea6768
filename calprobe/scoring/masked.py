"""The paths of a masked model: the pseudo-log-likelihood of a statement, one masked row a scored token.

Both forward the distinct rows of a `MaskedPlan`, rows of one length together, so that nothing is padded. The masked
path runs the head at the scored place of each row only; the plain one is the model's own forward with all its logits,
which the masked path is held against.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from calprobe.models import LoadedModel
from calprobe.models.head import ScoringHead, hidden_states_at
from calprobe.models.linears import fast_linears
from calprobe.models.split_linears import split_linears
from calprobe.planning import MaskedBatch, MaskedPlan, plan_masked
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.executor import AfterBatch, EdgeScores, score_batches, uploaded, uploaded_to_both
from calprobe.words import PllMetric


class OverMaskedRows(ABC):
    """What the masked and the plain executor share: distinct masked rows, batch by batch."""

    __slots__ = ()
    model: LoadedModel
    metric: PllMetric
    batch_tokens: int

    def plan(self, rows: TokenRows) -> MaskedPlan:
        """The distinct masked rows of `rows` in batches."""
        if self.model.special is None:
            raise ValueError(f"{self.model.name} is no masked model: it has no mask token")
        return plan_masked(rows, self.model.special, self.metric, self.batch_tokens)

    def run(self, plan: MaskedPlan, after_batch: AfterBatch = lambda done, of: None) -> EdgeScores:
        """Scores of all tokens, each masked, given the tokens of its statement that are not masked."""
        return score_batches(plan, self.score_batch, self.scores_on, after_batch)

    @property
    @abstractmethod
    def scores_on(self) -> torch.device:
        """Where the scores go."""

    @abstractmethod
    def score_batch(self, batch: MaskedBatch) -> Tensor:
        """Log-probabilities [edges of the batch] float32 of the batch's targets, row by row."""


@dataclass(frozen=True, slots=True)
class MaskedExecutor(OverMaskedRows):
    """Scores token rows of a masked model with its head at the scored places only."""

    model: LoadedModel
    head: ScoringHead
    metric: PllMetric
    batch_tokens: int

    def run(self, plan: MaskedPlan, after_batch: AfterBatch = lambda done, of: None) -> EdgeScores:
        """Scores of all tokens; layers are prepared once for all batches."""
        network = self.model.network
        with fast_linears(network), split_linears(network, self.model.precision):
            return score_batches(plan, self.score_batch, self.scores_on, after_batch)

    @property
    def scores_on(self) -> torch.device:
        """The head's device, with a device map another than the input's, unless no kernel runs there."""
        return self.head.scores_on

    @torch.inference_mode()
    def score_batch(self, batch: MaskedBatch) -> Tensor:
        """Log-probabilities of the batch's targets, [targets], by the scoring head."""
        wanted = (batch.scored, batch.targets, batch.target_offsets)
        (inputs,), (scored, targets, offsets) = uploaded_to_both(
            [batch.token_ids], self.model.device, wanted, self.head.weight.device
        )
        with hidden_states_at(self.model.network, scored) as kept:
            self.model.network(input_ids=inputs)  # of a mask of ones transformers would ask whether all are
        return self.head.logprobs(kept.hidden.squeeze(1), targets, offsets)


@dataclass(frozen=True, slots=True)
class PlainMaskedExecutor(OverMaskedRows):
    """Scores token rows of a masked model with its own forward, full logits, and a float32 log-softmax."""

    model: LoadedModel
    metric: PllMetric
    batch_tokens: int

    @property
    def scores_on(self) -> torch.device:
        """The CPU, where no kernel is needed: this path must run where none does."""
        return torch.device("cpu")

    @torch.inference_mode()
    def score_batch(self, batch: MaskedBatch) -> Tensor:
        """Log-probabilities of the batch's targets, [targets], from the model's own logits."""
        (inputs,) = uploaded([batch.token_ids], self.model.device)
        logits = self.model.network(input_ids=inputs, attention_mask=torch.ones_like(inputs)).logits
        at = logits.device
        row = np.repeat(np.arange(len(batch.scored)), np.diff(batch.target_offsets))
        scored, targets, row_of_target = uploaded((batch.scored, batch.targets, row), at)
        values = logits[torch.arange(len(logits), device=at), scored].float()  # [rows, vocab]
        chosen = values[row_of_target, targets]
        # Two roundings may meet the wrong way round where one token holds all the mass.
        logprobs: Tensor = (chosen - values.logsumexp(1)[row_of_target]).clamp_(max=0.0)
        return logprobs.cpu()
