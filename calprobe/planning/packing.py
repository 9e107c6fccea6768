"""Packing a prefix tree: nodes into rows of about equal length, rows into batches within a token budget.

A stretch of the preorder together with the ancestors of its first node is a tree again: complete subtrees side by side,
cut open on the left along one path. So rows are stretches of the preorder, and what a cut costs is the ancestors that
the next row forwards again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calprobe.planning.prefix_tree import Int32s, Int64s, PrefixTree, expand_ranges, offsets_of

# An empty place at the end of a row costs far less than a node forwarded twice: rows of like length share a batch. On
# BEAR with rows of 512 and small batches, 10 to 100 waste 0.7 to 1.0 %, rows as full as can be 1.7 %.
_EMPTY_PLACES_PER_REPEATED_NODE = 20

# A row shorter than this share of its batch's width starts a new batch: one more forward pass against padding.
_SHORTEST_ROW = 0.75


@dataclass(frozen=True, slots=True)
class PackedTree:
    """Where each node stands. Rows lie one after another, longest first; each is in preorder, the root first."""

    node_at: Int64s  # [places] node that is forwarded there
    end: Int32s  # [places] column one past the last place below, in the same row
    row_offsets: Int64s  # [rows + 1] into the places
    batch_offsets: Int64s  # [batches + 1] into the rows
    place: Int64s  # [nodes] ascending: where each node stands among its row's own; the other places repeat one


def pack_tree(tree: PrefixTree, row_length: int, batch_tokens: int) -> PackedTree:
    """Pack the nodes of `tree` into rows of about `row_length` places and batches of at most `batch_tokens`.

    See `cut_rows` and `cut_batches` for what may be longer. No nodes, no rows.
    """
    cuts = cut_rows(tree.depth, min(row_length, batch_tokens), batch_tokens)
    lengths = np.diff(cuts) + tree.depth[cuts[:-1]].astype(np.int64)
    order = np.argsort(-lengths, kind="stable")
    first, stop, lengths = cuts[:-1][order], cuts[1:][order], lengths[order]
    row_offsets = offsets_of(lengths)
    place = expand_ranges(row_offsets[1:] - (stop - first), stop - first)
    node_at = np.empty(row_offsets[-1], np.int64)
    node_at[place] = expand_ranges(first, stop - first)
    _repeat_paths(node_at, tree.parent, row_offsets[1:] - (stop - first))
    column_less_node = lengths - stop  # the same for all nodes of a row's stretch
    end = np.minimum(tree.end[node_at], np.repeat(stop, lengths)) + np.repeat(column_less_node, lengths)
    return PackedTree(node_at, end.astype(np.int32), row_offsets, cut_batches(lengths, batch_tokens), place)


def _repeat_paths(node_at: Int64s, parent: Int32s, place: Int64s) -> None:
    """Write the ancestors of each row's own first node, which is at `place` [rows], into the places before it."""
    while len(place):
        above = parent[node_at[place]]
        place, above = place[above >= 0] - 1, above[above >= 0]
        node_at[place] = above


def cut_rows(depth: Int32s, row_length: int, batch_tokens: int) -> Int64s:
    """First node of each row, and the number of nodes last, [rows + 1], for nodes in preorder of this `depth` [nodes].

    A row holds its own nodes and the `depth[first]` ancestors of the first, together at most `row_length` places. Three
    kinds are longer, so that a long context is not forwarded for each of its continuations: a row that repeated
    ancestors would fill by more than half (it goes on until half of it is new), a row after which the next one would
    be so filled (it goes on to where less is repeated, if that pays), both up to `batch_tokens`; and a single path from
    the root that is longer by itself.
    """
    # Before a node's first child no row ends: the same cut before the node itself repeats the same path and is shorter.
    branches = np.append(np.flatnonzero(depth[1:] <= depth[:-1]) + 1, len(depth))
    repeats = _EMPTY_PLACES_PER_REPEATED_NODE * np.append(depth[branches[:-1]].astype(np.int64), 0)
    full, short = repeats - branches, repeats + branches  # what a cut costs where rows shall be full, where short
    firsts = [0]
    while (first := firsts[-1]) < len(depth):
        repeated = int(depth[first])
        begin = first - repeated
        stop = begin + max(row_length, min(2 * repeated, batch_tokens))
        low, high = np.searchsorted(branches, [first, stop], side="right")
        if stop >= len(depth):
            firsts.append(len(depth))
            continue
        # Where a single path is left before the next branch, a row may have to be longer for it.
        cut = int(low) if low >= high else int(low + np.argmin(full[low:high]))
        next_repeated = int(repeats[cut]) // _EMPTY_PLACES_PER_REPEATED_NODE
        if 2 * next_repeated > row_length:
            further = begin + min(row_length + 2 * next_repeated, batch_tokens)
            reach = int(np.searchsorted(branches, further, side="right"))
            cut += int(np.argmin(short[cut : max(reach, cut + 1)]))
        firsts.append(int(branches[cut]))
    return np.asarray(firsts, np.int64)


def cut_batches(lengths: Int64s, batch_tokens: int) -> Int64s:
    """Offsets [batches + 1] of batches over rows sorted longest first, each at most `batch_tokens` padded places.

    A row that is longer by itself gets a batch of its own.
    """
    offsets, ascending = [0], -lengths
    while (first := offsets[-1]) < len(lengths):
        width = int(lengths[first])
        like = int(np.searchsorted(ascending, -_SHORTEST_ROW * width, side="right"))
        offsets.append(min(like, first + max(1, batch_tokens // width)))
    return np.asarray(offsets, np.int64)
