"""A plan whose rows are as full as those of a run: what a check of a few statements runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calprobe.planning.prefix_tree import Int32s, Int64s
from calprobe.planning.tree_plan import TreeBatch, TreePlan


@dataclass(frozen=True, slots=True)
class FilledPlan:
    """A plan with other statements put into every row, so that it is full and nothing that is scored changes.

    They stand in front of each branch, or all at the end. In front, what a statement shares with others is as far from
    it, in places, as in a row of a run: layers that measure by places where they should by depth (ALiBi by slots, a
    window of GPT-Neo's kind) give the same scores in short rows and others in full ones.
    """

    plan: TreePlan
    width: int
    at_end: bool = False

    @property
    def n_batches(self) -> int:
        """Number of forward passes."""
        return self.plan.n_batches

    @property
    def edge_of_token(self) -> Int32s:
        """[scored tokens], as the plan's."""
        return self.plan.edge_of_token

    def batch(self, index: int) -> TreeBatch:
        """The forward pass `index`, its rows `width` long; unchanged if they are as long by themselves."""
        batch = self.plan.batch(index)
        now = batch.token_ids.shape[1]
        if now >= self.width:
            return batch
        rows = [_filled(batch, row, self.width, self.at_end) for row in range(len(batch.lengths))]
        row_of, column_of = np.divmod(batch.scored, now)
        columns = [row.column_of[column_of[row_of == index]] for index, row in enumerate(rows)]
        return replace(
            batch,
            token_ids=np.stack([row.token_ids for row in rows]),
            position_ids=np.stack([row.depth for row in rows]),
            end=np.stack([row.end for row in rows]),
            lengths=np.full(len(rows), self.width),
            scored=row_of * self.width + np.concatenate(columns),
        )


@dataclass(frozen=True, slots=True)
class _Row:
    token_ids: Int64s  # [width]
    depth: Int64s  # [width]
    end: Int64s  # [width]
    column_of: Int64s  # [places before], where each is now


def _filled(batch: TreeBatch, row: int, width: int, at_end: bool) -> _Row:
    used = int(batch.lengths[row])
    token_ids, depth, end = (values[row, :used] for values in (batch.token_ids, batch.position_ids, batch.end))
    # A branch begins behind the start token, and where a place is not below the one in front of it.
    branches = np.array([used]) if at_end else np.append(1, 2 + np.flatnonzero(depth[2:] <= depth[1:-1]))
    bounds = np.linspace(0, width - used, len(branches) + 1).astype(np.int64)
    shares = bounds[1:] - bounds[:-1]
    number = np.concatenate([np.arange(share) for share in shares])  # of a place, among those in front of its branch
    depth_of_branch = np.append(depth, 1)[branches]
    length = np.repeat(depth.max().clip(1) + 1 - depth_of_branch, shares)  # of a statement, which makes no row deeper
    behind = np.minimum(length - number % length, np.repeat(shares, shares) - number)  # places to its end
    in_front_of = np.repeat(branches, shares)
    columns = in_front_of + np.arange(len(in_front_of))

    def with_others(values: Int64s, others: npt.ArrayLike) -> Int64s:
        return np.insert(values, in_front_of, others)

    # What ends in front of a branch does not hold what is put there.
    new_end = with_others(end + np.searchsorted(in_front_of, end, side="left"), columns + behind)
    new_end[0] = width
    return _Row(
        with_others(token_ids, np.resize(token_ids[1:] if used > 1 else token_ids, len(columns))),
        with_others(depth, np.repeat(depth_of_branch, shares) + number % length),
        new_end,
        np.arange(used) + np.searchsorted(in_front_of, np.arange(used), side="right"),
    )
