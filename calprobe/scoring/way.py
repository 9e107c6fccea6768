"""How a run will be scored: the path that agrees with the model, and the batch budget that the machine holds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from calprobe.models import LoadedModel
from calprobe.models.memory import is_out_of_memory
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.back_off import refuse_statement
from calprobe.scoring.budget import auto_batch_tokens, usual_batch_tokens, with_room_for
from calprobe.scoring.memory import free_after, smaller_budget
from calprobe.scoring.options import Masking, Path, ScoreOptions
from calprobe.scoring.pass_memory import DeviceMemory, measured_budget, memories_of, row_width
from calprobe.scoring.paths import choose_path, executor_of
from calprobe.scoring.pieces import LongestStatement, longest_of, tokenise_pieces
from calprobe.scoring.remembered import RememberedBudget, budgets_file
from calprobe.scoring.selection import Selection

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Way:
    """A path with its batch budget; `remembered` keeps a budget for the runs to come."""

    path: Path
    batch_tokens: int
    remembered: RememberedBudget
    grouped_by: int | None = None  # the budget that cuts the run into groups; None: the same


def find_way(
    model: LoadedModel, selection: Selection, options: ScoreOptions, memories: Sequence[DeviceMemory] | None = None
) -> Way:
    """Try the paths on a handful of the statements, and find a budget unless the options have one.

    Without one, the budget is the one that was remembered for this machine, model, path and width of rows, so that the
    same run has the same batches whatever else holds memory just then. Where none is, it is measured on a card, and
    remembered; on a CPU it is the one that is fast, or less where the free memory is.

    The shards of a run must be dealt alike on every machine, at any time. So they are cut into groups by the usual
    budget of their kind of device, whatever was found or remembered here; batches may still be smaller.

    Args:
        model: the loaded model.
        selection: the run's statements.
        options: the run's; of a run that is gone on with, they have its path and budget.
        memories: of the model's cards; None for those that it lies on.
    """
    masking = options.masking(model.kind, model.name)
    pieces = tokenise_pieces(selection.sample(), model, masking)
    sample, longest = TokenRows.joined([piece.rows for piece in pieces]), longest_of(pieces)
    usual = auto_batch_tokens(model, longest=longest.n_tokens)

    def tried(batch_tokens: int) -> Path:
        return choose_path(model, batch_tokens, sample, options.path, masking)

    path = _in_memory(tried, options.batch_tokens or usual, longest)
    width = row_width(model, path, longest.n_tokens)
    remembered = RememberedBudget.of(model, path, width)
    if options.batch_tokens is not None:
        return Way(path, options.batch_tokens, remembered)
    found = remembered.recall()
    if found is None:
        memories = memories_of(model) if memories is None else memories
        found = with_room_for(_found(model, path, width, masking, memories, remembered), longest.n_tokens)
    elif model.device.type == "cpu":
        log.info("%s: batches of %d tokens, since memory ran out with more (%s)", model.name, found, budgets_file())
    if options.shard is None:
        return Way(path, found, remembered)
    dealt_by = usual_batch_tokens(model, path, longest.n_tokens)
    found = min(found, dealt_by)
    return Way(path, found, remembered, dealt_by if found < dealt_by else None)


def _found(
    model: LoadedModel,
    path: Path,
    width: int,
    masking: Masking,
    memories: Sequence[DeviceMemory],
    remembered: RememberedBudget,
) -> int:
    usual = auto_batch_tokens(model, path)
    if not memories:
        return usual
    measured = measured_budget(model, path, executor_of(path, model, usual, masking=masking), width, memories)
    remembered.keep(measured)
    return measured


def _in_memory(tried: Callable[[int], Path], batch_tokens: int, longest: LongestStatement) -> Path:
    """What `tried` finds with batches of that size, or with smaller ones if memory runs out."""
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
