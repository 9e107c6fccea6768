"""Groups of pieces scored with the run's batches, and with smaller ones from where memory ran out."""

from __future__ import annotations

import logging
from typing import NoReturn

from calprobe.errors import CalprobeError
from calprobe.models.memory import is_out_of_memory
from calprobe.runs import PieceScores
from calprobe.scoring.executor import with_budget
from calprobe.scoring.memory import free_after, smaller_budget
from calprobe.scoring.pieces import LongestStatement, PreparedGroup, planned_again, score_group
from calprobe.scoring.progress import Advance
from calprobe.scoring.work import Group, Work

log = logging.getLogger(__name__)


class BackingOff:
    """Scores the groups of a run; a group that does not fit is scored again, whole, with half the batch budget.

    All groups after it keep the smaller budget, those that were planned ahead too: so what the budget is for a group
    follows from the groups before it alone.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._executor = work.executor

    @property
    def batch_tokens(self) -> int:
        """The budget in force."""
        return self._executor.batch_tokens

    def prepare(self, group: Group) -> PreparedGroup:
        """The group tokenised and planned with the budget in force; may be called from another thread."""
        try:
            return self._work.prepare(group, self._executor)
        except MemoryError as error:
            shown = ", ".join(f"{relation}, template {number}" for relation, number in group[:1])
            raise CalprobeError(
                f"{shown}: out of memory while its statements were planned, before any was scored\n"
                "free some memory and run the same command again"
            ) from error

    def score(self, ready: PreparedGroup, advance: Advance) -> list[PieceScores]:
        """Score the group, with ever smaller batches until it fits.

        Raises CalprobeError, which names the longest statement, if batches that just hold that one do not fit either.
        """
        began_with = self.batch_tokens
        scored = None
        while scored is None:
            ready = planned_again(ready, self._executor)
            scored = self._tried(ready, advance)
        if self.batch_tokens < began_with and self._work.remembered is not None:
            self._work.remembered.lower(self.batch_tokens)
        return scored

    def _tried(self, ready: PreparedGroup, advance: Advance) -> list[PieceScores] | None:
        """The group's scores; None if memory ran out, and batches are smaller from now on."""
        work, batch_tokens, counted = self._work, self.batch_tokens, _Counted(advance)
        try:
            return list(score_group(ready, work.model, self._executor, work.options.save_tokens, counted))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            smaller = smaller_budget(batch_tokens, ready.longest.n_tokens)
            if smaller is None:
                refuse_statement(ready.longest, batch_tokens, error)
            free_after(error)
        counted.take_back()
        self._executor = with_budget(self._executor, smaller)
        log.warning("%s: out of memory with batches of %d tokens; going on with %d", ready.shown, batch_tokens, smaller)
        return None


def refuse_statement(longest: LongestStatement, batch_tokens: int, error: Exception) -> NoReturn:
    """Raise CalprobeError: not even batches that just hold that statement fit."""
    raise CalprobeError(
        f"{longest.shown}: out of memory with batches of {batch_tokens} tokens, and this statement has"
        f" {longest.n_tokens}\n"
        "free some memory, or take a device with more of it, --dtype bfloat16 or --device-map auto"
    ) from error


class _Counted:
    """An Advance that can be taken back."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._statements = self._tokens = 0

    def __call__(self, statements: int, tokens: int) -> None:
        self._statements += statements
        self._tokens += tokens
        self._advance(statements, tokens)

    def take_back(self) -> None:
        """Uncount all that was counted."""
        self._advance(-self._statements, -self._tokens)
