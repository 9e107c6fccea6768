"""What every way of running a model has in common: token rows in, log-probabilities of distinct edges out.

Scores stay on the device that computed them, so that forward passes queue up behind one another: on a card, fetching
the scores of one batch would hold the launch of the next one back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from calprobe.planning import MaskedPlan, TreePlan
from calprobe.planning.token_rows import TokenRows


class EdgeScores(NamedTuple):
    """Scores of a plan's edges, the distinct pairs of a state and a token, and the edge of each scored token."""

    logprobs: Tensor  # [edges] float32, nats, <= 0
    edge_of_token: Tensor  # [scored tokens] int32, on the same device

    def of_tokens(self) -> Tensor:
        """Log-probability [scored tokens] float32 of each token."""
        return self.logprobs.index_select(0, self.edge_of_token)


AfterBatch = Callable[[int, int], None]  # (batches started, all batches)


class Executor(Protocol):
    """Scores token rows with one model along one path. Paths differ in speed, never in what they compute."""

    @property
    def batch_tokens(self) -> int:
        """Tokens in one forward pass, at most; a statement that is longer by itself goes alone."""

    def plan(self, rows: TokenRows) -> Any:
        """What to run for `rows`, for `run` of the same executor. Touches no device, so it can be done ahead."""

    def run(self, plan: Any, after_batch: AfterBatch = lambda done, of: None) -> EdgeScores:
        """Natural-log probability of every scored token of the planned rows, in the rows' order.

        `after_batch` is called with the number of batches that were started, and the number of all.

        The scores lie on the device of the model's head; those of the plain path on the CPU, so that it needs no
        kernel. The result for a statement depends neither on the order of the rows nor on duplicates among them.
        """


def with_budget(executor: Executor, batch_tokens: int) -> Executor:
    """The same executor with other batches; each is a frozen dataclass."""
    return cast(Executor, replace(cast(Any, executor), batch_tokens=batch_tokens))


def score_rows(executor: Executor, rows: TokenRows) -> npt.NDArray[np.float32]:
    """Plan and run: log-probability [scored tokens] of every scored token of `rows`."""
    scores: npt.NDArray[np.float32] = executor.run(executor.plan(rows)).of_tokens().cpu().numpy()
    return scores


def score_batches(
    plan: TreePlan | MaskedPlan, score_batch: Callable[[Any], Tensor], device: torch.device, after_batch: AfterBatch
) -> EdgeScores:
    """Scores of the planned rows on `device`; `score_batch` gives those of a batch's edges there."""
    edge_of_token = on_device(plan.edge_of_token, device)
    logprobs = []
    for index in range(plan.n_batches):
        logprobs.append(score_batch(plan.batch(index)))
        after_batch(index + 1, plan.n_batches)
    return EdgeScores(joined(logprobs, device), edge_of_token)


def joined(logprobs: Sequence[Tensor], device: torch.device) -> Tensor:
    """The edge scores of all batches, which lie on `device`, in order; none of no batches."""
    return torch.cat(list(logprobs)) if logprobs else torch.empty(0, device=device)


def on_device(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """The array on that device; on a CPU it shares the array's memory.

    To a card it is copied from pinned memory, in the card's own queue: the host waits for nothing.
    """
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
