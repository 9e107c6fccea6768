"""The prefix tree of many statements: every distinct prefix a node, every distinct next token an edge.

A causal model's state after a prefix does not depend on what follows, so each distinct prefix needs one forwarded
token, and each distinct (prefix, next token) pair one score, unless it occurs in contexts only. The tree is built level
by level: all statements that are long enough take one step together, and equal steps become one. Nothing loops over
statements or tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.planning.token_rows import TokenRows

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """Nodes in depth-first preorder, siblings by token id: `j` is `i` or above it exactly when `j <= i < end[j]`.

    Node 0 is the start token. A statement's last token is an edge, and a node only if another statement goes on there.
    Equal sets of statements give equal nodes and edges, whatever their order and however often each occurs.
    """

    token_ids: Int32s  # [nodes] the token forwarded; the start token at node 0
    depth: Int32s  # [nodes] tokens before it, which is its position id
    parent: Int32s  # [nodes] -1 at node 0
    end: Int32s  # [nodes] one past the last node below it
    edge_offsets: Int64s  # [nodes + 1] edges of a node: its distinct next tokens that are scored, ascending
    edge_tokens: Int32s  # [edges]
    edge_of_token: Int32s  # [scored tokens] the edge that has the token's score

    @property
    def n_nodes(self) -> int:
        """Distinct prefixes to forward."""
        return len(self.token_ids)

    @property
    def n_edges(self) -> int:
        """Distinct (prefix, next token) pairs to score."""
        return len(self.edge_tokens)


def build_prefix_tree(rows: TokenRows, start_token_id: int) -> PrefixTree:
    """Build the prefix tree of `rows` (fewer than 2**31 tokens), the start token before each; no statements, no nodes.

    Raises ValueError if a statement has no token or a token id is negative.
    """
    if rows.n_statements and rows.lengths.min() < 1:
        raise ValueError(f"statement {int(rows.lengths.argmin())} has no token")
    if rows.token_ids.min(initial=0) < 0:
        raise ValueError(f"token_ids must not be negative, got {int(rows.token_ids.min())}")
    prefixes = _distinct_prefixes(rows, start_token_id)
    n_children = np.bincount(prefixes.parent[1:], minlength=len(prefixes.parent))
    first_child = 1 + np.cumsum(n_children) - n_children
    is_node = n_children > 0  # what nothing goes on from is scored, never forwarded
    size, preorder = _number(prefixes, is_node, first_child)

    # [nodes] prefix of each node, [edges] prefix at the far end of each edge
    node = np.empty(int(is_node.sum()), np.int64)
    node[preorder[is_node]] = np.flatnonzero(is_node)
    edge, n_edges = expand_ranges(first_child[node], n_children[node]), n_children[node]
    of_token = prefixes.of_token
    if rows.contexts is not None:
        of_token = of_token[rows.is_scored]
        edge, n_edges = _scored_edges(edge, n_edges, of_token)
    edge_of_prefix = np.empty(len(prefixes.parent), np.int32)
    edge_of_prefix[edge] = np.arange(len(edge), dtype=np.int32)
    parent = preorder[prefixes.parent[node]]
    parent[:1] = -1
    level = np.repeat(np.arange(len(prefixes.levels) - 1, dtype=np.int32), np.diff(prefixes.levels))
    return PrefixTree(
        token_ids=prefixes.token_ids[node],
        depth=level[node],
        parent=parent,
        end=np.arange(len(node), dtype=np.int32) + size[node],
        edge_offsets=offsets_of(n_edges),
        edge_tokens=prefixes.token_ids[edge],
        edge_of_token=edge_of_prefix[of_token],
    )


@dataclass(frozen=True, slots=True)
class _Prefixes:
    """All distinct prefixes, level by level (breadth first), so that the children of a prefix lie together."""

    parent: Int32s  # [prefixes]; the empty prefix comes first and is its own parent
    token_ids: Int32s  # [prefixes] the last token of each
    levels: Int64s  # [levels + 1] into the prefixes
    of_token: Int32s  # [tokens] the prefix that ends in that token


def _distinct_prefixes(rows: TokenRows, start_token_id: int) -> _Prefixes:
    """Walk down all statements at once; at each level equal (prefix, token) pairs are one new prefix."""
    of_token = np.empty(len(rows.token_ids), np.int32)
    parents, tokens, levels = [np.zeros(1, np.int32)], [np.asarray([start_token_id], np.int32)], [0, 1]
    statement, prefix = np.arange(rows.n_statements), np.zeros(rows.n_statements, np.int64)
    for level in range(int(rows.lengths.max(initial=0))):
        goes_on = rows.lengths[statement] > level
        statement, prefix = statement[goes_on], prefix[goes_on]
        place = rows.offsets[statement] + level
        # Sorting pairs by parent first keeps every level in order of its parents.
        pairs, which = np.unique(prefix << 32 | rows.token_ids[place], return_inverse=True)
        prefix = which + levels[-1]
        of_token[place] = prefix
        parents.append((pairs >> 32).astype(np.int32))
        tokens.append((pairs & 0xFFFFFFFF).astype(np.int32))
        levels.append(levels[-1] + len(pairs))
    return _Prefixes(np.concatenate(parents), np.concatenate(tokens), np.asarray(levels, np.int64), of_token)


def _number(prefixes: _Prefixes, is_node: npt.NDArray[np.bool_], first_child: Int64s) -> tuple[Int32s, Int32s]:
    """Nodes in the subtree of each prefix, itself included, and its preorder number, both [prefixes].

    The number of a prefix that is no node means nothing.
    """
    size, preorder = is_node.astype(np.int32), np.zeros(len(is_node), np.int32)
    levels = [slice(*bounds) for bounds in zip(prefixes.levels[1:-1], prefixes.levels[2:], strict=True)]
    for level in reversed(levels):
        np.add.at(size, prefixes.parent[level], size[level])
    for level in levels:
        parent = prefixes.parent[level]
        before = np.cumsum(size[level], dtype=np.int32) - size[level]
        before_siblings = before[first_child[parent] - level.start]
        preorder[level] = preorder[parent] + 1 + before - before_siblings
    return size, preorder


def _scored_edges(edge: Int64s, n_edges: Int64s, scored: Int32s) -> tuple[Int64s, Int64s]:
    """Those of the edges (far ends [edges], [nodes] of each node) that lead to one of the `scored` prefixes."""
    is_scored = np.zeros(edge.max(initial=0) + 1, np.bool_)
    is_scored[scored] = True
    kept = is_scored[edge]
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    return edge[kept], np.diff(kept_before[offsets_of(n_edges)])


def expand_ranges(starts: Int64s, counts: Int64s) -> Int64s:
    """`concatenate([arange(s, s + n) for s, n in zip(starts, counts)])`, [sum of counts]."""
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)


def offsets_of(counts: npt.ArrayLike) -> Int64s:
    """CSR offsets [segments + 1] of segments with these `counts` [segments]."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
