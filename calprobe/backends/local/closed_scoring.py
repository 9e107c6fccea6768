"""Scores closed sets behind finished replies, a pass at a time, so that replies arrive between the passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.closed import ReplyTree
from calprobe.backends.local.conversation import Turn
from calprobe.backends.local.limits import Limits
from calprobe.backends.local.ragged_engine import Engine


class ClosedSets:
    """Finished turns that wait until those of one tree fill a forward pass."""

    def __init__(self, engine: Engine, scratch: RaggedCache, limits: Limits) -> None:
        self._engine, self._scratch, self._limits = engine, scratch, limits
        self._waiting: dict[ReplyTree, list[Turn]] = {}

    def add(self, turn: Turn) -> None:
        """Let a turn with a tree wait; its row keeps the prompt until it is scored."""
        assert turn.tree is not None
        self._waiting.setdefault(turn.tree, []).append(turn)

    def passes(self, last: bool) -> Iterator[tuple[ReplyTree, list[Turn]]]:
        """Turns that fill a pass, taken out of those that wait; with `last`, the others too."""
        for tree, turns in self._waiting.items():
            longest = max((len(turn.prompt.ids) for turn in turns), default=0)
            in_memory = self._limits.scratch_rows(longest + tree.n_places)
            most = max(1, min(self._limits.tokens // tree.n_places, in_memory))
            while len(turns) >= most or (last and turns):
                yield tree, turns[:most]
                del turns[:most]

    def score(self, cache: RaggedCache, rows: Sequence[int], turns: Sequence[Turn], tree: ReplyTree) -> None:
        """Score the replies of the tree behind copies of the turns' prompts, which are in those rows of the cache."""
        lengths, roots = [len(turn.prompt.ids) - 1 for turn in turns], [turn.prompt.ids[-1] for turn in turns]
        self._scratch.reserve(len(turns), max(lengths) + tree.n_places)
        self._scratch.copy(cache, list(zip(rows, range(len(turns)), lengths, strict=True)))
        edges = self._engine.tree(self._scratch, 0, lengths, roots, tree)
        if edges.isnan().any():  # what is left of them would spoil others
            self._scratch.release()
        for turn, scores in zip(turns, tree.scores(edges.numpy()), strict=True):
            turn.closed = scores
