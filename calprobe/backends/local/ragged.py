"""Replies of many conversations at once: each shared beginning forwarded once, one prefill for all that is asked."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from itertools import groupby

import torch
from torch import Tensor

from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.conversation import Conversation, Turn
from calprobe.backends.local.engine import Engine
from calprobe.backends.local.labels import Ids
from calprobe.backends.local.limits import Limits, batches, pass_order
from calprobe.backends.local.sharing import Head, plan_sharing, shared_tokens
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
        self._cache, self._heads, self._scratch = RaggedCache(), RaggedCache(), RaggedCache()

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
        for cache in (self._cache, self._heads, self._scratch):
            cache.release()

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
        waiting = [conversation for conversation in rows.conversations if not conversation.is_answered]
        if waiting:
            logits = logits[[rows.row_of(conversation) for conversation in waiting]]
            rows.bring_to_front(waiting)
            yield from self._generated(rows, [self._turns.first(c) for c in waiting], logits)
        for number in max((c.order for c in wave), key=len):
            yield from self._followed(rows, number)

    def _prefilled(self, wave: Sequence[Conversation]) -> tuple[_Rows, Tensor]:
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
        logits = torch.cat([self._engine.extend(self._cache, *part) for part in self._parts(lengths, new)])
        return self._spread(wave, begun, [distinct[place] for place in order], logits)

    def _spread(
        self, wave: Sequence[Conversation], begun: Sequence[Ids], forwarded: Sequence[Ids], logits: Tensor
    ) -> tuple[_Rows, Tensor]:
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
        return _Rows(self._cache, [c for c in in_rows if c is not None]), logits[source]

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
            for first, part_lengths, part_new in self._parts(lengths, new):
                self._engine.forward(self._heads, row_of[places[0]] + first, part_lengths, part_new)
        return row_of

    def _parts(
        self, lengths: Sequence[int], new: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, Sequence[int], Sequence[Sequence[int]]]]:
        """Batches of rows: the first row, the lengths, and the new tokens."""
        for cut in self.limits.passes(lengths, [len(ids) for ids in new]):
            yield cut.start, lengths[cut], new[cut]

    def _followed(self, rows: _Rows, number: int) -> Iterator[Reply]:
        """The replies to the follow-ups with that number.

        Each goes on behind what it has in common with all that its row has: the conversation that it follows up, and
        the first words of the follow-up before it.
        """
        turns: list[Turn] = []
        for conversation in rows.conversations:
            follow_up = conversation.due(number)
            if follow_up is None or not conversation.is_answered:
                continue
            turn = self._turns.follow_up(conversation, number)
            if isinstance(turn, Reply):
                yield turn
            else:
                turns.append(turn)
        if not turns:
            return
        kept = {id(turn): shared_tokens(turn.conversation.row, turn.prompt.ids[:-1]) for turn in turns}

        def order(turn: Turn) -> tuple[int, int, int]:
            n_kept = kept[id(turn)]
            return turn.tree.n_places if turn.tree else 0, *pass_order(n_kept, len(turn.prompt.ids) - n_kept)

        turns.sort(key=order)
        rows.bring_to_front([turn.conversation for turn in turns])
        lengths = [kept[id(turn)] for turn in turns]
        new = [turn.prompt.ids[length:] for turn, length in zip(turns, lengths, strict=True)]
        logits = torch.cat([self._engine.extend(self._cache, *part) for part in self._parts(lengths, new)])
        self._score_closed_sets(turns)
        yield from self._generated(rows, turns, logits)

    def _score_closed_sets(self, turns: Sequence[Turn]) -> None:
        """Score the replies of the turns' closed sets; the turns are in the first rows, where their prompts stay."""
        first_row = 0
        for tree, group in groupby(turns, key=lambda turn: turn.tree):
            own = list(group)
            for cut in batches([tree.n_places] * len(own), self.limits.tokens) if tree is not None else ():
                prompts = [turn.prompt.ids for turn in own[cut]]
                lengths, roots = [len(ids) - 1 for ids in prompts], [ids[-1] for ids in prompts]
                edges = self._engine.tree(self._cache, first_row + cut.start, lengths, roots, tree)
                for turn, scores in zip(own[cut], tree.scores(edges.numpy()), strict=True):
                    turn.closed = scores
            first_row += len(own)

    def _generated(self, rows: _Rows, turns: list[Turn], logits: Tensor) -> Iterator[Reply]:
        """Generate the replies of the first rows, from the logits of their first tokens; finished rows leave."""
        while True:
            self._turns.take(turns, logits)
            done = [turn for turn in turns if turn.finish is not None]
            if done:
                yield from self._finished(rows, done)
                turns = rows.retire(turns)
            if not turns:
                return
            logits = self._engine.extend(
                self._cache, 0, [turn.n_forwarded for turn in turns], [turn.tokens[-1:] for turn in turns]
            )

    def _finished(self, rows: _Rows, turns: Sequence[Turn]) -> Iterator[Reply]:
        rests = self._rests(rows, turns)
        for turn, rest in zip(turns, rests, strict=True):
            yield self._turns.finished(turn, rest)

    def _rests(self, rows: _Rows, turns: Sequence[Turn]) -> list[dict[tuple[int, Ids], float]]:
        """Log-probabilities behind the first tokens of labels of several tokens, see `LabelForms.scores`."""
        found: list[dict[tuple[int, Ids], float]] = [{} for _ in turns]
        asked = [(at, turn, place, sequence) for at, turn in enumerate(turns) for place, sequence in turn.rests]
        for start in range(0, len(asked), self.limits.rows):
            part = asked[start : start + self.limits.rows]
            lengths = [len(turn.prompt.ids) + place for _, turn, place, _ in part]
            sequences = [sequence for *_, sequence in part]
            self._scratch.reserve(len(part), max(lengths) + max(map(len, sequences)))
            own = [rows.row_of(turn.conversation) for _, turn, _, _ in part]
            self._scratch.copy(self._cache, list(zip(own, range(len(part)), lengths, strict=True)))
            scores = self._engine.continuations(self._scratch, 0, lengths, sequences)
            for (at, _, place, sequence), score in zip(part, scores, strict=True):
                found[at][place, sequence] = score
        return found


class _Rows:
    """Which conversation is in which row of a cache."""

    def __init__(self, cache: RaggedCache, conversations: list[Conversation]) -> None:
        self.conversations = conversations  # [rows]
        self._cache = cache
        self._row_of = {id(conversation): row for row, conversation in enumerate(conversations)}

    def row_of(self, conversation: Conversation) -> int:
        """Its row."""
        return self._row_of[id(conversation)]

    def bring_to_front(self, wanted: Sequence[Conversation]) -> None:
        """Let these be in the first rows, in this order."""
        for row, conversation in enumerate(wanted):
            self._swap(row, self.row_of(conversation))

    def retire(self, turns: Sequence[Turn]) -> list[Turn]:
        """Of turns in the first rows, those that go on; they are in the first rows again, the finished ones behind."""
        left = list(turns)
        for row in range(len(left) - 1, -1, -1):
            if left[row].finish is not None:
                self._swap(row, len(left) - 1)
                left[row] = left[-1]
                left.pop()
        return left

    def _swap(self, row: int, other: int) -> None:
        self._cache.swap(row, other)
        both = self.conversations
        both[row], both[other] = both[other], both[row]
        for place in (row, other):
            self._row_of[id(both[place])] = place
