"""Runs made one of their parts: the same exports as from one run, and no guess where parts disagree."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from run_samples import SHAPES, make_manifest, make_piece, without_tokens, write_run

from calprobe.cli import main
from calprobe.errors import CalprobeError, UsageError
from calprobe.runs import PieceScores, Progress, RunFolder, open_run
from calprobe.runs.manifest import Manifest
from calprobe.runs.merge import merge_runs

PIECES = [(shape, number) for shape in SHAPES for number in (0, 1)]


def write_part(
    path: Path, places: list[int], shard: str | None = None, manifest: Manifest | None = None, tokens: bool = False
) -> Path:
    """A folder with those of the PIECES."""
    folder = RunFolder.open(path, replace(manifest or make_manifest(save_tokens=tokens), shard=shard))
    for place in places:
        piece = make_piece(*PIECES[place])
        folder.write_piece(piece if tokens else without_tokens(piece))
    folder.record_progress(0, Progress(load_s=1, score_s=2, pieces=len(places), tokens=7, wall_s=2, processes=1))
    return path


def exported(run: Path, what: str) -> bytes:
    file = run.with_name(f"{run.name}.{what}.csv")
    main(["export", str(run), "--what", what, "--out", str(file)])
    return file.read_bytes()


@pytest.mark.parametrize("tokens", [False, True])
def test_shards_make_the_complete_run(tmp_path: Path, tokens: bool) -> None:
    complete = write_run(tmp_path / "complete", tokens=tokens)
    parts = [
        write_part(tmp_path / "a", [5, 0], "1/3", tokens=tokens),
        write_part(tmp_path / "b", [2, 3, 4], "2/3", tokens=tokens),
        write_part(tmp_path / "c", [1], "3/3", tokens=tokens),
    ]
    merge_runs(parts, tmp_path / "merged")
    for what in ("candidates", *(["tokens"] if tokens else [])):
        assert exported(tmp_path / "merged", what) == exported(complete, what)
    for shard in sorted((complete / "shards").iterdir()):
        assert (tmp_path / "merged" / "shards" / shard.name).read_bytes() == shard.read_bytes()
    merged = open_run(tmp_path / "merged")
    assert merged.manifest.shard is None
    n_statements = 2 * sum(instances * candidates for _, instances, candidates in SHAPES)
    assert merged.progress == Progress(3, 6, 6, n_statements, 21, 6, 1, batch_tokens=64)


def test_pieces_that_are_there_twice_must_agree(tmp_path: Path) -> None:
    one, two = write_part(tmp_path / "one", [0, 1, 2, 3]), write_part(tmp_path / "two", [2, 3, 4, 5])
    merge_runs([one, two], tmp_path / "merged")
    assert not open_run(tmp_path / "merged").partial
    other = RunFolder.open(two, make_manifest())
    piece = without_tokens(make_piece(*PIECES[3]))
    assert piece.sum is not None
    other.write_piece(replace(piece, sum=np.nextafter(piece.sum, 0)))
    with pytest.raises(CalprobeError, match=r"P1376, template 1: .*one and .*two have different scores"):
        merge_runs([one, two], tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_disk_that_takes_no_more_is_said_of_the_folder_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first write or at a later one; imports are written the same way."""
    complete = write_run(tmp_path / "complete")
    for writes in (0, 3):
        left = iter(range(writes))

        def full(_descriptor: int, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr("os.fsync", full)
            with pytest.raises(CalprobeError) as refused:
                merge_runs([complete], tmp_path / "merged")
        why = "cannot be written: No space left on device; fix this, or give another folder with --out"
        assert str(refused.value) == f"{tmp_path / 'merged'}: {why}"
        assert [path.name for path in tmp_path.iterdir()] == ["complete"]


def test_scores_that_are_not_a_number_agree(tmp_path: Path) -> None:
    piece = without_tokens(make_piece(PIECES[0][0], 0, shortest=0))
    assert isinstance(piece, PieceScores)
    assert np.isnan(np.asarray(piece.mean)).any()
    for name in ("one", "two"):
        RunFolder.open(tmp_path / name, make_manifest()).write_piece(piece)
    merge_runs([tmp_path / "one", tmp_path / "two"], tmp_path / "merged", partial=True)


def test_another_run_is_refused_by_name(tmp_path: Path) -> None:
    one = write_part(tmp_path / "one", [0])
    two = write_part(tmp_path / "two", [1], manifest=make_manifest(dtype="bfloat16"))
    with pytest.raises(UsageError) as error:
        merge_runs([one, two], tmp_path / "merged")
    assert str(error.value) == (f"{two}: not of the same run as {one}.\ndtype: {one} has float32, {two} has bfloat16")


def test_shards_of_different_counts_are_named(tmp_path: Path) -> None:
    parts = [write_part(tmp_path / "a", [0, 1], "1/3"), write_part(tmp_path / "b", [4], "2/2")]
    with pytest.raises(CalprobeError, match="the shards have different counts, 2 and 3; run them first"):
        merge_runs(parts, tmp_path / "merged")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    parts = [write_part(tmp_path / "a", [0, 1], "1/4"), write_part(tmp_path / "b", [4], "3/4")]
    with pytest.raises(CalprobeError) as error:
        merge_runs(parts, tmp_path / "merged")
    assert str(error.value) == (
        "3 pieces of 6 are in none of the runs: P1376.t0, P1376.t1, P36.t1\n"
        "shards 2, 4 of 4 were not given; run them first, or merge the others with --partial"
    )
    with pytest.raises(CalprobeError, match=r"^1 piece of 6 is in none of the runs: P1376\.t1\n"):
        merge_runs([write_part(tmp_path / "five", [0, 1, 2, 4, 5])], tmp_path / "merged")
    merge_runs(parts, tmp_path / "merged", partial=True)
    merged = open_run(tmp_path / "merged")
    assert merged.missing == (("P1376", 0), ("P1376", 1), ("P36", 1))
    assert merged.progress.pieces == 3


def test_settings_that_move_last_bits_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one = write_part(tmp_path / "one", [0, 1, 2])
    two = write_part(tmp_path / "two", [3, 4, 5], manifest=make_manifest(batch_tokens=128))
    merge_runs([one, two], tmp_path / "merged")
    assert "scored with batch_tokens 64" in caplog.text
    assert "last bits may differ" in caplog.text


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [write_part(tmp_path / "a", [0, 1, 2], "1/2"), write_part(tmp_path / "b", [3, 4, 5], "2/2")]
    main(["merge", *map(str, parts), "--out", str(tmp_path / "merged")])
    output = capsys.readouterr()
    assert output.out == ""
    assert f"{tmp_path / 'merged'}: 6 pieces, complete; next: calprobe report" in output.err
    for arguments, code in (
        ([str(parts[0]), "--out", str(tmp_path / "half")], 1),
        ([str(parts[0]), str(parts[1]), "--out", str(parts[0])], 2),
        ([str(tmp_path / "nowhere"), "--out", str(tmp_path / "half")], 3),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["merge", *arguments])
        assert stop.value.code == code
    main(["merge", str(parts[0]), "--out", str(tmp_path / "half"), "--partial"])
    assert "3 of 6 pieces; next" in capsys.readouterr().err
