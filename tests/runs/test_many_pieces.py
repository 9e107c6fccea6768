"""What a piece costs in a run of many pieces: counted steps, which must not grow with the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from asked_samples import make_ask_manifest, question_set
from call_counts import python_calls
from proofs import few_of
from run_samples import make_manifest, make_piece, without_tokens

from calprobe.prompts.types import Variant
from calprobe.runs import AskedPiece, Manifest, PieceScores, RelationRecord, RunFolder, open_run, shards
from calprobe.runs.records import Piece
from calprobe.runs.score_records import ScoreRecords

FEW, MANY = 2_400, 24_000
TEMPLATES = range(12)
PATTERN = without_tokens(make_piece(("R0", 1, 2)))


class CountedName(str):
    """A relation's name that counts how often it is compared or hashed: linear scans happen inside of C code."""

    __slots__ = ()
    steps = 0

    def __eq__(self, other: object) -> bool:
        CountedName.steps += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        CountedName.steps += 1
        return str.__hash__(self)


def steps_of(work: Callable[[], object]) -> int:
    """Comparisons of names, calls of functions and resumptions of generators in the work."""
    CountedName.steps = 0
    calls = python_calls(work, built_in=True)
    return calls + CountedName.steps


def manifest_of(n_pieces: int) -> Manifest:
    names = [CountedName(f"R{number}") for number in range(n_pieces // len(TEMPLATES))]
    relations = tuple(RelationRecord(name, 1, 2, "N:1") for name in names)
    return replace(make_manifest(numbers=TEMPLATES), relations=relations)


def piece_of(manifest: Manifest, place: int) -> PieceScores:
    relation, template = manifest.pieces[place]
    return replace(PATTERN, relation=CountedName(relation), template=template)


def writing(folder: Path, n_pieces: int) -> float:
    """Steps a piece of writing 200 pieces spread over the run, without the disk."""
    run = RunFolder.create(folder, manifest_of(n_pieces))
    pieces = [piece_of(run.manifest, place) for place in range(0, n_pieces, n_pieces // 200)]
    run.write_piece(pieces[0])  # lookups are made once

    def write_all() -> None:
        for piece in pieces:
            run.write_piece(piece)

    return steps_of(write_all) / len(pieces)


def reading(folder: Path, n_pieces: int) -> float:
    """Steps a piece of reading all pieces, without the disk, and of the table of their scores."""
    run = open_run(RunFolder.create(folder, manifest_of(n_pieces)).path)
    return steps_of(run.table) / n_pieces


@pytest.mark.parametrize("work", few_of([writing, reading], lambda work: work is writing))
def test_a_piece_of_a_run_of_many_costs_no_more_than_twice_that_of_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Path, int], float]
) -> None:
    def read(_self: ScoreRecords, _shard: object, piece: Piece) -> PieceScores:
        return replace(PATTERN, relation=piece.relation, template=piece.template)

    monkeypatch.setattr(shards, "write_shard", lambda *_: None)
    monkeypatch.setattr(ScoreRecords, "read", read)
    assert work(tmp_path / "many", MANY) <= 2 * work(tmp_path / "few", FEW)


def test_stamps_of_many_variants_cost_no_more_each_than_those_of_few() -> None:
    def stamping(n_variants: int) -> float:
        made = make_ask_manifest(question_set())
        variants = tuple(Variant(f"v{place}", "{input}", 8) for place in range(n_variants))
        manifest = replace(
            made,
            prompts=replace(made.prompts, variants=variants),
            asked=tuple(AskedPiece("sums", variant.name, 0, ("answer",), 1) for variant in variants),
        )
        return python_calls(lambda: [manifest.stamps(piece) for piece in manifest.pieces], built_in=True) / n_variants

    assert stamping(300) <= 2 * stamping(30)
