"""Scores a group of pieces with the current batch budget, and with half of it when memory runs out."""

from __future__ import annotations

import gc
import logging
import traceback
from typing import NoReturn

import torch

from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel
from calprobe.models.memory import is_out_of_memory
from calprobe.runs import PieceScores
from calprobe.scoring.budget import smaller_budget
from calprobe.scoring.executor import Executor, with_budget
from calprobe.scoring.pieces import LongestStatement, PreparedGroup, planned_again, score_group
from calprobe.scoring.progress import Advance

log = logging.getLogger(__name__)


class BackOff:
    """Scores groups; a group that does not fit in memory is scored again with half the batch budget.

    All later groups keep the smaller budget, also those that were planned ahead: the budget of a group depends only on
    the groups before it.
    """

    def __init__(self, model: LoadedModel, executor: Executor, save_tokens: bool) -> None:
        self._model = model
        self._save_tokens = save_tokens
        self.executor = executor  # with the current budget

    @property
    def batch_tokens(self) -> int:
        """The current budget."""
        return self.executor.batch_tokens

    def score(self, ready: PreparedGroup, advance: Advance) -> list[PieceScores]:
        """Score the group, with smaller and smaller batches until it fits.

        Raises CalprobeError, which names the longest statement, if batches that just hold that one do not fit either.
        """
        scored = None
        while scored is None:
            ready = planned_again(ready, self.executor)
            scored = self._tried(ready, advance)
        return scored

    def _tried(self, ready: PreparedGroup, advance: Advance) -> list[PieceScores] | None:
        """The group's scores; None if memory ran out, and batches are smaller from now on."""
        batch_tokens, counted = self.batch_tokens, _Counted(advance)
        try:
            return list(score_group(ready, self._model, self.executor, self._save_tokens, counted))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            smaller = smaller_budget(batch_tokens, ready.longest.n_tokens)
            if smaller is None:
                refuse_statement(ready.longest, batch_tokens, error)
            free_after(error)
        counted.take_back()
        self.executor = with_budget(self.executor, smaller)
        log.warning("%s: out of memory with batches of %d tokens; retrying with %d", ready.shown, batch_tokens, smaller)
        return None


def refuse_statement(longest: LongestStatement, batch_tokens: int, error: Exception) -> NoReturn:
    """Raise CalprobeError: not even batches that just hold that statement fit."""
    raise CalprobeError(
        f"{longest.shown}: out of memory with batches of {batch_tokens} tokens, and this statement has"
        f" {longest.n_tokens}\n"
        "free memory, use a device with more memory, --dtype bfloat16 or --device-map auto"
    ) from error


def free_after(error: BaseException) -> None:
    """Free the memory of the failed pass: the tensors in the frames of its traceback, and torch's cache on a card.

    For an error that is not raised further: its traceback shows no values after this.
    """
    seen: set[int] = set()
    failed: BaseException | None = error
    while failed is not None and id(failed) not in seen:
        seen.add(id(failed))
        traceback.clear_frames(failed.__traceback__)
        failed = failed.__cause__ or failed.__context__
    gc.collect()
    torch.cuda.empty_cache()  # does nothing where no card is in use


class _Counted:
    """An Advance that can be undone."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._statements = self._tokens = 0

    def __call__(self, statements: int, tokens: int) -> None:
        self._statements += statements
        self._tokens += tokens
        self._advance(statements, tokens)

    def take_back(self) -> None:
        """Subtract all that was counted."""
        self._advance(-self._statements, -self._tokens)
