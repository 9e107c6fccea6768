"""Runs made up for comparisons: the same instances and answers, other scores for each seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from run_samples import Shape, make_manifest, make_piece, without_tokens

from calprobe.runs import Manifest, PieceScores, RunFolder

SHAPES: tuple[Shape, ...] = (("P1376", 8, 5), ("P30", 12, 3), ("P36", 10, 4))
DOMAINS: Mapping[str, tuple[str, ...]] = {"P30": ("Arts",), "P36": ("Arts", "Politics"), "P1376": ("Politics",)}
NUMBERS = (0, 1, 2)


def with_model(**changes: Any) -> Callable[[Manifest], Manifest]:
    return lambda manifest: replace(manifest, model=replace(manifest.model, **changes))


def with_relations(**changes: Any) -> Callable[[Manifest], Manifest]:
    """The same changes to every relation's record."""
    return lambda manifest: replace(
        manifest, relations=tuple(replace(relation, **changes) for relation in manifest.relations)
    )


def run_of(
    path: Path,
    seed: int = 0,
    change: Callable[[Manifest], Manifest] = lambda manifest: manifest,
    shapes: Sequence[Shape] = SHAPES,
    numbers: Sequence[int] = NUMBERS,
    edit: Callable[[PieceScores], PieceScores | None] = lambda piece: piece,
) -> str:
    """A run at `path`; `edit` changes a piece, or leaves it out. Returns the path as one types it."""
    manifest = make_manifest(shapes, numbers)
    relations = tuple(
        replace(relation, domains=DOMAINS.get(relation.name, ()), texts=tuple(f"[X] {n} [Y]" for n in numbers))
        for relation in manifest.relations
    )
    folder = RunFolder.open(path, change(replace(manifest, relations=relations)))
    for shape in shapes:
        for number in numbers:
            answers = make_piece(shape, number).answer_idx  # of seed 0
            piece = edit(replace(without_tokens(make_piece(shape, number, seed)), answer_idx=answers))
            if piece is not None:
                folder.write_piece(piece)
    return str(path)
