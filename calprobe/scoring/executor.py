"""What every way of running a model has in common: token rows in, token log-probabilities out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from calprobe.planning import MaskedPlan, TreePlan
from calprobe.statements.token_rows import TokenRows


class Executor(Protocol):
    """Scores token rows with one model along one path. Paths differ in speed, never in what they compute."""

    @property
    def batch_tokens(self) -> int:
        """Tokens in one forward pass, at most; a statement that is longer by itself goes alone."""

    def plan(self, rows: TokenRows) -> Any:
        """What to run for `rows`, for `run` of the same executor. Touches no device, so it can be done ahead."""

    def run(self, plan: Any) -> npt.NDArray[np.float32]:
        """Natural-log probability of every scored token of the planned rows, [scored tokens], <= 0, in the rows' order.

        The result for a statement depends neither on the order of the rows nor on duplicates among them.
        """


def with_budget(executor: Executor, batch_tokens: int) -> Executor:
    """The same executor with other batches; each is a frozen dataclass."""
    return cast(Executor, replace(cast(Any, executor), batch_tokens=batch_tokens))


def score_rows(executor: Executor, rows: TokenRows) -> npt.NDArray[np.float32]:
    """Plan and run: log-probability [scored tokens] of every scored token of `rows`."""
    return executor.run(executor.plan(rows))


def score_batches(
    plan: TreePlan | MaskedPlan, score_batch: Callable[[Any], npt.NDArray[np.float32]]
) -> npt.NDArray[np.float32]:
    """Log-probability [scored tokens] of each of the planned rows; `score_batch` gives those of a batch's edges."""
    edge_logprobs = np.zeros(plan.n_edges, np.float32)
    for index in range(plan.n_batches):
        batch = plan.batch(index)
        edge_logprobs[batch.edges] = score_batch(batch)
    return edge_logprobs[plan.edge_of_token]
