"""Which statements are scored: relations of a probe under its own first template, cut to some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calprobe.errors import UsageError
from calprobe.probes import Probe
from calprobe.scoring import ScoreOptions
from calprobe.scoring.selection import Selection, select
from peers.job import Piece

_MIXED = 20  # relations


def slice_of(probe: Probe, what: str) -> tuple[Piece, ...]:
    """The pieces that `NAME[:INSTANCES[:CANDIDATES]]` stands for: a relation, `mixed` (20 over the probe) or `all`.

    Raises UsageError for a relation that the probe has not.

    Example: `P36:10` is 10 instances of P36 with all their candidates, `P36:10:6` the same with the first 6.
    """
    name, *sizes = what.split(":")
    if len(sizes) > 2 or not all(size.isdecimal() and int(size) for size in sizes):
        raise UsageError(f"--slices {what}: a slice is NAME, NAME:INSTANCES or NAME:INSTANCES:CANDIDATES")
    first, candidates = (*map(int, sizes), None, None)[:2]
    names = [relation.name for relation in probe.relations]
    if name == "mixed":
        step = max(1, len(names) // _MIXED)
        relations: tuple[str, ...] | None = tuple(names[::step][:_MIXED])
    else:
        relations = None if name == "all" else (name,)
    pieces = _pieces(select(probe, ScoreOptions("0", "native", relations, first=first)))
    return tuple(replace(piece, candidates=piece.candidates[:candidates]) for piece in pieces)


def scaling_pieces(probe: Probe, relation: str) -> tuple[Piece, ...]:
    """One complete relation under the twelve templates of calprobe's set."""
    return _pieces(select(probe, ScoreOptions("all", "calprobe", (relation,))))


def _pieces(selection: Selection) -> tuple[Piece, ...]:
    return tuple(
        Piece(
            relation.name,
            selection.text(relation.name, number),
            tuple(instance.subject for instance in relation.instances),
            relation.candidates,
        )
        for relation in selection.relations
        for number in selection.numbers
    )


def n_statements(pieces: Sequence[Piece]) -> int:
    """Over all pieces."""
    return sum(piece.n_statements for piece in pieces)
