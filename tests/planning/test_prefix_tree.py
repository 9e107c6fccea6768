"""Properties of the prefix tree, against the same tree written out as a Python set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statement_lists import statements, token_rows

from calprobe.planning import PrefixTree, build_prefix_tree
from calprobe.planning.prefix_tree import expand_ranges

START = 9


def build(lists: list[list[int]]) -> PrefixTree:
    return build_prefix_tree(token_rows(lists), START)


def paths(tree: PrefixTree) -> list[tuple[int, ...]]:
    """Tokens from the root to each node, by way of its parents."""
    found: list[tuple[int, ...]] = []
    for token, parent in zip(tree.token_ids.tolist(), tree.parent.tolist(), strict=True):
        found.append(((*found[parent],) if parent >= 0 else ()) + (token,))
    return found


@given(statements)
def test_nodes_are_the_prefixes_that_go_on(lists: list[list[int]]) -> None:
    tree = build(lists)
    expected = sorted({(START, *row[:length]) for row in lists for length in range(len(row))})
    assert paths(tree) == expected  # tuples sort as a preorder does: a prefix first, then by token
    assert tree.depth.tolist() == [len(path) - 1 for path in expected]


@given(statements)
def test_interval_is_ancestry(lists: list[list[int]]) -> None:
    tree = build(lists)
    place = np.arange(tree.n_nodes)
    inside = (place <= place[:, None]) & (place[:, None] < tree.end)
    found = paths(tree)
    assert inside.tolist() == [[path[: len(other)] == other for other in found] for path in found]


@given(statements)
def test_edges_are_distinct_and_every_token_has_its_own(lists: list[list[int]]) -> None:
    tree = build(lists)
    nodes = np.repeat(np.arange(tree.n_nodes), np.diff(tree.edge_offsets))
    found = paths(tree)
    edges = [(*found[node], token) for node, token in zip(nodes.tolist(), tree.edge_tokens.tolist(), strict=True)]
    assert len(set(edges)) == tree.n_edges
    assert set(edges) == {(START, *row[: length + 1]) for row in lists for length in range(len(row))}
    wanted = [(START, *row[: length + 1]) for row in lists for length in range(len(row))]
    assert [edges[edge] for edge in tree.edge_of_token] == wanted


@given(statements, st.randoms(use_true_random=False))
def test_order_and_duplicates_change_nothing(lists: list[list[int]], random: object) -> None:
    shuffled = lists + lists[:3]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = build(lists), build(shuffled)
    for name in ("token_ids", "depth", "parent", "end", "edge_offsets", "edge_tokens"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_by_hand() -> None:
    # [1 2 3] twice, [1 2] a prefix of it, [5] of one token; forwarded: start, 1, 1 2, 1 6, 1 6 7.
    tree = build([[1, 2, 3], [1, 2, 4], [1, 2], [5], [1, 6, 7, 8], [1, 2, 3]])
    assert tree.token_ids.tolist() == [START, 1, 2, 6, 7]
    assert tree.depth.tolist() == [0, 1, 2, 2, 3]
    assert tree.parent.tolist() == [-1, 0, 1, 1, 3]
    assert tree.end.tolist() == [5, 5, 3, 5, 5]
    assert tree.edge_offsets.tolist() == [0, 2, 4, 6, 7, 8]
    assert tree.edge_tokens.tolist() == [1, 5, 2, 6, 3, 4, 7, 8]
    assert tree.edge_of_token.tolist() == [*[0, 2, 4], *[0, 2, 5], *[0, 2], 1, *[0, 3, 6, 7], *[0, 2, 4]]


def test_large_token_ids_stay_apart() -> None:
    largest = 2**31 - 1
    tree = build([[largest, 0], [largest - 1, largest], [0, largest]])
    assert paths(tree) == [(START,), (START, 0), (START, largest - 1), (START, largest)]
    assert tree.edge_tokens.tolist() == [0, largest - 1, largest, largest, largest, 0]


def test_refuses_what_is_no_statement() -> None:
    with pytest.raises(ValueError, match="statement 1 has no token"):
        build([[1], []])
    with pytest.raises(ValueError, match="token_ids must not be negative, got -2"):
        build([[1, -2]])


def test_expand_ranges() -> None:
    assert expand_ranges(np.asarray([5, 0, 7]), np.asarray([2, 0, 3])).tolist() == [5, 6, 7, 8, 9]
    assert expand_ranges(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []
