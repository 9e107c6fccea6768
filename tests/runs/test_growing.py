"""A run that grows: more templates, relations or instances in the folder that is there, and what is there stays."""

from __future__ import annotations

import json
import logging
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import SHAPES, Shape, make_piece, without_tokens, worded

from calprobe.errors import CalprobeError, UsageError
from calprobe.runs import Manifest, PieceScores, Progress, RunFolder, open_run
from calprobe.runs.manifest_file import read_manifest
from calprobe.runs.pieces import DTYPES, PieceTokens, joined_pieces
from calprobe.runs.records import Piece

DATA = Path(__file__).parents[1] / "data"
FEWER: tuple[Shape, ...] = tuple((name, 2, k) for name, _, k in SHAPES)


def limited(manifest: Manifest, limit: int = 2) -> Manifest:
    return replace(manifest, limit=limit)


def rows(piece: PieceScores, chosen: np.ndarray) -> PieceScores:
    """The piece with the statements of these instances."""
    kept = np.flatnonzero(np.isin(piece.instance, chosen))
    columns = {name: column[kept] for name in DTYPES if (column := piece.column(name)) is not None}
    tokens = None
    if piece.tokens is not None:
        ends = piece.tokens.offsets
        places = np.concatenate([np.arange(ends[s], ends[s + 1]) for s in kept] or [np.zeros(0, np.int64)])
        names = [piece.tokens.tokens[place] for place in places]
        offsets = np.concatenate([[0], np.cumsum(np.diff(ends)[kept])]).astype(np.int64)
        tokens = PieceTokens(names, piece.tokens.roles[places], piece.tokens.logprobs[places], offsets)
    return replace(piece, **columns, tokens=tokens)


def written(path: Path, manifest: Manifest) -> RunFolder:
    """A complete run at `path`, of the first instances where the manifest has a limit."""
    folder = RunFolder.open(path, manifest)
    for piece in folder.missing():
        record, part = made(piece, manifest), folder.part(piece)
        folder.write_piece(record if part is None else folder.completed(without(record, part)))
    folder.record_progress(0, Progress(pieces=len(manifest.pieces)))
    return folder


def made(piece: Piece, manifest: Manifest) -> PieceScores:
    shape = next(shape for shape in SHAPES if shape[0] == piece.relation)
    record = make_piece(shape, piece.template)
    record = record if manifest.settings.save_tokens else without_tokens(record)
    return rows(record, np.arange(manifest.limit if manifest.limit is not None else shape[1]))


def without(record: PieceScores, part: PieceScores) -> PieceScores:
    return rows(record, np.setdiff1d(record.instance, part.instance))


def shards(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((run / "shards").iterdir())}


GROWTHS = {
    "templates": (worded((0,)), worded((0, 1, 2))),
    "templates between": (worded((0, 2)), worded((0, 1, 2))),
    "relations": (worded(shapes=SHAPES[:2]), worded()),
    "instances": (limited(worded(shapes=FEWER)), worded()),
    "tokens": (limited(worded(shapes=FEWER, save_tokens=True)), worded(save_tokens=True)),
    "all": (limited(worded((0,), FEWER[:1])), worded()),
}


@pytest.mark.parametrize("how", GROWTHS)
def test_a_grown_run_is_the_run_that_was_asked_for_at_once(tmp_path: Path, how: str) -> None:
    small, large = GROWTHS[how]
    once = written(tmp_path / "once", large)
    written(tmp_path / "run", small)
    before = shards(tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run", large)
    gone = {piece for piece in large.pieces if piece not in small.pieces}
    grew = {p for p in small.pieces if small.relation(p.relation).n_instances < large.relation(p.relation).n_instances}
    assert set(folder.missing()) == set(folder.unwritten(large.pieces)) == gone | grew
    assert shards(tmp_path / "run") == before  # nothing is set aside
    assert open_run(tmp_path / "run").partial
    written(tmp_path / "run", large)
    assert shards(tmp_path / "run") == shards(tmp_path / "once")
    grown, asked = read_manifest(tmp_path / "run"), read_manifest(tmp_path / "once")
    assert grown.identity_hash == asked.identity_hash == once.manifest.identity_hash
    assert replace(grown, grew=()) == asked
    assert grown.grew == (small.extent,)
    assert open_run(tmp_path / "run").table().scores.tobytes() == open_run(tmp_path / "once").table().scores.tobytes()


def test_a_smaller_request_leaves_the_run_as_it_is(tmp_path: Path) -> None:
    written(tmp_path, worded())
    before = (tmp_path / "manifest.json").read_bytes()
    for small, _ in GROWTHS.values():
        if not small.settings.save_tokens and set(small.pieces) <= set(worded().pieces):
            folder = RunFolder.open(tmp_path, small)
            assert (folder.missing(), folder.manifest) == ([], worded())
    assert (tmp_path / "manifest.json").read_bytes() == before


def test_templates_beside_those_that_are_there(tmp_path: Path) -> None:
    written(tmp_path, worded((1,)))
    folder = RunFolder.open(tmp_path, worded((0, 3)))
    assert [template.number for template in folder.manifest.templates] == [0, 1, 3]
    assert folder.manifest.identity_hash == worded((0, 1, 3)).identity_hash
    assert folder.missing() == [piece for piece in folder.manifest.pieces if piece.template != 1]


def test_what_would_be_more_than_either_is_refused(tmp_path: Path) -> None:
    written(tmp_path, worded((0,)))
    before = (tmp_path / "manifest.json").read_bytes()
    with pytest.raises(UsageError) as refused:
        RunFolder.open(tmp_path, worded((0, 1), SHAPES[:1]))
    assert str(refused.value).splitlines()[0] == (
        f"{tmp_path}: cannot become the requested run: the run has template 0 of P30,P1376,P36 (3 relations, 9"
        " instances), requested templates 0,1 of P30 (1 relation, 4 instances); in one run each relation is under each"
        " template, with the same choice of instances: ask for what the run has, too."
    )
    assert (tmp_path / "manifest.json").read_bytes() == before


def test_a_share_does_not_grow(tmp_path: Path) -> None:
    shard = replace(worded((0,)), shard="1/2")
    RunFolder.open(tmp_path, shard)
    with pytest.raises(UsageError, match="the shares of a run do not grow; merge them"):
        RunFolder.open(tmp_path, replace(worded((0, 1)), shard="1/2"))


def test_a_shard_with_fewer_rows_is_damaged_in_a_run_that_has_not_grown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    small = written(tmp_path / "small", limited(worded(shapes=FEWER)))
    run = written(tmp_path / "run", worded())
    name = "P30.t0.parquet"
    shutil.copy(small.path / "shards" / name, run.path / "shards" / name)
    with caplog.at_level(logging.WARNING):
        assert RunFolder.open(run.path, worded()).missing() == [("P30", 0)]
    assert "it has 6 rows of 12; renamed to P30.t0.parquet.bad" in caplog.text


@pytest.mark.parametrize(("data", "version"), [("first_format", 1), ("second_format", 2)])
def test_a_run_of_an_earlier_format_grows(tmp_path: Path, data: str, version: int) -> None:
    run = tmp_path / "run"
    shutil.copytree(DATA / data, run)
    stored = read_manifest(run)
    assert json.loads((run / "manifest.json").read_text())["calprobe_run"] == version
    before, progress = shards(run), open_run(run).progress
    assert not open_run(run).partial
    relation = stored.relations[0]
    asked = replace(
        stored,
        templates=(*stored.templates, replace(stored.templates[0], number=7)),
        relations=(replace(relation, texts=(*relation.texts, "[X]: [Y]")),),
    )
    folder = RunFolder.open(run, asked)
    assert json.loads((run / "manifest.json").read_text())["calprobe_run"] == 3
    assert folder.missing() == [("month", 7)]
    assert shards(run) == before
    found = open_run(run)
    assert (len(found.pieces), found.progress) == (2, progress)
    # What is written from now on carries its own identity.
    tokens = found.read_tokens(found.pieces[0])
    folder.write_piece(replace(found.pieces[0], template=7, tokens=tokens))
    assert not open_run(run).partial
    assert read_manifest(run).stamps(Piece("month", 7))[0].encode() in shards(run)["month.t7.parquet"]


@pytest.mark.parametrize("data", ["first_format", "second_format"])
def test_a_run_of_an_earlier_format_is_resumed_with_the_identity_that_its_shards_have(
    tmp_path: Path, data: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(DATA / data, run)
    before = (run / "manifest.json").read_bytes()
    opened = open_run(run)
    piece = opened.read_whole(Piece("month", 1))
    RunFolder.open(run, read_manifest(run)).write_piece(piece)
    assert (run / "manifest.json").read_bytes() == before
    assert opened.manifest.identity_hash.encode() in shards(run)["month.t1.parquet"]


@given(st.data())
def test_parts_of_a_piece_make_the_piece(data: st.DataObject) -> None:
    shape = ("P30", data.draw(st.integers(2, 6)), data.draw(st.integers(1, 4)))
    piece = replace(make_piece(shape, seed=data.draw(st.integers(0, 5)), shortest=0), cut_contexts=2)
    chosen = np.array(sorted(data.draw(st.sets(st.integers(0, shape[1] - 1), max_size=shape[1] - 1))), np.int32)
    one = replace(rows(piece, chosen), cut_contexts=0)
    other = rows(piece, np.setdiff1d(piece.instance, chosen))
    for joined in (joined_pieces(one, other), joined_pieces(other, one)):
        assert joined.checksum() == piece.checksum()
        assert joined.tokens is not None
        assert piece.tokens is not None
        assert joined.tokens.checksum() == piece.tokens.checksum()
        joined.validate(*shape[1:])


def test_parts_that_have_an_instance_in_common_are_refused() -> None:
    piece = make_piece(SHAPES[0])
    with pytest.raises(ValueError, match="without an instance in common"):
        joined_pieces(piece, rows(piece, np.array([1])))


def test_the_part_that_is_there_must_be_there(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path, worded())
    with pytest.raises(ValueError, match="there is no part of P30, template 0"):
        folder.completed(without_tokens(make_piece(SHAPES[0])))


def test_a_damaged_shard_of_a_grown_run_is_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    written(tmp_path, limited(worded(shapes=FEWER)))
    shard = tmp_path / "shards" / "P30.t0.parquet"
    shard.write_bytes(shard.read_bytes()[:-9])
    with caplog.at_level(logging.WARNING):
        folder = RunFolder.open(tmp_path, worded())
        assert folder.missing() == [piece for piece in worded().pieces if piece.relation != "P36"]  # of two instances
    assert shard.with_name(shard.name + ".bad").exists()
    assert [folder.part(piece) is None for piece in folder.manifest.pieces] == [True, *[False] * 3, True, True]


def test_a_manifest_that_fits_no_shard_is_refused_after_growing_too(tmp_path: Path) -> None:
    written(tmp_path / "run", worded((0,)))
    written(tmp_path / "other", worded((0,), dtype="bfloat16"))
    RunFolder.open(tmp_path / "other", worded((0, 1), dtype="bfloat16"))
    shutil.copy(tmp_path / "other" / "manifest.json", tmp_path / "run" / "manifest.json")
    with pytest.raises(CalprobeError, match="describes another run than the 3 shards beside it"):
        _ = open_run(tmp_path / "run").pieces
