"""Progress files: complete or absent, added up over workers and sessions, and never in the way of scores."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from run_samples import SHAPES, make_manifest, make_piece, without_tokens, write_run

from calprobe.errors import UsageError
from calprobe.runs import Progress, RunFolder, open_run
from calprobe.runs.merge import merge_runs
from calprobe.runs.shards import shard_path


def test_budgets_and_counts_of_two_workers_and_two_sessions_by_hand(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path, make_manifest(batch_tokens=64))
    assert folder.progress() == Progress(batch_tokens=64)
    folder.record_progress(0, Progress(1.0, 2.0, 3, 4, 5, 6.0, processes=2, batch_tokens=64))
    folder.record_progress(10, Progress(0.5, 1.0, 1, 2, 3, processes=0, batch_tokens=16))
    assert sorted(path.name for path in (tmp_path / "progress").iterdir()) == ["0.json", "10.json"]
    once = Progress(1.5, 3.0, 4, 6, 8, 6.0, processes=2, batch_tokens=16, first_batch_tokens=64)
    assert folder.progress() == once
    resumed = RunFolder.open(tmp_path, make_manifest())
    for pieces in (1, 2):  # what a worker records replaces what it recorded before in this session
        resumed.record_progress(0, Progress(pieces=pieces))
    assert open_run(tmp_path).progress == replace(once, pieces=6)
    assert RunFolder.open(tmp_path, make_manifest(), resume=False).progress() == Progress(batch_tokens=64)


def test_a_kill_while_progress_is_recorded_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder.open(write_run(tmp_path / "run"), make_manifest())
    folder.record_progress(0, Progress(pieces=6))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.record_progress(0, Progress(pieces=7))
    monkeypatch.undo()
    (folder.path / "progress" / ".0.json.77-ab.tmp").write_text('{"calpro')
    assert (open_run(folder.path).progress.pieces, open_run(folder.path).partial) == (6, False)
    RunFolder.open(folder.path, make_manifest())
    assert [path.name for path in (folder.path / "progress").iterdir()] == ["0.json"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"calprobe_progress": 2}',
        '{"calprobe_progress": 1, "pieces": 5}',
        '{"calprobe_progress": 1, "pieces": -1, "checksum": "b4af5b0e"}',
        "[" * 100_000,
        b"\xff",
    ],
)
def test_a_damaged_file_is_left_out_and_said(
    tmp_path: Path, content: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    run = write_run(tmp_path / "run")
    RunFolder.open(run, make_manifest()).record_progress(1, Progress(pieces=2))
    (run / "progress" / "0.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    with caplog.at_level(logging.WARNING):
        assert open_run(run).progress.pieces == 2
    assert f"{run / 'progress' / '0.json'}: " in caplog.text
    assert "; its times and counts are left out" in caplog.text
    assert not open_run(run).partial


def test_an_edited_number_is_found(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path, make_manifest())
    folder.record_progress(0, Progress(batch_tokens=32))
    path = tmp_path / "progress" / "0.json"
    path.write_text(path.read_text().replace('"batch_tokens": 32', '"batch_tokens": 33'))
    assert open_run(tmp_path).progress.batch_tokens == 64


def test_nothing_is_deleted_behind_a_link(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "0.json").write_text("somebody's")
    (run / "progress").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="progress: a symbolic link, and no file behind one is deleted"):
        RunFolder.open(run, make_manifest(), resume=False)
    assert not open_run(run).partial
    assert (tmp_path / "elsewhere" / "0.json").read_text() == "somebody's"


def test_cut_contexts_lie_in_the_shards(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    plain = shard_path(run, "P36", 0).read_bytes()
    folder = RunFolder.open(run, make_manifest())
    for shape, template, count in ((SHAPES[0], 0, 1), (SHAPES[0], 1, 3), (SHAPES[2], 0, 0)):
        folder.write_piece(replace(without_tokens(make_piece(shape, template)), cut_contexts=count))
    assert open_run(run).cut_contexts == {"P30": 3}
    assert shard_path(run, "P36", 0).read_bytes() == plain
    merge_runs([run], tmp_path / "merged")
    assert open_run(tmp_path / "merged").cut_contexts == {"P30": 3}
    with pytest.raises(ValueError, match="cut_contexts must be 0 to 4, got 5"):
        folder.write_piece(replace(without_tokens(make_piece(SHAPES[0])), cut_contexts=5))


def as_first_format(run: Path) -> Path:
    """The run with its manifest as calprobe 0.1 wrote it, after batches became smaller and contexts were cut."""
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["checksums"], manifest["task"]
    manifest["calprobe_run"] = 1
    manifest["settings"] |= {"batch_tokens": 16, "first_batch_tokens": 64}
    manifest["relations"][0]["cut_contexts"] = 2
    manifest["timings"] = {"load_s": 1.5, "pieces": 6, "processes": 2}
    path.write_text(json.dumps(manifest))
    return run


def test_a_run_of_format_1_has_the_same_numbers_and_is_merged_into_format_3(tmp_path: Path) -> None:
    run = as_first_format(write_run(tmp_path / "run"))
    read = open_run(run)
    budgets = {"batch_tokens": 16, "first_batch_tokens": 64}
    assert read.progress == Progress(load_s=1.5, pieces=6, processes=2, **budgets)
    assert read.cut_contexts == {"P30": 2}
    assert read.manifest.settings.grouped_by == 64
    merge_runs([run], tmp_path / "merged")
    merged = open_run(tmp_path / "merged")
    assert json.loads((merged.path / "manifest.json").read_text())["calprobe_run"] == 3
    assert (merged.progress.load_s, merged.progress.pieces, merged.progress.batch_tokens) == (1.5, 6, 16)
    assert (merged.cut_contexts, merged.manifest.settings.grouped_by) == ({"P30": 2}, 64)
    resumed = RunFolder.open(run, make_manifest())
    resumed.record_progress(0, Progress(pieces=1, batch_tokens=8))
    assert resumed.progress() == Progress(1.5, 0, 7, processes=2, batch_tokens=8, first_batch_tokens=64)
