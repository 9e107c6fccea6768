"""Generates the replies of rows that are side by side in a cache, all by one token in each forward pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.closed_scoring import ClosedSets
from calprobe.backends.local.conversation import Conversation, Turn
from calprobe.backends.local.label_tokens import Ids
from calprobe.backends.local.limits import Limits
from calprobe.backends.local.ragged_engine import Engine
from calprobe.backends.local.turns import Turns
from calprobe.runs.replies import Reply

Item = TypeVar("Item", Conversation, Turn)


class Rows(Generic[Item]):
    """What is in which row of a cache: conversations, or turns that have rows of their own."""

    def __init__(self, cache: RaggedCache, items: Sequence[Item]) -> None:
        self.cache = cache
        self.items: list[Item] = list(items)  # [rows]
        self._row_of = {id(item): row for row, item in enumerate(items)}

    def row_of(self, item: Conversation | Turn) -> int:
        """The row of a conversation, or of a turn or the conversation that it is of."""
        if isinstance(item, Turn) and id(item) not in self._row_of:
            return self._row_of[id(item.conversation)]
        return self._row_of[id(item)]

    def place(self, items: Sequence[Item], first_row: int) -> None:
        """Let these be in the rows from `first_row` on, where others are that are not needed any more, or none."""
        for item in self.items[first_row : first_row + len(items)]:
            del self._row_of[id(item)]
        self.items[first_row : first_row + len(items)] = items
        self._row_of |= {id(item): row for row, item in enumerate(items, start=first_row)}

    def bring(self, wanted: Sequence[Item], first_row: int) -> None:
        """Let these, none of which is in a row before it, be in the rows from `first_row` on, in this order."""
        sources = list(range(len(self.items)))
        for row, item in enumerate(wanted, start=first_row):
            self._swap(row, self.row_of(item), sources)
        self._reorder(sources, self._n_slots(sources))

    def retire(self, turns: Sequence[Turn]) -> list[Turn]:
        """Of turns in the first rows, those that go on; they are in the first rows again, the finished ones behind."""
        ongoing = list(turns)
        sources = list(range(len(turns)))
        for row in range(len(ongoing) - 1, -1, -1):
            if ongoing[row].finish is not None:
                self._swap(row, len(ongoing) - 1, sources)
                ongoing[row] = ongoing[-1]
                ongoing.pop()
        self._reorder(sources, max(turn.n_forwarded for turn in turns) + 1)
        return ongoing

    def cleared(self, first_row: int, most: int) -> int:
        """How many rows from `first_row` on are free, `most` of them at most; those that are needed are moved behind.

        From there on, all rows are those of finished items.
        """
        free = [row for row in range(first_row, len(self.items)) if not _is_needed(self.items[row])]
        count = min(most, len(free))
        sources = list(range(len(self.items)))
        for row in range(first_row, first_row + count):
            if _is_needed(self.items[row]):
                self._swap(row, free.pop(), sources)
        self._reorder(sources, self._n_slots(sources))
        return count

    def n_free(self, first_row: int) -> int:
        """How many of the rows from `first_row` on are free."""
        return sum(not _is_needed(item) for item in self.items[first_row:])

    def _swap(self, row: int, other_row: int, sources: list[int]) -> None:
        """Let two items change places; `sources` keeps from which row each row is to be copied."""
        self.items[row], self.items[other_row] = self.items[other_row], self.items[row]
        sources[row], sources[other_row] = sources[other_row], sources[row]
        for place in (row, other_row):
            self._row_of[id(self.items[place])] = place

    def _n_slots(self, sources: Sequence[int]) -> int:
        moved: list[Conversation | Turn] = [item for row, item in enumerate(self.items) if sources[row] != row]
        return max((len(item.row) for item in moved if isinstance(item, Conversation)), default=0)

    def _reorder(self, sources: Sequence[int], n_slots: int) -> None:
        needed = ((source, row) for row, source in enumerate(sources) if _is_needed(self.items[row]))
        self.cache.reorder([(source, row) for source, row in needed if source != row], n_slots)


def _is_needed(item: Conversation | Turn) -> bool:
    """Whether something is still to be forwarded behind what is in the item's row."""
    if isinstance(item, Conversation):
        return not item.is_done
    return item.finish is None or (item.tree is not None and item.closed is None)


Joining = Callable[[int], Generator[Reply, None, "Begun | None"]]


class Begun(NamedTuple):
    """Turns that are begun, without a token, in neighbouring rows."""

    turns: list[Turn]
    logits: Tensor  # of their first tokens, [turns, vocab] float32


class Generation:
    """Continues turns token by token, and scores what is left to be scored behind them."""

    def __init__(self, engine: Engine, turns: Turns) -> None:
        self._engine, self._turns = engine, turns
        self._scratch = RaggedCache()

    @property
    def n_bytes(self) -> int:
        """Memory that is held."""
        return self._scratch.n_bytes

    def release(self) -> None:
        """Let go of all memory."""
        self._scratch.release()

    def replies(
        self, rows: Rows[Item], begun: Begun, limits: Limits, joining: Joining | None = None
    ) -> Iterator[Reply]:
        """Generate the replies of the first rows, each given when it is finished; its row leaves.

        A reply with a closed set is given when the set is scored: as soon as those that wait for it fill a pass.

        Args:
            rows: the first of them are those of `begun`, in their order.
            begun: at least one turn.
            limits: of the passes that score labels of several tokens, and closed sets.
            joining: called with the number of turns that go on, whenever some have finished: replies that are given
                then, and turns that it has begun in the rows behind. None: no others join.
        """
        sets = ClosedSets(self._engine, self._scratch, limits)
        turns, logits = begun
        while True:
            self._turns.take(turns, logits)
            done = [turn for turn in turns if turn.finish is not None]
            joined: Begun | None = None
            if done:
                if failed := [rows.row_of(turn) for turn in done if turn.finish == "error"]:
                    rows.cache.clear(failed)
                for turn, continuations in zip(done, self._rests(rows, done, limits), strict=True):
                    if turn.tree is None:
                        yield self._turns.finished(turn, continuations)
                    else:
                        sets.add(turn)
                turns = rows.retire(turns)
                for tree, scored in sets.passes(last=not turns):
                    sets.score(rows.cache, [rows.row_of(turn) for turn in scored], scored, tree)
                    yield from (self._turns.finished(turn, {}) for turn in scored)
                if joining is not None:
                    joined = yield from joining(len(turns))
            if not turns and not joined:
                return
            blocks = [joined.logits] if joined else []
            if turns:
                lengths, last = [turn.n_forwarded for turn in turns], [turn.tokens[-1:] for turn in turns]
                blocks.insert(0, self._engine.extend(rows.cache, 0, lengths, last))
            turns += joined.turns if joined else []
            logits = blocks[0] if len(blocks) == 1 else torch.cat(blocks)

    def _rests(self, rows: Rows[Item], turns: Sequence[Turn], limits: Limits) -> list[dict[tuple[int, Ids], float]]:
        """Log-probabilities behind the first tokens of labels of several tokens, see `LabelForms.scores`."""
        logprobs: list[dict[tuple[int, Ids], float]] = [{} for _ in turns]
        entries = [(index, turn, place, sequence) for index, turn in enumerate(turns) for place, sequence in turn.rests]
        longest = max((len(turn.prompt.ids) + place + len(sequence) for _, turn, place, sequence in entries), default=0)
        at_once = min(limits.rows, limits.scratch_rows(longest))
        for start in range(0, len(entries), at_once):
            batch = entries[start : start + at_once]
            lengths = [len(turn.prompt.ids) + place for _, turn, place, _ in batch]
            sequences = [sequence for *_, sequence in batch]
            self._scratch.reserve(len(batch), max(lengths) + max(map(len, sequences)))
            turn_rows = [rows.row_of(turn) for _, turn, _, _ in batch]
            self._scratch.copy(rows.cache, list(zip(turn_rows, range(len(batch)), lengths, strict=True)))
            scores = self._engine.continuations(self._scratch, 0, lengths, sequences)
            if any(map(math.isnan, scores)):  # what is left of them would spoil others
                self._scratch.release()
            for (index, _, place, sequence), score in zip(batch, scores, strict=True):
                logprobs[index][place, sequence] = score
        return logprobs
