"""Replies of many conversations at once: each shared beginning forwarded once, one prefill for all that is asked."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence

import torch
from torch import Tensor

from calprobe.backends.local.branching import Branches
from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.conversation import Conversation
from calprobe.backends.local.engine import Engine
from calprobe.backends.local.generating import Generation, Rows
from calprobe.backends.local.labels import Ids
from calprobe.backends.local.limits import Limits, pass_order
from calprobe.backends.local.sharing import Head, plan_sharing
from calprobe.backends.local.turns import Turns
from calprobe.errors import CalprobeError
from calprobe.models.memory import is_out_of_memory
from calprobe.runs.replies import Reply
from calprobe.scoring.back_off import free_after

log = logging.getLogger(__name__)


class RaggedRunner:
    """Answers conversations with an `Engine`."""

    def __init__(self, engine: Engine, turns: Turns, limits: Limits) -> None:
        self.limits = limits
        self._engine, self._turns = engine, turns
        self._cache, self._heads = RaggedCache(), RaggedCache()
        self._generation = Generation(engine, turns)
        self._branches = Branches(engine, turns, self._generation)

    def answer(self, conversations: Sequence[Conversation]) -> Iterator[Reply]:
        """The replies that the conversations lack, each as soon as it is finished.

        Raises CalprobeError if a single conversation does not fit in memory.
        """
        waves = self.limits.waves(conversations, self._engine.model)[::-1]
        while waves:
            wave = waves.pop()
            error = yield from self._tried(wave)
            if error is not None:
                self._shrink(wave, error)
                left = [c for each in (wave, *waves) for c in each if not c.is_done]
                waves = self.limits.waves(left, self._engine.model)[::-1]

    def close(self) -> None:
        """Let go of all keys and values."""
        for held in (self._cache, self._heads, self._generation, self._branches):
            held.release()

    def _tried(self, wave: Sequence[Conversation]) -> Generator[Reply, None, Exception | None]:
        """Answer; returns what went wrong if memory ran out. Replies that were given stay in the conversations."""
        try:
            yield from self._wave(wave)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            free_after(error)
            return error
        return None

    def _shrink(self, wave: Sequence[Conversation], error: Exception) -> None:
        self.close()
        smaller = self.limits.halved()
        if smaller is None:
            longest = max(wave, key=lambda conversation: conversation.n_tokens)
            raise CalprobeError(
                f"question {longest.dialogue.question}: out of memory with one conversation of {longest.n_tokens}"
                " tokens\nfree memory, use a device with more memory, --dtype bfloat16 or --device-map auto"
            ) from error
        log.warning("out of memory with %d conversations at once; retrying with %d", self.limits.rows, smaller.rows)
        self.limits = smaller

    def _wave(self, wave: Sequence[Conversation]) -> Iterator[Reply]:
        rows, logits = self._prefilled(wave)
        waiting = [conversation for conversation in rows.items if not conversation.is_answered]
        if waiting:
            logits = logits[[rows.row_of(conversation) for conversation in waiting]]
            rows.bring_to_front(waiting)
            turns = [self._turns.first(conversation) for conversation in waiting]
            yield from self._generation.replies(rows, turns, logits, self.limits)
        yield from self._branches.replies(rows, self.limits)

    def _prefilled(self, wave: Sequence[Conversation]) -> tuple[Rows[Conversation], Tensor]:
        """Conversations in rows of the cache, with all that comes first in each; logits behind it, [rows, vocab]."""
        begun = [conversation.begin() for conversation in wave]
        distinct = list(dict.fromkeys(begun))
        plan = plan_sharing(distinct)
        head_rows = self._prefill_heads(plan.heads)
        order = sorted(
            range(len(distinct)),
            key=lambda place: pass_order(plan.shared(place), len(distinct[place]) - plan.shared(place)),
        )
        self._cache.reserve(len(wave), max(c.n_tokens for c in wave))
        shared = [(head_rows[plan.head_of[p]], row, plan.shared(p)) for row, p in enumerate(order) if plan.shared(p)]
        self._cache.copy(self._heads, shared)
        lengths = [plan.shared(place) for place in order]
        new = [distinct[place][length:] for place, length in zip(order, lengths, strict=True)]
        logits = torch.cat([self._engine.extend(self._cache, *part) for part in self.limits.parts(lengths, new)])
        return self._spread(wave, begun, [distinct[place] for place in order], logits)

    def _spread(
        self, wave: Sequence[Conversation], begun: Sequence[Ids], forwarded: Sequence[Ids], logits: Tensor
    ) -> tuple[Rows[Conversation], Tensor]:
        """A row for each conversation: the first one with a beginning has that beginning's, others get a copy."""
        of_beginning = {ids: row for row, ids in enumerate(forwarded)}
        in_rows: list[Conversation | None] = [None] * len(forwarded)
        source = list(range(len(forwarded)))
        for conversation, ids in zip(wave, begun, strict=True):
            conversation.row = ids
            row = of_beginning[ids]
            if in_rows[row] is None:
                in_rows[row] = conversation
            else:
                in_rows.append(conversation)
                source.append(row)
        extra = range(len(forwarded), len(source))
        self._cache.copy(self._cache, [(source[row], row, len(forwarded[source[row]])) for row in extra])
        return Rows(self._cache, [c for c in in_rows if c is not None]), logits[source]

    def _prefill_heads(self, heads: Sequence[Head]) -> list[int]:
        """Forward the shared beginnings, level by level; the row of each in the cache of heads."""
        row_of = [0] * len(heads)
        if not heads:
            return row_of
        self._heads.reserve(len(heads), max(len(head.ids) for head in heads))

        def kept(place: int) -> int:
            parent = heads[place].parent
            return len(heads[parent].ids) if parent >= 0 else 0

        order = sorted(
            range(len(heads)),
            key=lambda place: (heads[place].level, *pass_order(kept(place), len(heads[place].ids) - kept(place))),
        )
        for row, place in enumerate(order):
            row_of[place] = row
        for level in range(heads[order[-1]].level + 1):
            places = [place for place in order if heads[place].level == level]
            inherited = [(row_of[heads[p].parent], row_of[p], kept(p)) for p in places if kept(p)]
            self._heads.copy(self._heads, inherited)
            lengths, new = [kept(p) for p in places], [heads[p].ids[kept(p) :] for p in places]
            for first, part_lengths, part_new in self.limits.parts(lengths, new):
                self._engine.forward(self._heads, row_of[places[0]] + first, part_lengths, part_new)
        return row_of
