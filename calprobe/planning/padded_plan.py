"""The plan of padded rows: every distinct statement once, rows of like length together, within a token budget.

This is the plan for architectures that take no tree mask, and for the plain path that checks every other one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.planning.token_rows import TokenRows


@dataclass(frozen=True, slots=True)
class PaddedPlan:
    """Which statements are forwarded, in which batches; longest first, so that memory runs out at once or not at all.

    A row of n tokens is forwarded as n tokens: the start token and all but its last.
    """

    rows: npt.NDArray[np.int64]  # [unique] statement that stands for each distinct row, longest first
    row_of: npt.NDArray[np.int64]  # [statements] place in `rows` of each statement's content
    batch_offsets: npt.NDArray[np.int64]  # [batches + 1] into `rows`

    @property
    def n_batches(self) -> int:
        """Number of forward passes."""
        return len(self.batch_offsets) - 1

    def batch(self, index: int) -> npt.NDArray[np.int64]:
        """Statements that batch `index` forwards, [rows of the batch]."""
        return self.rows[self.batch_offsets[index] : self.batch_offsets[index + 1]]


def plan_padded(rows: TokenRows, batch_tokens: int) -> PaddedPlan:
    """Plan `rows` into batches of at most `batch_tokens` padded tokens; a longer row gets a batch of its own.

    The batches depend on the set of statements only, not on their order or on duplicates among them.

    Raises ValueError if `batch_tokens` is not positive or a statement has no token.
    """
    if batch_tokens < 1:
        raise ValueError(f"batch_tokens must be at least 1, got {batch_tokens}")
    lengths = rows.lengths
    if lengths.size and lengths.min() < 1:
        raise ValueError(f"statement {int(lengths.argmin())} has no token")
    unique, row_of = _distinct(rows)
    # np.unique has put the rows in order of content; a stable sort by length keeps that order among equals.
    by_length = np.argsort(-lengths[unique], kind="stable")
    place = np.empty_like(by_length)
    place[by_length] = np.arange(len(by_length))
    ordered = unique[by_length]
    return PaddedPlan(ordered, place[row_of], _cut(lengths[ordered], batch_tokens))


def _distinct(rows: TokenRows) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Representatives [unique] of the distinct token rows, and the place of each statement's row among them.

    Rows of the same tokens with contexts of different lengths are distinct.
    """
    width = int(rows.lengths.max(initial=0))
    if width == 0:
        empty = np.zeros(0, np.int64)
        return empty, empty
    dense = np.full((rows.n_statements, width), -1, np.int32)  # no token has the id -1
    dense[np.arange(width) < rows.lengths[:, None]] = rows.token_ids
    if rows.contexts is not None:
        dense, width = np.column_stack([dense, rows.contexts.lengths.astype(np.int32)]), width + 1
    as_bytes = dense.view(np.dtype((np.void, width * dense.itemsize))).ravel()
    _, unique, row_of = np.unique(as_bytes, return_index=True, return_inverse=True)
    return unique.astype(np.int64), row_of.ravel().astype(np.int64)


def _cut(lengths: npt.NDArray[np.int64], batch_tokens: int) -> npt.NDArray[np.int64]:
    """Offsets [batches + 1] of batches over rows sorted longest first: the first row of a batch sets its width."""
    offsets = [0]
    while offsets[-1] < len(lengths):
        offsets.append(min(len(lengths), offsets[-1] + max(1, batch_tokens // int(lengths[offsets[-1]]))))
    return np.asarray(offsets, np.int64)
