"""A batch of statements as a right-padded matrix, as the padded and the plain path forward it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from calprobe.models import LoadedModel
from calprobe.planning import PaddedPlan
from calprobe.statements.token_rows import TokenRows


@dataclass(frozen=True, slots=True)
class PaddedRows:
    """Statements side by side, each as long as the longest; arrays are [rows, width]."""

    tokens: npt.NDArray[np.int64]  # ids to be scored; padding repeats the statement's last
    is_token: npt.NDArray[np.bool_]  # False at padding
    position: npt.NDArray[np.int64]  # where each token stands in the token rows

    @classmethod
    def of(cls, rows: TokenRows, statements: npt.NDArray[np.int64]) -> PaddedRows:
        """The given statements of `rows`."""
        lengths = rows.lengths[statements, None]
        column = np.arange(lengths.max())
        position = rows.offsets[statements, None] + np.minimum(column, lengths - 1)
        return cls(rows.token_ids[position].astype(np.int64), column < lengths, position)

    def to_device(self, model: LoadedModel) -> tuple[Tensor, Tensor, Tensor]:
        """What is forwarded, what is scored there, and where it is real, on the model's device.

        Inputs are the scored tokens one place later, behind the start token: the last is scored, never forwarded.
        """
        targets = torch.from_numpy(self.tokens).to(model.device)
        inputs = torch.roll(targets, 1, dims=1)
        inputs[:, 0] = model.start_token_id
        return inputs, targets, torch.from_numpy(self.is_token).to(model.device)


@dataclass(frozen=True, slots=True)
class PlannedRows:
    """Token rows with their plan of padded batches."""

    rows: TokenRows
    plan: PaddedPlan

    def scored_by(self, score_batch: Callable[[PaddedRows], npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        """Scores [tokens] of all statements; `score_batch` gives those of a batch's real tokens, row by row."""
        logprobs = np.zeros(len(self.rows.token_ids), np.float32)
        for index in range(self.plan.n_batches):
            batch = PaddedRows.of(self.rows, self.plan.batch(index))
            logprobs[batch.position[batch.is_token]] = score_batch(batch)
        return logprobs[self._scored_place()]

    def _scored_place(self) -> npt.NDArray[np.int64]:
        """For every token [tokens] the place where the distinct row that stands for its statement was scored."""
        rows, plan = self.rows, self.plan
        shift = rows.offsets[plan.rows[plan.row_of]] - rows.offsets[:-1]
        return np.arange(len(rows.token_ids)) + np.repeat(shift, rows.lengths)
