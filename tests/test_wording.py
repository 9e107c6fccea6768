"""Counts with their nouns."""

from __future__ import annotations

import pytest

from calprobe.wording import counted


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 relations"), (1, "1 relation"), (2, "2 relations"), (7731, "7,731 relations")]
)
def test_only_one_is_singular(count: int, said: str) -> None:
    assert counted(count, "relation") == said
