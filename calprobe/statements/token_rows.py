"""Statements as tokens, in columns: what a tokenizer hands to a planner and a planner's scores come back in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt


class Role(IntEnum):
    """What a scored token belongs to. A token that overlaps a slot at all belongs to it; answer before subject."""

    TEMPLATE = 0
    SUBJECT = 1
    ANSWER = 2

    @property
    def label(self) -> str:
        """The name in exports: template, subject, answer."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class TokenRows:
    """The scored tokens of many statements in CSR form (compressed rows); special tokens are not among them.

    Statement `s` owns `token_ids[offsets[s]:offsets[s + 1]]`. Scores of a run are an array [tokens] in this order.
    """

    token_ids: npt.NDArray[np.int32]  # [tokens]
    roles: npt.NDArray[np.int8]  # [tokens], values of Role
    offsets: npt.NDArray[np.int64]  # [statements + 1], offsets[0] == 0, non-decreasing
    words: npt.NDArray[np.int32] | None = None  # [tokens] word within the statement, from 0, rising; None: not asked

    @classmethod
    def joined(cls, parts: Sequence[TokenRows]) -> TokenRows:
        """The statements of all `parts`, at least one, one part after another; words only if every part has them."""
        words = [part.words for part in parts if part.words is not None]
        return cls(
            np.concatenate([part.token_ids for part in parts]),
            np.concatenate([part.roles for part in parts]),
            np.cumsum(np.concatenate([[0], *(part.lengths for part in parts)]), dtype=np.int64),
            np.concatenate(words) if len(words) == len(parts) else None,
        )

    @property
    def n_statements(self) -> int:
        """Number of statements (rows)."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Scored tokens of each statement, [statements]."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """What a masked model's tokenizer puts around every statement, and the token that hides another."""

    before: tuple[int, ...]  # ids in front of the first scored token: [CLS]
    after: tuple[int, ...]  # ids behind the last scored token: [SEP]
    mask: int
