"""Random trees in preorder and their layouts, by loops over parents."""

from __future__ import annotations

import random

import torch
from torch import Tensor

from calprobe.kernels.tree_layout import BLOCK_PLACES, TreeLayout


def random_parents(n_places: int, climbs: float, seed: int) -> list[int]:
    """Parent of each place of a tree in preorder, -1 at the root; `climbs` in [0, 1): near 0 a path, near 1 a bush."""
    rng = random.Random(seed)
    parents = [-1]
    for place in range(1, n_places):
        parent = place - 1
        while parents[parent] >= 0 and rng.random() < climbs:
            parent = parents[parent]
        parents.append(parent)
    return parents


def path_to(place: int, parents: list[int]) -> list[int]:
    """The places above, root first."""
    path: list[int] = []
    while (place := parents[place]) >= 0:
        path.append(place)
    return path[::-1]


def layout_of(rows: list[list[int]], device: torch.device | str = "cpu") -> TreeLayout:
    """The layout of one tree a row, all of as many places, each given by its parents."""
    paths = [[path_to(place, parents) for place in range(len(parents))] for parents in rows]
    ends = [
        [1 + max(i for i in range(len(row)) if i == place or place in row[i]) for place in range(len(row))]
        for row in paths
    ]
    firsts = [row[::BLOCK_PLACES] for row in paths]
    most = max(len(path) for row in firsts for path in row)
    padded = [[path + [0] * (most - len(path)) for path in row] for row in firsts]
    depths = [[len(path) for path in row] for row in paths]
    ancestors = torch.tensor(padded, dtype=torch.int32).view(len(rows), len(firsts[0]), most)
    end, depth = (torch.tensor(each, dtype=torch.int32) for each in (ends, depths))
    return TreeLayout(end.to(device), depth.to(device), ancestors.to(device))


def seen_in(layout: TreeLayout, window: int | None) -> Tensor:
    """Which place sees which, [rows, places, places], straight from the definition."""
    place = torch.arange(layout.end.shape[1], device=layout.end.device)
    seen = (place[None, :] <= place[:, None]) & (place[:, None] < layout.end[:, None, :])
    if window is not None:
        seen = seen & (layout.depth[:, :, None] - layout.depth[:, None, :] < window)
    return seen
