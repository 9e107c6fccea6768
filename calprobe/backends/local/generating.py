"""Generates the replies of rows that are side by side in a cache, all by one token in each forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from torch import Tensor

from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.closed_scoring import ClosedSets
from calprobe.backends.local.conversation import Conversation, Turn
from calprobe.backends.local.engine import Engine
from calprobe.backends.local.labels import Ids
from calprobe.backends.local.limits import Limits
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

    def bring_to_front(self, wanted: Sequence[Item]) -> None:
        """Let these be in the first rows, in this order."""
        for row, item in enumerate(wanted):
            self._swap(row, self.row_of(item))

    def retire(self, turns: Sequence[Turn]) -> list[Turn]:
        """Of turns in the first rows, those that go on; they are in the first rows again, the finished ones behind."""
        left = list(turns)
        n_slots = max(turn.n_forwarded for turn in turns) + 1
        for row in range(len(left) - 1, -1, -1):
            if left[row].finish is not None:
                self._swap(row, len(left) - 1, n_slots)
                left[row] = left[-1]
                left.pop()
        return left

    def _swap(self, row: int, other: int, n_slots: int | None = None) -> None:
        self.cache.swap(row, other, n_slots)
        both = self.items
        both[row], both[other] = both[other], both[row]
        for place in (row, other):
            self._row_of[id(both[place])] = place


class Generation:
    """Continues turns token by token, and scores what is left to be scored behind them."""

    def __init__(self, engine: Engine, turns: Turns) -> None:
        self._engine, self._turns = engine, turns
        self._scratch = RaggedCache()

    def release(self) -> None:
        """Let go of all memory."""
        self._scratch.release()

    def replies(self, rows: Rows[Item], turns: list[Turn], logits: Tensor, limits: Limits) -> Iterator[Reply]:
        """Generate the replies of the first rows, each given when it is finished; its row leaves.

        A reply with a closed set is given when the set is scored: as soon as those that wait for it fill a pass.

        Args:
            rows: the first of them are those of `turns`, in their order.
            turns: begun, without a token.
            logits: of their first tokens, [turns, vocab] float32.
            limits: of the passes that score labels of several tokens, and closed sets.
        """
        sets = ClosedSets(self._engine, self._scratch, limits)
        while True:
            self._turns.take(turns, logits)
            done = [turn for turn in turns if turn.finish is not None]
            if done:
                for turn, rest in zip(done, self._rests(rows, done, limits.rows), strict=True):
                    if turn.tree is None:
                        yield self._turns.finished(turn, rest)
                    else:
                        sets.add(turn)
                turns = rows.retire(turns)
                for tree, scored in sets.passes(last=not turns):
                    sets.score(rows.cache, [rows.row_of(turn) for turn in scored], scored, tree)
                    yield from (self._turns.finished(turn, {}) for turn in scored)
            if not turns:
                return
            lengths, last = [turn.n_forwarded for turn in turns], [turn.tokens[-1:] for turn in turns]
            logits = self._engine.extend(rows.cache, 0, lengths, last)

    def _rests(self, rows: Rows[Item], turns: Sequence[Turn], at_once: int) -> list[dict[tuple[int, Ids], float]]:
        """Log-probabilities behind the first tokens of labels of several tokens, see `LabelForms.scores`."""
        found: list[dict[tuple[int, Ids], float]] = [{} for _ in turns]
        asked = [(at, turn, place, sequence) for at, turn in enumerate(turns) for place, sequence in turn.rests]
        for start in range(0, len(asked), at_once):
            part = asked[start : start + at_once]
            lengths = [len(turn.prompt.ids) + place for _, turn, place, _ in part]
            sequences = [sequence for *_, sequence in part]
            self._scratch.reserve(len(part), max(lengths) + max(map(len, sequences)))
            own = [rows.row_of(turn) for _, turn, _, _ in part]
            self._scratch.copy(rows.cache, list(zip(own, range(len(part)), lengths, strict=True)))
            scores = self._engine.continuations(self._scratch, 0, lengths, sequences)
            for (at, _, place, sequence), score in zip(part, scores, strict=True):
                found[at][place, sequence] = score
        return found
