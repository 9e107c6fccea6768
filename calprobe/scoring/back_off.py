"""Scores a group of pieces: with half the batch budget when memory runs out, along the next path when one fails."""

from __future__ import annotations

import gc
import logging
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import torch

from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel
from calprobe.models.memory import is_out_of_memory
from calprobe.runs import PieceScores
from calprobe.scoring.budget import smaller_budget
from calprobe.scoring.executor import Executor, with_budget
from calprobe.scoring.path_choice import what_failed
from calprobe.scoring.score_progress import Advance
from calprobe.scoring.scored_pieces import LongestStatement, PreparedGroup, planned_again, score_group

log = logging.getLogger(__name__)


class BackOff:
    """Scores groups; one that does not fit in memory is scored again with half the batch budget, one that fails in
    another way with the executor of the next path.

    All later groups keep the smaller budget and the path, also those that were planned ahead: those of a group depend
    only on the groups before it.
    """

    def __init__(
        self,
        model: LoadedModel,
        executor: Executor,
        save_tokens: bool,
        next_path: Callable[[str], Executor | None] = lambda what: None,
    ) -> None:
        """`next_path` is told what failed, and gives the executor of a plainer path that is right, if there is one."""
        self._model = model
        self._save_tokens = save_tokens
        self._next_path = next_path
        self.executor = executor  # with the current budget

    @property
    def batch_tokens(self) -> int:
        """The current budget."""
        return self.executor.batch_tokens

    def score(self, ready: PreparedGroup, advance: Advance) -> list[PieceScores]:
        """Score the group, with smaller and smaller batches until it fits.

        Raises CalprobeError, which names the longest statement, if batches that just hold that one do not fit either,
        and the error of a path that failed if there is no other.
        """
        scored = None
        while scored is None:
            ready = planned_again(ready, self.executor)
            scored = self._tried(ready, advance)
        return scored

    def _tried(self, ready: PreparedGroup, advance: Advance) -> list[PieceScores] | None:
        """The group's scores; None if another executor has to try: one with smaller batches, or of another path."""
        counted = _Counted(advance)
        try:
            return list(score_group(ready, self._model, self.executor, self._save_tokens, counted))
        except Exception as error:
            if isinstance(error, CalprobeError) or error is counted.error:  # no pass has failed
                raise
            free_after(error)  # first, so that the next path is checked with the memory that a run has
            instead = self._smaller(ready, error) if is_out_of_memory(error) else self._plainer(ready, error)
            if instead is None:
                raise
        counted.take_back()
        self.executor = instead
        return None

    def _smaller(self, ready: PreparedGroup, error: Exception) -> Executor:
        """The executor with smaller batches. Raises CalprobeError if these would not hold the longest statement."""
        batch_tokens = self.batch_tokens
        smaller = smaller_budget(batch_tokens, ready.longest.n_tokens)
        if smaller is None:
            refuse_statement(ready.longest, batch_tokens, error)
        log.warning("%s: out of memory with batches of %d tokens; retrying with %d", ready.shown, batch_tokens, smaller)
        return with_budget(self.executor, smaller)

    def _plainer(self, ready: PreparedGroup, error: Exception) -> Executor | None:
        """The executor of a plainer path; None if there is none, or the device computes nothing any more."""
        what = f"{ready.shown}: {what_failed(error)}"
        try:
            return self._next_path(what)
        except (CalprobeError, RuntimeError, MemoryError) as second:  # the first error says more
            log.debug("%s; no other path: %s", what, what_failed(second))
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

    If the error is raised further, its traceback shows the lines, but no values.
    """
    seen: set[int] = set()
    failed: BaseException | None = error
    while failed is not None and id(failed) not in seen:
        seen.add(id(failed))
        traceback.clear_frames(failed.__traceback__)
        failed = failed.__cause__ or failed.__context__
    gc.collect()
    with suppress(RuntimeError):  # of a card that computes nothing any more: the error itself says more
        torch.cuda.empty_cache()  # does nothing where no card is in use


class _Counted:
    """An Advance that can be undone, and remembers its error: that of the caller's own function."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._statements = self._tokens = 0
        self.error: Exception | None = None

    def __call__(self, statements: int, tokens: int) -> None:
        self._statements += statements
        self._tokens += tokens
        try:
            self._advance(statements, tokens)
        except Exception as error:
            self.error = error
            raise

    def take_back(self) -> None:
        """Subtract all that was counted."""
        self._advance(-self._statements, -self._tokens)
