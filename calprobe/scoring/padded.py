"""The paths over padded rows of a causal model: each distinct statement is a row, padded on the right.

The padded path runs the head at scored tokens only; it serves architectures that take no tree mask (ALiBi, state-space
models). The plain path is the model's own forward with full logits and a float32 log-softmax. It is right for every
causal language model that transformers can run, and the other paths are checked against it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from calprobe.models import LoadedModel
from calprobe.models.fused_layers import fused_layers
from calprobe.models.head import Keeper, ScoringHead, hidden_states
from calprobe.models.split_linears import split_linears
from calprobe.planning import PaddedPlan, plan_padded
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.executor import AfterBatch, EdgeScores, score_batches, uploaded, uploaded_to_both

# The plain path takes logits to float32 this many values at a time: 16 MiB, small beside the logits themselves.
_CHUNK_VALUES = 2**22


@dataclass(frozen=True, slots=True)
class PaddedBatch:
    """Statements side by side, each as long as the longest."""

    inputs: npt.NDArray[np.int64]  # [rows, width] the start token, then all tokens of the statement but its last
    is_token: npt.NDArray[np.int64]  # [rows, width] 0 at padding, else 1
    places: npt.NDArray[np.int64]  # [edges of the batch] where a token is scored, as row * width + column, ascending
    targets: npt.NDArray[np.int64]  # [edges of the batch] the tokens that are scored there

    @classmethod
    def of(cls, rows: TokenRows, statements: npt.NDArray[np.int64], start_token_id: int) -> PaddedBatch:
        """The given statements of `rows`."""
        lengths = rows.lengths[statements, None]
        column = np.arange(lengths.max())
        # Padding repeats the statement's last token.
        tokens = rows.token_ids[rows.offsets[statements, None] + np.minimum(column, lengths - 1)].astype(np.int64)
        inputs = np.roll(tokens, 1, axis=1)
        inputs[:, 0] = start_token_id
        is_token = column < lengths
        begins = 0 if rows.contexts is None else rows.contexts.lengths[statements, None]
        places = np.flatnonzero(is_token & (column >= begins))
        return cls(inputs, is_token.astype(np.int64), places, tokens.ravel()[places])


@dataclass(frozen=True, slots=True)
class PlannedRows:
    """Token rows with their plan of padded batches; edges are the scored tokens of the distinct rows, row by row."""

    rows: TokenRows
    plan: PaddedPlan
    edge_of_token: npt.NDArray[np.int32]  # [scored tokens]
    start_token_id: int

    @property
    def n_batches(self) -> int:
        """Number of forward passes."""
        return self.plan.n_batches

    def batch(self, index: int) -> PaddedBatch:
        """The forward pass `index`, in the shapes that a model takes."""
        return PaddedBatch.of(self.rows, self.plan.batch(index), self.start_token_id)

    @classmethod
    def of(cls, rows: TokenRows, plan: PaddedPlan, start_token_id: int) -> PlannedRows:
        """`rows` with that plan of theirs."""
        n_scored = rows.scored.lengths
        first_edge = offsets_before(n_scored[plan.rows])  # of each distinct row
        shift = first_edge[plan.row_of] - offsets_before(n_scored)
        edge_of_token = np.arange(n_scored.sum()) + np.repeat(shift, n_scored)
        return cls(rows, plan, edge_of_token.astype(np.int32), start_token_id)


def offsets_before(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How much lies before each of several stretches, [stretches]."""
    before: npt.NDArray[np.int64] = np.cumsum(lengths) - lengths
    return before


class OverPaddedRows(ABC):
    """What the padded and the plain executor share: distinct statements, padded on the right, batch by batch."""

    __slots__ = ()
    model: LoadedModel
    batch_tokens: int

    def plan(self, rows: TokenRows) -> PlannedRows:
        """The distinct statements of `rows` in batches."""
        return PlannedRows.of(rows, plan_padded(rows, self.batch_tokens), self.model.start_token_id)

    @abstractmethod
    def run(self, plan: PlannedRows, after_batch: AfterBatch = lambda done, of: None) -> EdgeScores:
        """Scores of all tokens, each given the start token and all tokens before it."""


@dataclass(frozen=True, slots=True)
class PaddedExecutor(OverPaddedRows):
    """Scores token rows of a causal model with its head at the scored tokens only."""

    model: LoadedModel
    head: ScoringHead
    batch_tokens: int

    def run(self, plan: PlannedRows, after_batch: AfterBatch = lambda done, of: None) -> EdgeScores:
        """Scores of all tokens, by the scoring head and on its device."""
        network = self.model.network
        with (
            hidden_states(network) as kept,
            split_linears(network, self.model.precision),
            fused_layers(network, self.model.fused),
        ):
            return score_batches(plan, partial(self._score_batch, kept), self.head.scores_on, after_batch)

    @torch.inference_mode()
    def _score_batch(self, kept: Keeper, batch: PaddedBatch) -> Tensor:
        at = self.head.weight.device  # with a device map another than the input's
        (inputs, is_token), (places, targets) = uploaded_to_both(
            (batch.inputs, batch.is_token), self.model.device, (batch.places, batch.targets), at
        )
        # Without a mask transformers would look for packed sequences, and wait for the device just as with one.
        self.model.network(input_ids=inputs, attention_mask=is_token, use_cache=False)
        hidden = kept.taken().flatten(0, 1)[places]
        one_target_each = torch.arange(len(places) + 1, device=at)
        return self.head.logprobs(hidden, targets, one_target_each)


@dataclass(frozen=True, slots=True)
class PlainExecutor(OverPaddedRows):
    """Scores token rows of a causal model with its own forward, full logits, and a float32 log-softmax."""

    model: LoadedModel
    batch_tokens: int

    def run(self, plan: PlannedRows, after_batch: AfterBatch = lambda done, of: None) -> EdgeScores:
        """Scores of all tokens, on the CPU, where no kernel is needed: this path must run where none does."""
        return score_batches(plan, self._score_batch, torch.device("cpu"), after_batch)

    @torch.inference_mode()
    def _score_batch(self, batch: PaddedBatch) -> Tensor:
        arrays = (batch.inputs, batch.is_token, batch.places, batch.targets)
        inputs, is_token, places, targets = uploaded(arrays, self.model.device)
        logits = self.model.network(input_ids=inputs, attention_mask=is_token, use_cache=False).logits
        at = logits.device
        return target_logprobs(logits.flatten(0, 1), places.to(at), targets.to(at)).cpu()


def target_logprobs(logits: Tensor, places: Tensor, targets: Tensor) -> Tensor:
    """`log_softmax(logits.float(), -1)[places, targets]`: [places, vocab], [targets], [targets] -> [targets].

    Always in float32, whatever the dtype of the logits: bfloat16 has steps of 0.125 at -22.
    """
    at_once = max(1, _CHUNK_VALUES // logits.shape[1])
    chunks = []
    for rows, wanted in zip(torch.split(places, at_once), torch.split(targets, at_once), strict=True):
        values = logits[rows].float()
        chosen = values.gather(1, wanted[:, None]).squeeze(1)
        # Two roundings may meet the wrong way round where one token holds all the mass.
        chunks.append((chosen - values.logsumexp(1)).clamp_(max=0.0))
    return torch.cat(chunks)
