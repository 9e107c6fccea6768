"""What calprobe's statements cost as candidates, templates and instances grow, one axis at a time, on one relation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from peers.calprobe import Calprobe
from peers.job import Piece
from peers.slices import n_statements

CANDIDATES, TEMPLATES, INSTANCES = (5, 10, 20, 40, 60), (1, 2, 4, 8, 12), (5, 15, 30, 60)
_FEW, _SOME = 3, 20  # instances, where another axis is walked


def scaling(scorer: Calprobe, pieces: Sequence[Piece]) -> list[dict[str, Any]]:
    """A row for each value of each axis, run once, already warm; what the relation is too small for is left out."""
    rows = []
    for axis, value, cut in _cuts(pieces):
        started = time.perf_counter()
        scorer.score(cut, None)
        seconds = time.perf_counter() - started
        row: dict[str, Any] = {"axis": axis, "value": value, "statements": n_statements(cut), **scorer.counts(cut)}
        rows.append(row | {"seconds": round(seconds, 3), "statements_per_s": round(row["statements"] / seconds, 1)})
    return rows


def _cuts(pieces: Sequence[Piece]) -> Iterator[tuple[str, int, list[Piece]]]:
    first = pieces[0]
    for value in CANDIDATES:
        if value <= len(first.candidates):
            yield "candidates", value, [_cut(first, _SOME, value)]
    for value in TEMPLATES:
        if value <= len(pieces):
            yield "templates", value, [_cut(piece, _FEW, len(first.candidates)) for piece in pieces[:value]]
    for value in INSTANCES:
        if value <= len(first.subjects):
            yield "instances", value, [_cut(first, value, len(first.candidates))]


def _cut(piece: Piece, instances: int, candidates: int) -> Piece:
    return replace(piece, subjects=piece.subjects[:instances], candidates=piece.candidates[:candidates])
