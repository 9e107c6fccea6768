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
