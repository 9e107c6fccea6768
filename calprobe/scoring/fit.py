"""How a run is executed: the path that agrees with the model, and a batch budget that fits in memory.

A typed budget is used unchanged. On a GPU the budget is remembered, or measured by two forward passes. On a CPU it is
computed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np
import torch

from calprobe.models import LoadedModel
from calprobe.models.loaded_model import Part
from calprobe.models.memory import free_bytes, is_out_of_memory, total_bytes
from calprobe.models.split_linears import LEAST_ROWS
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.back_off import free_after, refuse_statement
from calprobe.scoring.budget import (
    PassSize,
    RememberedBudget,
    auto_batch_tokens,
    budget_that_fits,
    smaller_budget,
    usual_batch_tokens,
    vocabulary_size,
    with_room_for,
)
from calprobe.scoring.executor import Executor, score_rows, with_budget
from calprobe.scoring.options import Masking, Path, ScoreOptions
from calprobe.scoring.path_choice import Checked, OnPass, Setup, checked_path, executor_of, paths_of
from calprobe.scoring.probe_selection import Selection
from calprobe.scoring.scored_pieces import LongestStatement, longest_of, tokenise_pieces
from calprobe.scoring.tree import CPU_ROW_LENGTH, GPU_ROW_LENGTH

log = logging.getLogger(__name__)

BudgetSource = Literal["typed", "remembered", "measured", "computed"]

_ROWS = 4  # in the larger of the measured passes; the smaller has one
_LEAST_WIDTH, _MOST_MASKED_WIDTH = 16, 128  # a masked statement has as many rows as tokens: 128 give 16,640 places
_LEAST_PLACES = 2 * LEAST_ROWS  # in the smaller pass, where the products of a few rows are not those of a run
_MOST = 0.8  # of the card's memory beside the weights: with less free, another process uses the card


@dataclass(frozen=True, slots=True)
class Way:
    """How a run is executed: a path, its batch budget in tokens, and where the budget came from."""

    path: Path
    batch_tokens: int
    source: BudgetSource
    grouped_by: int | None = None  # the budget that cuts the run into groups; None: `batch_tokens`
    attention_kernel: str | None = field(default=None, compare=False)  # of torch's attention, as the check has seen it
    steps_down: bool = field(default=False, compare=False)  # to the next path, if this one fails later
    by_torch: tuple[Part, ...] = ()  # of what kernels compute on a card: those that the check has refused there


class Budget(NamedTuple):
    """A batch budget and where it came from."""

    batch_tokens: int
    source: BudgetSource


class DeviceMemory(Protocol):
    """The memory of one device, as a pass is measured on it."""

    def free(self) -> int:
        """Bytes that can still be allocated."""

    def capacity(self, model: LoadedModel) -> int:
        """Bytes that would be free if only the model's weights were on the device."""

    def peak_of(self, run: Callable[[], object]) -> int:
        """Call `run`; return the largest number of bytes allocated during it, beyond those allocated before."""


class CudaMemory:
    """A card's memory, as torch's allocator counts it."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def free(self) -> int:
        """Bytes that the driver has left, and those that torch holds and does not use."""
        return free_bytes(self._device)

    def capacity(self, model: LoadedModel) -> int:
        """All memory of the card minus the model's weights on it."""
        weights = (p.numel() * p.element_size() for p in model.network.parameters() if p.device == self._device)
        return total_bytes(self._device) - sum(weights)

    def peak_of(self, run: Callable[[], object]) -> int:
        """Call `run`; return the largest number of bytes that torch allocated during it, beyond those before."""
        torch.cuda.synchronize(self._device)
        torch.cuda.reset_peak_memory_stats(self._device)
        before = torch.cuda.memory_allocated(self._device)
        run()
        torch.cuda.synchronize(self._device)
        return int(torch.cuda.max_memory_allocated(self._device) - before)


def memories_of(model: LoadedModel) -> list[DeviceMemory]:
    """The cards that the model is on: one or, with a device map, several; none for a model on a CPU."""
    cards = {parameter.device for parameter in model.network.parameters() if parameter.device.type == "cuda"}
    return [CudaMemory(device) for device in sorted(cards, key=str)]


def find_way(model: LoadedModel, selection: Selection, options: ScoreOptions) -> Way:
    """Check the paths on a handful of the statements, and find a budget unless the options have one.

    The shards of a run must be equal on every machine, at any time. So their groups follow from the usual budget of
    the kind of device, not from a measured or remembered one; batches may still be smaller.

    Args:
        model: the loaded model.
        selection: the run's statements.
        options: the run's; for a resumed run they hold its path and budget.
    Raises:
        CalprobeError: no path gives the model's own scores, or the longest statement does not fit in memory.
    """
    checked = check_paths(model, selection, options)
    way = _with_budget(model, checked, options)
    way = replace(way, attention_kernel=checked.attention_kernel, by_torch=checked.by_torch)
    return replace(way, steps_down=options.path is None)


def _with_budget(model: LoadedModel, checked: CheckedPath, options: ScoreOptions) -> Way:
    path, longest = checked.path, checked.longest
    if options.batch_tokens is not None:
        return Way(path, options.batch_tokens, "typed")
    found = find_budget(model.by_torch(checked.by_torch), path, longest, options.masking(model.kind, model.name))
    if options.shard is None:
        return Way(path, *found)
    shared = usual_batch_tokens(model, path, longest)
    if found.batch_tokens < shared:
        return Way(path, *found, grouped_by=shared)
    return Way(path, shared, found.source if found.batch_tokens == shared else "computed")


class CheckedPath(NamedTuple):
    """The path that a run takes, and the statements that it was checked with."""

    path: Path
    longest: int  # tokens of the longest statement
    n_statements: int
    attention_kernel: str | None  # of torch's attention; None: not seen
    by_torch: tuple[Part, ...]  # of what kernels compute on a card


def check_paths(
    model: LoadedModel,
    selection: Selection,
    options: ScoreOptions,
    on_pass: OnPass = lambda path, reason: None,
    among: Sequence[Path] | None = None,
    failed: Setup | None = None,
) -> CheckedPath:
    """Check paths on a handful of the selection's statements, with smaller batches where memory runs out.

    Checked are those in `among`, else the options' path, else all of the model's kind; what is behind `failed`, if that
    is given. `on_pass` is called with each rejected path and the reason. Raises as `find_way`.
    """
    if among is None:
        among = paths_of(model) if options.path is None else (options.path,)
    masking = options.masking(model.kind, model.name)
    pieces = tokenise_pieces(selection.sample(), model, masking)
    sample, longest = TokenRows.joined([piece.rows for piece in pieces]), longest_of(pieces)
    usual = auto_batch_tokens(model, longest=longest.n_tokens)

    def tried(batch_tokens: int) -> Checked:
        return checked_path(model, batch_tokens, sample, among, masking, on_pass, failed)

    checked = _in_memory(tried, options.batch_tokens or usual, longest)
    return CheckedPath(checked.path, longest.n_tokens, sample.n_statements, checked.attention_kernel, checked.by_torch)


def find_budget(model: LoadedModel, path: Path, longest: int, masking: Masking) -> Budget:
    """The batch budget of that path where none was typed.

    On a card it is the one that was remembered for this version, card, model, path and width of rows, so that the same
    run has the same batches, whatever else uses memory. Else it is measured, and remembered only if most of each card
    was free: a busy card's budget is for this run only. On a CPU it is computed and never remembered.

    Args:
        model: the loaded model.
        path: the path that will run.
        longest: tokens of the longest statement, which has to fit.
        masking: a masked model's.
    """
    memories = memories_of(model)
    if not memories:
        return Budget(auto_batch_tokens(model, path, longest), "computed")
    width = row_width(model, path, longest)
    remembered = RememberedBudget.of(model, path, width)
    known = remembered.recall()
    if known is not None:
        return Budget(with_room_for(known, longest), "remembered")
    others_hold_little = all(memory.free() >= _MOST * memory.capacity(model) for memory in memories)
    executor = executor_of(path, model, auto_batch_tokens(model, path), masking=masking)
    measured = measured_budget(model, path, executor, width, memories)
    if measured is None:
        return Budget(auto_batch_tokens(model, path, longest), "computed")
    if others_hold_little:
        remembered.keep(measured)
    return Budget(with_room_for(measured, longest), "measured")


def row_width(model: LoadedModel, path: Path, longest: int) -> int:
    """Places in the widest usual row of a run: a power of two that holds the longest statement, or the tree's rows."""
    width = max(_LEAST_WIDTH, 1 << max(0, longest - 1).bit_length())
    if path == "tree":
        width = max(width, CPU_ROW_LENGTH if model.device.type == "cpu" else GPU_ROW_LENGTH)
    return min(width, _MOST_MASKED_WIDTH) if model.kind == "masked" else width


def measured_budget(
    model: LoadedModel, path: Path, executor: Executor, width: int, memories: Sequence[DeviceMemory]
) -> int | None:
    """A budget that fits on every card, from the memory of one row and of four rows of that width.

    Of more rows on the path flat and with tf32x3, where small passes have other products. None if not even these fit.
    """
    rows, n_places = _made_up(model, width, _LEAST_PLACES if path == "flat" or model.precision == "tf32x3" else 1)
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
        return None
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


def _made_up(model: LoadedModel, width: int, least: int) -> tuple[TokenRows, int]:
    """Statements of random tokens, with few shared prefixes, that fill four rows of that width, and their places.

    Four times as many rows as have `least` places. For a masked model each statement has a row for each of its tokens,
    with two special tokens: one statement, or as many as have four times `least` places.
    """
    n_tokens = width if model.max_positions is None else min(width, model.max_positions - 2)
    if model.kind == "masked":
        n_tokens -= n_tokens % _ROWS  # divisible by four rows
    of_one = n_tokens * (n_tokens + 2)  # rows of a masked statement
    n_rows = _ROWS * -(-least // width)
    n_statements = -(-_ROWS * least // of_one) if model.kind == "masked" else -(-n_rows * width // n_tokens)
    count = n_statements * n_tokens
    n_words = min(model.embedding_rows or vocabulary_size(model), vocabulary_size(model))
    rows = TokenRows(
        np.random.default_rng(0).integers(0, n_words, count).astype(np.int32),
        np.zeros(count, np.int8),
        np.arange(0, count + 1, n_tokens, dtype=np.int64),
        np.tile(np.arange(n_tokens, dtype=np.int32), n_statements) if model.kind == "masked" else None,
    )
    return rows, n_statements * of_one if model.kind == "masked" else n_rows * width


def _in_memory(tried: Callable[[int], Checked], batch_tokens: int, longest: LongestStatement) -> Checked:
    """The result of `tried` with batches of that size, or with smaller ones if memory runs out."""
    while True:
        try:
            return tried(batch_tokens)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            smaller = smaller_budget(batch_tokens, longest.n_tokens)
            if smaller is None:
                refuse_statement(longest, batch_tokens, error)
            free_after(error)
        batch_tokens = smaller
