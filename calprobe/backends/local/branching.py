"""Follow-ups of many conversations at once: each in a row of its own behind the conversation, all answered together.

Ten short replies one after another cost ten times the passes of one, and a pass of a few rows costs what reading the
weights costs. So the follow-ups of a conversation get rows of their own. What a row's prompt shares with the
conversation, or with the follow-up before it in the order of tokens, is copied: the keys and values of every distinct
beginning are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.conversation import Conversation, Turn
from calprobe.backends.local.generating import Begun, Generation, Rows
from calprobe.backends.local.limits import Limits, pass_order
from calprobe.backends.local.ragged_engine import Engine
from calprobe.backends.local.sharing import shared_tokens
from calprobe.backends.local.turns import Turns
from calprobe.runs.replies import Reply


class _Branch(NamedTuple):
    """A follow-up in a row of its own."""

    turn: Turn
    step: int  # among the follow-ups behind one answer, of which each goes on behind the one before it
    n_kept: int  # tokens that are copied
    before: Turn | None  # the follow-up that has them; None: the conversation


class Branches:
    """Answers the follow-ups of conversations."""

    def __init__(self, engine: Engine, turns: Turns, generation: Generation) -> None:
        self._engine, self._turns, self._generation = engine, turns, generation
        self._cache = RaggedCache()

    def release(self) -> None:
        """Let go of all memory."""
        self._cache.release()

    @property
    def n_bytes(self) -> int:
        """Memory that is held."""
        return self._cache.n_bytes

    def replies(self, rows: Rows[Conversation], limits: Limits) -> Iterator[Reply]:
        """The replies to the follow-ups that the conversations in `rows` lack, where the first reply is there.

        `limits` are those of what is left beside the conversations.
        """
        groups: list[list[Turn]] = []
        for conversation in rows.items:
            for numbers in conversation.due if conversation.is_answered else ():
                turns = [self._turns.follow_up(conversation, number) for number in numbers]
                yield from (turn for turn in turns if isinstance(turn, Reply))
                groups += self._cut([turn for turn in turns if isinstance(turn, Turn)], limits)
        # Side by side: follow-ups behind one kind of answer, of prompts of one length.
        groups.sort(key=lambda group: max(map(_n_slots, group)))
        while groups:
            together = self._fitting(groups, limits)
            yield from self._answered(rows, groups[:together], limits)
            groups = groups[together:]

    def _cut(self, turns: list[Turn], limits: Limits) -> Iterator[list[Turn]]:
        """The turns, as many together as have room."""
        most = max(1, self._n_rows(turns, limits)) if turns else 1
        for start in range(0, len(turns), most):
            yield turns[start : start + most]

    def _fitting(self, groups: Sequence[Sequence[Turn]], limits: Limits) -> int:
        """How many of the groups, which come by length, have room together: one at least."""
        n_rows = 0
        for count, group in enumerate(groups):
            n_rows += len(group)
            if count and n_rows > self._n_rows(group, limits):
                return count
        return len(groups)

    def _n_rows(self, turns: Sequence[Turn], limits: Limits) -> int:
        return limits.rows_of_branches(max(map(_n_slots, turns)))

    def _answered(self, rows: Rows[Conversation], groups: Sequence[Sequence[Turn]], limits: Limits) -> Iterator[Reply]:
        branches = sorted(
            (branch for group in groups for branch in _chained(group)),
            key=lambda branch: (
                branch.step,
                *pass_order(branch.n_kept, len(branch.turn.prompt.ids) - branch.n_kept),
            ),
        )
        turns = [branch.turn for branch in branches]
        branch_rows = Rows(self._cache, turns)
        self._cache.reserve(len(turns), max(map(_n_slots, turns)))
        logits = []
        for _, step in groupby(branches, key=lambda branch: branch.step):
            logits.append(self._prefilled(rows, branch_rows, list(step), limits))
        begun = Begun(turns, torch.cat(logits))
        yield from self._generation.replies(branch_rows, begun, limits.beside(self._cache.n_places))

    def _prefilled(
        self, rows: Rows[Conversation], branch_rows: Rows[Turn], branches: Sequence[_Branch], limits: Limits
    ) -> Tensor:
        """Forward the prompts of neighbouring rows; logits behind them, [branches, vocab]."""
        first = branch_rows.row_of(branches[0].turn)
        rows_of = range(first, first + len(branches))
        of_conversation = [
            (rows.row_of(branch.turn), row, branch.n_kept)
            for row, branch in zip(rows_of, branches, strict=True)
            if branch.before is None
        ]
        of_branch = [
            (branch_rows.row_of(branch.before), row, branch.n_kept)
            for row, branch in zip(rows_of, branches, strict=True)
            if branch.before is not None
        ]
        self._cache.copy(rows.cache, of_conversation)
        self._cache.copy(self._cache, of_branch)
        lengths = [branch.n_kept for branch in branches]
        new = [branch.turn.prompt.ids[branch.n_kept :] for branch in branches]
        parts = limits.parts(lengths, new)
        return torch.cat([self._engine.extend(self._cache, first + start, n_kept, ids) for start, n_kept, ids in parts])


def _n_slots(turn: Turn) -> int:
    return len(turn.prompt.ids) + turn.budget


def _chained(turns: Sequence[Turn]) -> Iterator[_Branch]:
    """The follow-ups behind one answer, in the order of their tokens, each behind what shares most with it."""
    before: Turn | None = None
    for step, turn in enumerate(turns):
        ids = turn.prompt.ids[:-1]  # the last one is forwarded: its logits are wanted
        of_conversation = shared_tokens(turn.conversation.row, ids)
        shared = shared_tokens(before.prompt.ids, ids) if before else 0
        if shared > of_conversation:
            yield _Branch(turn, step, shared, before)
        else:
            yield _Branch(turn, step, of_conversation, None)
        before = turn
