"""The plan of a causal model: a prefix tree packed into rows and batches, with nothing scored twice.

A row of a batch is a tree in depth-first preorder, so its attention mask is one interval test: place `i` sees place `j`
exactly when `j <= i < end[j]`. Position ids are depths. A row that begins inside the tree repeats the path to its first
node; the repeated nodes are forwarded there once more, but scored only in the row that they belong to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.planning.edges import EdgePlan
from calprobe.planning.packing import pack_tree
from calprobe.planning.prefix_tree import Int32s, Int64s, build_prefix_tree, expand_ranges, offsets_of
from calprobe.planning.token_rows import TokenRows


@dataclass(frozen=True, slots=True)
class TreeBatch:
    """One forward pass, rows padded on the right to the longest.

    Padding holds the start token at position 0 and sees itself only, so that its attention is defined; nothing sees it.
    """

    token_ids: Int64s  # [rows, width]
    position_ids: Int64s  # [rows, width]
    end: Int64s  # [rows, width] place i of a row sees place j of it exactly when j <= i < end[j]
    lengths: Int64s  # [rows] places in use; the first row is the longest
    scored: (
        Int64s  # [states of the batch] places of the hidden states that are needed, as row * width + column, ascending
    )
    target_offsets: Int64s  # [states of the batch + 1] into `targets`; every state has at least one
    targets: Int64s  # [edges of the batch] tokens to score at each of those places
    edges: slice  # where the scores of `targets` belong in the plan's scores [edges]


@dataclass(frozen=True, slots=True)
class TreePlan(EdgePlan):
    """What to forward and what to score. Rows lie one after another, longest first; the states are nodes."""

    token_ids: Int32s  # [places]; the start token at the first place of every row
    position_ids: Int32s  # [places] depth in the tree
    end: Int32s  # [places] column one past the last place below, in the same row
    row_offsets: Int64s  # [rows + 1] into the places
    scored: Int64s  # [states] place of each distinct node with an edge, ascending; other places: repeated or context

    def batch(self, index: int) -> TreeBatch:
        """The forward pass `index`, in the shapes that a model takes."""
        rows = self.row_offsets[self.batch_offsets[index] : self.batch_offsets[index + 1] + 1]
        lengths = np.diff(rows)
        width = int(lengths[0])
        column = np.broadcast_to(np.arange(width), (len(lengths), width))
        is_used = column < lengths[:, None]
        first, last = np.searchsorted(self.scored, rows[[0, -1]])
        place = self.scored[first:last]
        row = np.searchsorted(rows, place, side="right") - 1
        target_offsets, targets, edges = self.targets_of(first, last)

        def dense(values: Int32s, padding: npt.ArrayLike) -> Int64s:
            filled = np.array(np.broadcast_to(padding, is_used.shape), np.int64)
            filled[is_used] = values[rows[0] : rows[-1]]
            return filled

        return TreeBatch(
            token_ids=dense(self.token_ids, self.token_ids[0]),
            position_ids=dense(self.position_ids, 0),
            end=dense(self.end, column + 1),
            lengths=lengths,
            scored=place - rows[row] + row * width,
            target_offsets=target_offsets,
            targets=targets,
            edges=edges,
        )


def plan_tree(rows: TokenRows, start_token_id: int, batch_tokens: int, row_length: int = 512) -> TreePlan:
    """Plan the statements of `rows`, each behind the start token, for a model that takes a tree mask.

    A batch holds at most `batch_tokens` padded places, a row at most `row_length` of them; only a single statement that
    is longer by itself gets more (and see `cut_rows` for contexts longer than half a row). Batches depend on the set of
    statements only, not on their order or on duplicates among them. No statements, no batches.

    Raises ValueError if `batch_tokens` or `row_length` is not positive, a statement has no token or a token id is
    negative.
    """
    for name, value in (("batch_tokens", batch_tokens), ("row_length", row_length)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    tree = build_prefix_tree(rows, start_token_id)
    packed = pack_tree(tree, row_length, batch_tokens)
    nodes = packed.node_at[packed.place]
    n_edges = np.diff(tree.edge_offsets)[nodes]
    edges = expand_ranges(tree.edge_offsets[nodes], n_edges)
    rank = np.empty(tree.n_edges, np.int32)
    rank[edges] = np.arange(tree.n_edges, dtype=np.int32)
    return TreePlan(
        token_ids=tree.token_ids[packed.node_at],
        position_ids=tree.depth[packed.node_at],
        end=packed.end,
        row_offsets=packed.row_offsets,
        batch_offsets=packed.batch_offsets,
        scored=packed.place[n_edges > 0],
        edge_offsets=offsets_of(n_edges[n_edges > 0]),
        edge_tokens=tree.edge_tokens[edges],
        edge_of_token=rank[tree.edge_of_token],
    )


def block_ancestors(depth: Int64s, block: int) -> Int32s:
    """The places above the first of each `block` places of a row, root first, [rows, blocks, most of them].

    A place before a block is above one in it exactly if it is above the block's first place: between a place and one
    below it, all are below it. The first `depth` of a block's first place are used; behind them are zeros.

    Args:
        depth: places above each place, rows in preorder, the root first, [rows, width] (as `TreeBatch.position_ids`).
        block: places in a block, > 0; the last of a row may hold fewer.

    >>> block_ancestors(np.array([[0, 1, 2, 2, 1, 2]]), 2).tolist()  # blocks begin at places 0, 2 and 4
    [[[0, 0], [0, 1], [0, 0]]]
    """
    n_rows, width = depth.shape
    flat = depth.ravel()
    first = (np.arange(n_rows)[:, None] * width + np.arange(0, width, block)).ravel()
    n_above = flat[first]
    ancestors = np.zeros((len(first), int(n_above.max(initial=0))), np.int32)
    # The ancestor in a depth is the last place of that depth before: no later one could lie between.
    wanted = expand_ranges(np.zeros(len(first), np.int64), n_above)
    # NumPy sorts stably by radix where keys have 16 bits: three times as fast.
    order = np.argsort(flat.astype(np.int16) if flat.max(initial=0) < 2**15 else flat, kind="stable")
    by_depth = flat[order] * len(flat) + order
    found = by_depth[np.searchsorted(by_depth, wanted * len(flat) + np.repeat(first, n_above)) - 1]
    ancestors[np.repeat(np.arange(len(first)), n_above), wanted] = found % len(flat) % width
    return ancestors.reshape(n_rows, len(first) // n_rows, ancestors.shape[1])
