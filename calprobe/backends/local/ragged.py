"""Replies of many conversations at once: each shared beginning forwarded once, one prefill for all that is asked."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from calprobe.backends.local.branching import Branches
from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.check import RightEngine
from calprobe.backends.local.conversation import Conversation
from calprobe.backends.local.generating import Begun, Generation, Rows
from calprobe.backends.local.label_tokens import Ids
from calprobe.backends.local.limits import Limits, pass_order
from calprobe.backends.local.ragged_engine import Engine
from calprobe.backends.local.sharing import Head, plan_sharing
from calprobe.backends.local.turns import Turns
from calprobe.errors import CalprobeError
from calprobe.models.memory import is_out_of_memory
from calprobe.runs.replies import Reply
from calprobe.scoring.back_off import free_after
from calprobe.scoring.executor import uploaded
from calprobe.scoring.path_choice import Setup, warn_of_parts, what_failed

log = logging.getLogger(__name__)


class RaggedRunner:
    """Answers conversations with an `Engine`."""

    def __init__(
        self,
        right: RightEngine,
        turns: Turns,
        limits: Limits,
        plainer: Callable[[RightEngine], RightEngine | None] = lambda failed: None,
    ) -> None:
        """`plainer` is told which engine failed, and gives one with fewer kernels that is right, if there is one."""
        self.limits = limits
        self._turns, self._plainer = turns, plainer
        self._cache, self._heads = RaggedCache(), RaggedCache()
        self._use(right)

    @property
    def engine(self) -> Engine:
        """The one that computes now."""
        return self._engine

    def _use(self, right: RightEngine, why: str = "") -> None:
        self._right, self._engine = right, right.engine
        self._why = why  # another engine failed, which is to be said
        self._generation = Generation(self._engine, self._turns)
        self._branches = Branches(self._engine, self._turns, self._generation)
        self._held = (self._cache, self._heads, self._generation, self._branches)

    def answer(self, conversations: Sequence[Conversation]) -> Iterator[Reply]:
        """The replies that the conversations lack, each as soon as it is finished.

        Raises CalprobeError if a single conversation does not fit in memory, and the error of a pass that fails on all
        engines, of which the first is then in use again.
        """
        draws = any(conversation.draws for conversation in conversations)
        limits = self._now(draws)
        waves, began = limits.waves(conversations)[::-1], self._right
        while waves:
            wave = waves.pop()
            error = yield from self._tried(wave, limits)
            if error is not None:
                if is_out_of_memory(error):
                    self._shrink(wave, error)
                elif not self._steps_down(error):
                    self._use(began)
                    raise error
                unanswered = [c for group in (wave, *waves) for c in group if not c.is_done]
                limits = self._now(draws)
                waves = limits.waves(unanswered)[::-1]
                continue
            if self._why:
                warn_of_parts(self._engine.model, Setup("tree", self._right.by_torch), [self._why])
                self._why = ""
            if waves:
                limits = self._now(draws)

    def close(self) -> None:
        """Let go of all keys and values."""
        for held in self._held:
            held.release()

    def _now(self, draws: bool) -> Limits:
        """The limits with the memory that there is, which is asked for once a wave."""
        return self.limits.now(self._engine.model, sum(held.n_bytes for held in self._held), draws)

    def _tried(self, wave: Sequence[Conversation], limits: Limits) -> Generator[Reply, None, Exception | None]:
        """Answer; returns what went wrong if a pass failed. Replies that were given stay in the conversations."""
        try:
            for reply in self._wave(wave, limits):
                if reply.finish == "error":  # its beginning may have left NaN
                    self._heads.release()
                yield reply
        except Exception as error:
            if isinstance(error, CalprobeError):  # no pass has failed
                raise
            free_after(error)
            return error
        return None

    def _steps_down(self, error: Exception) -> bool:
        """Whether there is a plainer engine to try, which is in use then."""
        self.close()
        plainer = self._plainer(self._right)
        if plainer is not None:
            self._use(plainer, what_failed(error))
        return plainer is not None

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

    def _wave(self, wave: Sequence[Conversation], limits: Limits) -> Iterator[Reply]:
        n_rows = limits.rows_of_wave(wave)
        self._cache.reserve(n_rows, max(conversation.n_tokens for conversation in wave))
        rows, unasked = Rows[Conversation](self._cache, []), deque(wave)
        joining = partial(self._joined, rows, unasked, limits)
        while unasked:
            begun = self._begun(rows, 0, [unasked.popleft() for _ in range(min(n_rows, len(unasked)))])
            if begun is not None:
                yield from self._generation.replies(rows, begun, limits.beside(self._n_places), joining)
            yield from self._branches.replies(rows, limits.beside(self._n_places))

    @property
    def _n_places(self) -> int:
        return self._cache.n_places + self._heads.n_places

    def _joined(
        self, rows: Rows[Conversation], unasked: deque[Conversation], limits: Limits, n_going_on: int
    ) -> Generator[Reply, None, Begun | None]:
        """Let the next conversations take the rows of those that are done, if these are enough, behind the first rows.

        Rows with follow-ups are free when these are answered, which is now if they fill the rows for follow-ups.
        """
        if limits.joining is None or not unasked:
            return None
        n_due = sum(len(group) for conversation in rows.items[n_going_on:] for group in conversation.due)
        if n_due >= limits.branches:
            yield from self._branches.replies(rows, limits.beside(self._n_places))
        if rows.n_free(n_going_on) < min(limits.joining, len(unasked)):
            return None
        count = rows.cleared(n_going_on, len(unasked))
        return self._begun(rows, n_going_on, [unasked.popleft() for _ in range(count)])

    def _begun(self, rows: Rows[Conversation], first_row: int, conversations: Sequence[Conversation]) -> Begun | None:
        """Give conversations the rows from `first_row` on; the first replies that they lack. None if they lack none."""
        items, logits = self._prefilled(conversations, first_row)
        rows.place(items, first_row)
        lacking = [row for row, conversation in enumerate(items) if not conversation.is_answered]
        if len(lacking) < len(items):
            (on_device,) = uploaded([np.array(lacking, np.int64)], logits.device)
            logits = logits[on_device]
            rows.bring([items[row] for row in lacking], first_row)
        turns = [self._turns.first(items[row]) for row in lacking]
        return Begun(turns, logits) if turns else None

    def _prefilled(self, wave: Sequence[Conversation], first_row: int) -> tuple[list[Conversation], Tensor]:
        """Forward all that comes first in conversations, in the rows from `first_row` on.

        Returns the conversations in the order of their rows, and the logits behind what was forwarded, [rows, vocab].
        """
        begun = [conversation.begin() for conversation in wave]
        distinct = list(dict.fromkeys(begun))
        plan = plan_sharing(distinct)
        head_rows = self._prefill_heads(plan.heads)
        order = sorted(
            range(len(distinct)),
            key=lambda place: pass_order(plan.shared(place), len(distinct[place]) - plan.shared(place)),
        )
        in_rows = list(enumerate(order, start=first_row))
        shared = [(head_rows[plan.head_of[p]], row, plan.shared(p)) for row, p in in_rows if plan.shared(p)]
        self._cache.copy(self._heads, shared)
        lengths = [plan.shared(place) for place in order]
        new = [distinct[place][length:] for place, length in zip(order, lengths, strict=True)]
        parts = self.limits.parts(lengths, new)
        logits = [self._engine.extend(self._cache, first_row + start, kept, ids) for start, kept, ids in parts]
        return self._spread(wave, begun, [distinct[place] for place in order], torch.cat(logits), first_row)

    def _spread(
        self,
        wave: Sequence[Conversation],
        begun: Sequence[Ids],
        forwarded: Sequence[Ids],
        logits: Tensor,
        first_row: int,
    ) -> tuple[list[Conversation], Tensor]:
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
        conversations = [conversation for conversation in in_rows if conversation is not None]
        extra = range(len(forwarded), len(source))
        if not extra:
            return conversations, logits
        pairs = [(first_row + source[row], first_row + row, len(forwarded[source[row]])) for row in extra]
        self._cache.copy(self._cache, pairs)
        (sources,) = uploaded([np.array(source)], logits.device)
        return conversations, logits[sources]

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
