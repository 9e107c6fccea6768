"""Statements as lists of token ids: what the tests of planners start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from calprobe.planning.token_rows import Contexts, TokenRows

# Few tokens and short rows, so that equal rows and rows that are prefixes of others are common.
statements = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), max_size=40)


def token_rows(lists: list[list[int]]) -> TokenRows:
    """The statements as token rows, roles left at 0."""
    ids = np.asarray([token for row in lists for token in row], np.int32)
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return TokenRows(ids, np.zeros(len(ids), np.int8), offsets)


def with_contexts(rows: TokenRows, lengths: Sequence[int]) -> TokenRows:
    """The rows with contexts of that many tokens, none of them cut."""
    return replace(rows, contexts=Contexts(np.asarray(lengths, np.int64), np.zeros(len(lengths), np.int64)))
