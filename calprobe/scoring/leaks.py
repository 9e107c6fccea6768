"""Whether scores of a packed row depend on other tokens than their own path's: no tolerance is needed for rounding.

A row holds many statements. One path of it, from the start token to a scored place, keeps its tokens, and every other
place gets another token. An exact path gives the same scores once more, in the same shapes and so by the same kernels,
whatever the dtype. Layers that pass over the mask (recurrences, convolutions, a kernel that reads a wrong key) do not.

The comparison with the model's own forward cannot tell these from the rounding of bfloat16: three hybrids of four that
leak by 0.07 to 0.4 nats lie within its tolerance. Models with experts are the exception, in short dtypes: tokens of
others may change which kernel multiplies theirs, so that only a large leak is told; that they have no layers which pass
over the mask is told by their configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from calprobe.planning import TreeBatch
from calprobe.scoring.executor import Batches
from calprobe.scoring.tree import TreeExecutor

# Nats. The same shapes give the same bits, but for products whose operands lie elsewhere in memory.
MOST = 1e-5
# Experts get other shapes where other tokens choose other experts, and so, on a card, other kernels: rounding.
MOST_OF_EXPERTS: Mapping[torch.dtype, float] = {torch.float32: 1e-3, torch.float16: 0.1, torch.bfloat16: 0.8}
_COUNTS_OF_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def leak(executor: TreeExecutor, plan: Batches, scores: npt.NDArray[np.float32] | None = None) -> float:
    """Largest change of a score, in nats, >= 0, when tokens change that it must not depend on; NaN if one is NaN.

    `executor` scores the tree `plan` three times: as it is (`scores` [edges], if that was done before), with the path
    to the first scored place of each row kept, and with that to the last one, so that what follows a statement and what
    precedes it are both changed.
    """
    if scores is None:
        scores = executor.run(plan).logprobs.cpu().numpy()
    changes = [0.0]
    for end_of_path in (0, -1):
        changed = _Changed(plan, end_of_path)
        again = executor.run(changed).logprobs.cpu().numpy()
        kept = changed.edges()
        changes.append(float(np.abs(again[kept].astype(np.float64) - scores[kept]).max(initial=0.0)))
    return float(np.max(changes))


def why_leaking(executor: TreeExecutor, plan: Batches, scores: npt.NDArray[np.float32] | None = None) -> str | None:
    """What a leak is said to be; None if there is none. Arguments as of `leak`."""
    nats = leak(executor, plan, scores)
    if nats <= most_of(executor.model.network):  # false for NaN
        return None
    return f"its token scores change by {nats:.2g} nats with the tokens of other statements in the row"


def most_of(network: Any) -> float:
    """The largest change, in nats, that is none: `MOST`, and `MOST_OF_EXPERTS` of a model with experts."""
    return MOST_OF_EXPERTS.get(network.dtype, MOST) if has_experts(network) else MOST


def has_experts(network: Any) -> bool:
    """Whether tokens choose among experts, so that what others choose changes shapes."""
    config = network.config.get_text_config()
    if getattr(config, "is_moe", True) is False:
        return False
    counts = [
        getattr(of, name, None) for of in (config, getattr(config, "ffn_config", None)) for name in _COUNTS_OF_EXPERTS
    ]
    return any(isinstance(count, int) and count > 1 for count in counts)


@dataclass(slots=True)
class _Changed:
    """A plan in whose rows all tokens but those of one path are others."""

    plan: Batches
    end_of_path: int  # which of a row's scored places the path leads to
    _kept: dict[int, npt.NDArray[np.int64]] = field(default_factory=dict)  # by batch

    @property
    def n_batches(self) -> int:
        return self.plan.n_batches

    @property
    def edge_of_token(self) -> npt.NDArray[np.int32]:
        return self.plan.edge_of_token

    def batch(self, index: int) -> TreeBatch:
        batch: TreeBatch = self.plan.batch(index)
        on_path = _paths(batch, self.end_of_path)
        # Tokens of the batch, each replaced by another of them: no model has to take a token that is none of text.
        others = np.unique(batch.token_ids)
        shift = np.random.default_rng(index).integers(1, max(2, len(others)), batch.token_ids.shape)
        changed = others[(np.searchsorted(others, batch.token_ids) + shift) % len(others)]
        is_kept = np.repeat(on_path.ravel()[batch.scored], np.diff(batch.target_offsets))
        self._kept[index] = np.arange(batch.edges.start, batch.edges.stop)[is_kept]
        return replace(batch, token_ids=np.where(on_path, batch.token_ids, changed))

    def edges(self) -> npt.NDArray[np.int64]:
        """The plan's edges that are scored on a path that was kept, once all batches have been made."""
        return np.concatenate([np.empty(0, np.int64), *self._kept.values()])


def _paths(batch: TreeBatch, end_of_path: int) -> npt.NDArray[np.bool_]:
    """[rows, width] the places on the path to a scored place of each row; all of a row that has none."""
    width = batch.token_ids.shape[1]
    row_of, column_of = np.divmod(batch.scored, width)
    place = np.arange(width)
    on_path = np.ones(batch.token_ids.shape, np.bool_)
    for row in np.unique(row_of).tolist():
        last = column_of[row_of == row][end_of_path]
        on_path[row] = (place <= last) & (last < batch.end[row])
    return on_path
