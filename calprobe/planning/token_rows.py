"""Statements as tokens, in columns: what a tokenizer hands to a planner and a planner's scores come back in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Contexts:
    """What stands at the beginning of each statement, is read and not scored."""

    lengths: npt.NDArray[np.int64]  # [statements] tokens, fewer than the statement has
    cut: npt.NDArray[np.int64]  # [statements] tokens before these that were left out, the statement being too long

    @classmethod
    def none(cls, n_statements: int) -> Contexts:
        """No context before any statement."""
        return cls(np.zeros(n_statements, np.int64), np.zeros(n_statements, np.int64))

    def part(self, first: int, stop: int) -> Contexts:
        """Those of the statements from `first` on, before `stop`."""
        return Contexts(self.lengths[first:stop], self.cut[first:stop])


@dataclass(frozen=True, slots=True)
class TokenRows:
    """The tokens of many statements in CSR form (compressed rows); special tokens are not among them.

    Statement `s` owns `token_ids[offsets[s]:offsets[s + 1]]`. All of its tokens are scored but those of its context.
    Scores of a run are an array [scored tokens] in this order.
    """

    token_ids: npt.NDArray[np.int32]  # [tokens]
    roles: npt.NDArray[np.int8]  # [tokens], values of Role
    offsets: npt.NDArray[np.int64]  # [statements + 1], offsets[0] == 0, non-decreasing
    words: npt.NDArray[np.int32] | None = None  # [tokens] word within the statement, from 0, rising; None: not asked
    contexts: Contexts | None = None  # None: every token is scored

    @classmethod
    def joined(cls, parts: Sequence[TokenRows]) -> TokenRows:
        """The statements of all `parts`, at least one, one part after another; words only if every part has them."""
        words = [part.words for part in parts if part.words is not None]
        return cls(
            np.concatenate([part.token_ids for part in parts]),
            np.concatenate([part.roles for part in parts]),
            np.cumsum(np.concatenate([[0], *(part.lengths for part in parts)]), dtype=np.int64),
            np.concatenate(words) if len(words) == len(parts) else None,
            _joined_contexts(parts),
        )

    def part(self, first: int, stop: int) -> TokenRows:
        """The statements from `first` on, before `stop`."""
        tokens = slice(int(self.offsets[first]), int(self.offsets[stop]))
        return TokenRows(
            self.token_ids[tokens],
            self.roles[tokens],
            self.offsets[first : stop + 1] - self.offsets[first],
            None if self.words is None else self.words[tokens],
            None if self.contexts is None else self.contexts.part(first, stop),
        )

    @property
    def n_statements(self) -> int:
        """Number of statements (rows)."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Scored tokens of each statement, [statements]."""
        return np.diff(self.offsets)

    @property
    def is_scored(self) -> npt.NDArray[np.bool_]:
        """False at the tokens of contexts, [tokens]."""
        if self.contexts is None:
            return np.ones(len(self.token_ids), np.bool_)
        begins = self.offsets[:-1] + self.contexts.lengths
        return np.arange(len(self.token_ids)) >= np.repeat(begins, self.lengths)

    @property
    def scored(self) -> TokenRows:
        """The scored tokens alone, of all statements: these rows themselves if there are no contexts."""
        if self.contexts is None:
            return self
        kept = self.is_scored
        lengths = self.lengths - self.contexts.lengths
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        words = None if self.words is None else self.words[kept]
        return TokenRows(self.token_ids[kept], self.roles[kept], offsets, words)


def _joined_contexts(parts: Sequence[TokenRows]) -> Contexts | None:
    if all(part.contexts is None for part in parts):
        return None
    each = [part.contexts or Contexts.none(part.n_statements) for part in parts]
    return Contexts(np.concatenate([own.lengths for own in each]), np.concatenate([own.cut for own in each]))


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """What a masked model's tokenizer puts around every statement, and the token that hides another."""

    before: tuple[int, ...]  # ids in front of the first scored token: [CLS]
    after: tuple[int, ...]  # ids behind the last scored token: [SEP]
    mask: int
