"""What every way of running a model has in common: token rows in, log-probabilities of distinct edges out.

Scores stay on the device that computed them, so that forward passes queue up behind one another: on a card, fetching
the scores of one batch would hold the launch of the next one back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from calprobe.models.torch_settings import exact_torch
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


class Batches(Protocol):
    """A plan's batches, and the edge of each scored token."""

    @property
    def n_batches(self) -> int:
        """Number of forward passes."""

    @property
    def edge_of_token(self) -> npt.NDArray[np.int32]:
        """[scored tokens]"""

    def batch(self, index: int) -> Any:
        """The forward pass `index`."""


def score_batches(
    plan: Batches, score_batch: Callable[[Any], Tensor], device: torch.device, after_batch: AfterBatch
) -> EdgeScores:
    """Scores of the planned rows on `device`; `score_batch` gives those of a batch's edges, there or elsewhere."""
    (edge_of_token,) = uploaded([plan.edge_of_token], device)
    logprobs = []
    with exact_torch():
        for index in range(plan.n_batches):
            logprobs.append(score_batch(plan.batch(index)))
            after_batch(index + 1, plan.n_batches)
    return EdgeScores(torch.cat(logprobs).to(device) if logprobs else torch.empty(0, device=device), edge_of_token)


Arrays = Sequence[npt.NDArray[Any]]


def uploaded(arrays: Arrays, device: torch.device) -> list[Tensor]:
    """The arrays on that device; on a CPU they share the arrays' memory.

    To a card they are copied at once, from one pinned buffer and in the card's own queue: the host waits for nothing.
    """
    if device.type != "cuda":
        return [torch.from_numpy(array).to(device) for array in arrays]
    return unpacked(packed(arrays, pinned=True).to(device, non_blocking=True), arrays)


def uploaded_to_both(
    first: Arrays, device: torch.device, second: Arrays, other: torch.device
) -> tuple[list[Tensor], list[Tensor]]:
    """Arrays for two devices, which are one unless a device map spreads the model: then there is one copy for all."""
    if device != other:
        return uploaded(first, device), uploaded(second, other)
    both = uploaded([*first, *second], device)
    return both[: len(first)], both[len(first) :]


_ALIGNED = 64  # bytes: a multiple of each element's size, and what the vector loads of kernels want


def packed(arrays: Arrays, pinned: bool) -> Tensor:
    """The arrays one behind another in a buffer of bytes, in pinned memory or not."""
    places = _places(arrays)
    buffer = torch.empty(places[-1], dtype=torch.uint8, pin_memory=pinned)
    written = buffer.numpy()
    for array, begin in zip(arrays, places, strict=False):
        written[begin : begin + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return buffer


def unpacked(buffer: Tensor, arrays: Arrays) -> list[Tensor]:
    """Views of the packed buffer in the types and shapes of the arrays."""
    found = []
    for array, begin in zip(arrays, _places(arrays), strict=False):
        dtype = torch.from_numpy(np.empty(0, array.dtype)).dtype
        found.append(buffer[begin : begin + array.nbytes].view(dtype).view(array.shape))
    return found


def _places(arrays: Arrays) -> list[int]:
    """Where each array begins in the buffer, in bytes, and where the last one ends."""
    sizes = [-(-array.nbytes // _ALIGNED) * _ALIGNED for array in arrays]
    return [0, *accumulate(sizes)]
