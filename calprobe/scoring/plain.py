"""The plain path: padded rows through the model's own forward, full logits, float32 log-softmax.

Nothing here is clever. It is right for every causal language model that transformers can run, and the other paths are
held against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel
from calprobe.planning import PaddedPlan, plan_padded
from calprobe.statements.token_rows import TokenRows

# Logits are taken to float32 this many values at a time: 64 MiB, small beside the logits themselves.
_CHUNK_VALUES = 2**24


@dataclass(frozen=True, slots=True)
class PlainExecutor:
    """Scores token rows of a causal model, padded on the right, `batch_tokens` forwarded tokens at a time."""

    model: LoadedModel
    batch_tokens: int
    path: str = "plain"

    def score(self, rows: TokenRows) -> npt.NDArray[np.float32]:
        """Log-probability [tokens] of each token given the start token and all tokens before it."""
        plan = plan_padded(rows, self.batch_tokens)
        logprobs = np.zeros(len(rows.token_ids), np.float32)
        for index in range(plan.n_batches):
            statements = plan.batch(index)
            tokens, is_token, position = _dense(rows, statements)
            logprobs[position[is_token]] = self._score_batch(tokens, is_token)
        return logprobs[_representative_tokens(rows, plan)]

    @torch.inference_mode()
    def _score_batch(self, tokens: npt.NDArray[np.int64], is_token: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
        """Log-probabilities [tokens of the batch] of dense `tokens` [rows, width] where `is_token`."""
        targets = torch.from_numpy(tokens).to(self.model.device)
        mask = torch.from_numpy(is_token).to(self.model.device)
        inputs = torch.roll(targets, 1, dims=1)  # the last token is scored, never forwarded
        inputs[:, 0] = self.model.start_token_id
        try:
            logits = self.model.network(input_ids=inputs, attention_mask=mask.long(), use_cache=False).logits
            return target_logprobs(logits, targets, mask).cpu().numpy()
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise CalprobeError(
                f"out of memory on {self.model.device} with batches of {self.batch_tokens} tokens\n"
                f"start over with smaller ones: --no-resume --batch-tokens {max(1, self.batch_tokens // 2)}"
            ) from error


def target_logprobs(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """`log_softmax(logits.float(), -1)` at the targets: [rows, width, vocab], [rows, width] -> [tokens where mask].

    Always in float32, whatever the dtype of the logits: bfloat16 has steps of 0.125 at -22.
    """
    flat, wanted = logits.flatten(0, 1), mask.flatten().nonzero().squeeze(1)
    chunks = []
    for places in torch.split(wanted, max(1, _CHUNK_VALUES // flat.shape[1])):
        values = flat[places].float()
        chosen = values.gather(1, targets.flatten()[places, None]).squeeze(1)
        chunks.append(chosen - values.logsumexp(1))
    return torch.cat(chunks)


def _dense(
    rows: TokenRows, statements: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """The statements as a right-padded matrix [rows, width]: token ids, which are real, and their places in `rows`."""
    lengths = rows.lengths[statements, None]
    column = np.arange(lengths.max())
    is_token = column < lengths
    position = rows.offsets[statements, None] + np.minimum(column, lengths - 1)  # padding repeats the last token
    return rows.token_ids[position].astype(np.int64), is_token, position


def _representative_tokens(rows: TokenRows, plan: PaddedPlan) -> npt.NDArray[np.int64]:
    """For every token [tokens] the place where its statement's distinct row was scored."""
    shift = rows.offsets[plan.rows[plan.row_of]] - rows.offsets[:-1]
    return np.arange(len(rows.token_ids)) + np.repeat(shift, rows.lengths)
