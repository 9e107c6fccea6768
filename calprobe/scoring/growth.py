"""A run that grows: what its folder lacks of a request, and what was added to a piece by which request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calprobe.probes import Relation
from calprobe.runs import Manifest, RunFolder
from calprobe.runs.extent import Extent
from calprobe.runs.records import Piece
from calprobe.scoring.probe_selection import Selection, instances_of

# Missing pieces, each with the instances (line numbers) that its shard has; none if there is no shard.
Lacking = Mapping[Piece, Sequence[int]]


def lacking(folder: RunFolder, asked: Selection) -> Lacking:
    """The pieces that lack an instance of the request."""
    found: dict[Piece, Sequence[int]] = {}
    wanted = {relation.name: {instance.index for instance in relation.instances} for relation in asked.relations}
    for piece in folder.missing():
        part = folder.part(piece)
        there: Sequence[int] = () if part is None else np.unique(part.instance).tolist()
        if piece.template in asked.numbers and not wanted.get(piece.relation, set()) <= set(there):
            found[piece] = there
    return found


def as_lists(found: Lacking) -> list[list[Any]]:
    """For other processes, in JSON."""
    return [[*piece, list(there)] for piece, there in found.items()]


def from_lists(lists: Sequence[Sequence[Any]]) -> Lacking:
    """What `as_lists` made lists of."""
    return {Piece(relation, number): there for relation, number, there in lists}


def without(relation: Relation, indices: Sequence[int]) -> Relation:
    """The relation without the instances of these line numbers."""
    there = set(indices)
    return replace(relation, instances=tuple(i for i in relation.instances if i.index not in there))


class Part(NamedTuple):
    """What is scored of a piece at once: all of it, or what was added when the run grew."""

    request: int  # by which of the run's requests it was added, from 0
    relation: Relation  # with these instances


def parts_of(manifest: Manifest, selection: Selection) -> dict[Piece, Part]:
    """Of each piece of the run, in its order, what was added last. `selection` is that of the complete run."""
    return {piece: _added(manifest, selection, piece) for piece in manifest.pieces}


def _added(manifest: Manifest, selection: Selection, piece: Piece) -> Part:
    relation = selection.relation(piece.relation)
    before: Extent | None = None
    for request, extent in enumerate(manifest.grew):
        if extent.has(piece) and extent.same_instances(manifest.extent):
            return Part(request, _after(before, relation, selection))
        before = extent if extent.has(piece) else before
    return Part(len(manifest.grew), _after(before, relation, selection))


def _after(before: Extent | None, relation: Relation, selection: Selection) -> Relation:
    """The relation without the instances that the run had of it before."""
    if before is None:
        return relation
    had = instances_of(selection.probe.relation(relation.name), before.limit, before.sample_seed)
    return without(relation, [instance.index for instance in had.instances])
