"""The ancestors of blocks, against walks along parents."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calprobe.planning import block_ancestors


@given(
    climbs=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=40), min_size=1, max_size=3),
    block=st.integers(1, 9),
)
def test_against_walks_along_parents(climbs: list[list[int]], block: int) -> None:
    width = max(map(len, climbs))
    parents = []
    for row in climbs:
        own = [-1]
        for climb in row[1:]:
            parent = len(own) - 1
            for _ in range(climb):
                parent = max(own[parent], 0)
            own.append(parent)
        parents.append(own + [-1] * (width - len(own)))  # padding stands at depth 0
    paths = []
    for own in parents:
        above: list[list[int]] = []
        for parent in own:
            above.append([] if parent < 0 else [*above[parent], parent])
        paths.append(above)
    depth = np.array([[len(path) for path in row] for row in paths])
    found = block_ancestors(depth, block)
    for row, above in zip(found, paths, strict=True):
        firsts = above[::block]
        assert len(row) == len(firsts)
        assert [ancestors[: len(path)].tolist() for ancestors, path in zip(row, firsts, strict=True)] == firsts
