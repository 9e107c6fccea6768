"""The batch budget that a card's memory holds, found by two forward passes of the path that will run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch

from calprobe.models import LoadedModel
from calprobe.models.memory import free_bytes, is_out_of_memory
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.budget import PassSize, auto_batch_tokens, budget_that_fits, vocabulary_size
from calprobe.scoring.executor import Executor, score_rows, with_budget
from calprobe.scoring.memory import free_after
from calprobe.scoring.options import Path
from calprobe.scoring.tree import CPU_ROW_LENGTH, GPU_ROW_LENGTH

log = logging.getLogger(__name__)

_ROWS = 4  # in the larger pass; the smaller has one
_LEAST_WIDTH, _MOST_MASKED_WIDTH = 16, 128  # a masked statement has as many rows as tokens: 128 give 16,640 places


class DeviceMemory(Protocol):
    """The memory of one device, as a pass is measured on it."""

    def free(self) -> int:
        """Bytes that can still be allocated."""

    def peak_of(self, run: Callable[[], object]) -> int:
        """Call `run`; bytes that were allocated at its fullest, beyond what was allocated before."""


class CudaMemory:
    """A card's memory, by what torch's allocator counts."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def free(self) -> int:
        """Bytes that the driver has left, and those that torch holds and does not use."""
        return free_bytes(self._device)

    def peak_of(self, run: Callable[[], object]) -> int:
        """Call `run`; bytes that torch had allocated at its fullest, beyond what it had before."""
        torch.cuda.synchronize(self._device)
        torch.cuda.reset_peak_memory_stats(self._device)
        before = torch.cuda.memory_allocated(self._device)
        run()
        torch.cuda.synchronize(self._device)
        return int(torch.cuda.max_memory_allocated(self._device) - before)


def memories_of(model: LoadedModel) -> list[CudaMemory]:
    """The cards that the model lies on, one or, with a device map, several; none for a model on a CPU."""
    cards = {parameter.device for parameter in model.network.parameters() if parameter.device.type == "cuda"}
    return [CudaMemory(device) for device in sorted(cards, key=str)]


def row_width(model: LoadedModel, path: Path, longest: int) -> int:
    """Places in the widest usual row of a run: a power of two that holds the longest statement, or the tree's rows."""
    width = max(_LEAST_WIDTH, 1 << max(0, longest - 1).bit_length())
    if path == "tree":
        width = max(width, CPU_ROW_LENGTH if model.device.type == "cpu" else GPU_ROW_LENGTH)
    return min(width, _MOST_MASKED_WIDTH) if model.kind == "masked" else width


def measured_budget(
    model: LoadedModel, path: Path, executor: Executor, width: int, memories: Sequence[DeviceMemory]
) -> int:
    """The budget whose batches fit on every card: what rows of that width take, measured on one and on four of them.

    Where not even these fit, the budget is `auto_batch_tokens`, and batches become smaller as the run goes.
    """
    rows, n_places = _made_up(model, width)
    small, large = n_places // _ROWS, n_places
    budgets = []
    try:
        score_rows(with_budget(executor, small), rows)  # compiles kernels, sets up libraries
        for memory in memories:
            one, four = (_size(model, memory, with_budget(executor, size), rows) for size in (small, large))
            if one.n_tokens == four.n_tokens:
                one = PassSize(0, 0)
            budgets.append(budget_that_fits(one, four, free := memory.free()))
            log.debug("%s: %s, %s, %d bytes free: %d tokens", model.name, one, four, free, budgets[-1])
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        free_after(error)
        return auto_batch_tokens(model, path)
    return min(budgets)


def _size(model: LoadedModel, memory: DeviceMemory, executor: Executor, rows: TokenRows) -> PassSize:
    """The largest pass that scores the rows, by the places that really went through the network."""
    n_places = 0

    def count(network: torch.nn.Module, args: tuple[object, ...], given: dict[str, torch.Tensor]) -> None:
        nonlocal n_places
        n_places = max(n_places, given["input_ids"].numel())

    hook = model.network.register_forward_pre_hook(count, with_kwargs=True)
    try:
        n_bytes = memory.peak_of(lambda: score_rows(executor, rows))
    finally:
        hook.remove()
    return PassSize(n_places, n_bytes)


def _made_up(model: LoadedModel, width: int) -> tuple[TokenRows, int]:
    """Statements of random tokens, so that little is shared, that fill four rows of that width, and their places.

    Of a masked model, one statement: it has a row for each of its tokens, with two special tokens.
    """
    n_tokens = width if model.max_positions is None else min(width, model.max_positions - 2)
    if model.kind == "masked":
        n_tokens -= n_tokens % _ROWS  # a quarter of its rows is then a whole number
    n_statements = 1 if model.kind == "masked" else -(-_ROWS * width // n_tokens)
    count = n_statements * n_tokens
    n_words = min(model.embedding_rows or vocabulary_size(model), vocabulary_size(model))
    rows = TokenRows(
        np.random.default_rng(0).integers(0, n_words, count).astype(np.int32),
        np.zeros(count, np.int8),
        np.arange(0, count + 1, n_tokens, dtype=np.int64),
        np.tile(np.arange(n_tokens, dtype=np.int32), n_statements) if model.kind == "masked" else None,
    )
    return rows, n_tokens * (n_tokens + 2) if model.kind == "masked" else _ROWS * width
