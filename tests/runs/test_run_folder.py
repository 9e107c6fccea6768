"""Writing a run: created, resumed, refused, and never believing a shard that is not complete."""

from __future__ import annotations

import logging
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import SHAPES, make_manifest, make_piece, without_tokens, write_run

from calprobe.errors import CalprobeError, UsageError
from calprobe.interop.exports import CANDIDATES, TOKENS, candidate_tables, token_tables
from calprobe.runs import Progress, RunFolder, open_run
from calprobe.runs.manifest_file import read_manifest, write_manifest
from calprobe.runs.table_files import write_tables

FIRST_FORMAT = Path(__file__).parents[1] / "data" / "first_format"
PIECES = [(shape, number) for shape in SHAPES for number in (0, 1)]


def _bytes(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def _exports(path: Path) -> dict[str, bytes]:
    """The exports of a run with tokens, as bytes."""
    out = path.with_name(f"{path.name}-exports")
    run = open_run(path)
    write_tables(CANDIDATES, candidate_tables(run), out / "candidates.parquet")
    write_tables(TOKENS, token_tables(run), out / "tokens.parquet")
    return _bytes(out)


def test_a_new_run_misses_all_pieces_and_each_written_one_is_there(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "deep" / "run", make_manifest())
    assert folder.missing() == list(folder.manifest.pieces)
    folder.write_piece(without_tokens(make_piece(SHAPES[1], 1)))
    assert folder.missing() == [piece for piece in folder.manifest.pieces if piece != ("P1376", 1)]
    assert [path.name for path in (folder.path / "shards").iterdir()] == ["P1376.t1.parquet"]


def test_a_resumed_run_keeps_its_batch_and_threads_and_its_timings(tmp_path: Path) -> None:
    first = RunFolder.open(tmp_path, make_manifest(batch_tokens=64, threads=2))
    written = (tmp_path / "manifest.json").read_bytes()
    first.record_progress(0, Progress(load_s=1, score_s=1))
    first.record_progress(0, Progress(load_s=1, score_s=2, pieces=1, statements=12, tokens=40))
    first.record_progress(1, Progress(score_s=4, pieces=2, processes=2, batch_tokens=32))
    again = RunFolder.open(tmp_path, make_manifest(batch_tokens=4096, threads=8))
    assert (again.manifest.settings.batch_tokens, again.manifest.settings.threads) == (64, 2)
    again.record_progress(0, Progress(score_s=0.5, pieces=2))
    expected = Progress(1, 6.5, 5, 12, 40, processes=2, batch_tokens=32, first_batch_tokens=64)
    assert again.progress() == open_run(tmp_path).progress == expected
    assert (tmp_path / "manifest.json").read_bytes() == written


def test_resuming_on_another_machine_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    begun = make_manifest(device_name="CPU (AVX512)", cpu_products="onednn")
    RunFolder.open(tmp_path, begun)
    RunFolder.open(tmp_path, begun)
    assert not caplog.records
    RunFolder.open(tmp_path, make_manifest(device_name="CPU (AVX2)", cpu_products="torch"))
    assert "resuming with device_name CPU (AVX2), the run started with CPU (AVX512)" in caplog.text
    assert "resuming with cpu_products torch, the run started with onednn" in caplog.text


def test_resuming_with_other_versions_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    RunFolder.open(tmp_path, make_manifest())
    with caplog.at_level(logging.WARNING):
        RunFolder.open(tmp_path, replace(make_manifest(), versions={"calprobe": "0.2.0"}))
    assert "other versions than at the start of the run: calprobe" in caplog.text


def test_another_run_in_the_folder_is_named_difference_by_difference(tmp_path: Path) -> None:
    write_run(tmp_path)
    before = _bytes(tmp_path)
    with pytest.raises(UsageError) as raised:
        RunFolder.open(tmp_path, make_manifest(SHAPES[:2], dtype="bfloat16", save_tokens=True))
    text = str(raised.value)
    assert "dtype: the run has float32, requested bfloat16; save tokens: the run has False, requested True." in text
    assert text.splitlines()[1].startswith("Give another folder with --out,")
    assert "--no-resume" in text
    for only, shard in ((True, None), (False, "1/2")):
        with pytest.raises(UsageError) as raised:
            RunFolder.open(tmp_path, replace(make_manifest(dtype="bfloat16"), shard=shard))
        assert ("\nTo go on, --dtype float32. Give another folder with --out," in str(raised.value)) == only
    assert _bytes(tmp_path) == before


def test_no_resume_starts_over_and_leaves_other_files_alone(tmp_path: Path) -> None:
    write_run(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "shards" / "P30.t0.parquet.bad").write_text("old")
    folder = RunFolder.open(tmp_path, make_manifest(dtype="bfloat16"), resume=False)
    assert folder.missing() == list(folder.manifest.pieces)
    assert sorted(_bytes(tmp_path)) == ["manifest.json", "notes.txt"]
    assert read_manifest(tmp_path).settings.dtype == "bfloat16"


@pytest.mark.parametrize("resume", [True, False])
def test_a_folder_of_other_things_is_refused_untouched(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "P30.t0.parquet").write_text("somebody's")
    with pytest.raises(UsageError, match="not a run folder, and not empty"):
        RunFolder.open(tmp_path, make_manifest(), resume)
    (tmp_path / "manifest.json").write_text('{"name": "an extension"}')
    with pytest.raises(CalprobeError, match="not the manifest of a calprobe run"):
        RunFolder.open(tmp_path, make_manifest(), resume)
    assert (tmp_path / "shards" / "P30.t0.parquet").read_text() == "somebody's"
    with pytest.raises(UsageError, match="is a file, not a folder"):
        RunFolder.open(tmp_path / "manifest.json", make_manifest(), resume)


def test_create_refuses_a_folder_that_holds_a_run(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, make_manifest())
    with pytest.raises(UsageError, match="already contains a run"):
        RunFolder.create(tmp_path, make_manifest())


def test_what_a_kill_before_the_first_manifest_leaves_is_taken_for_empty(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    (tmp_path / ".manifest.json.77.tmp").write_text('{"calpro')
    assert RunFolder.open(tmp_path, make_manifest()).missing()
    assert sorted(_bytes(tmp_path)) == ["manifest.json"]


def test_pieces_that_the_run_did_not_ask_for_are_refused(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path, make_manifest(save_tokens=True))
    with pytest.raises(ValueError, match="one of the run's, got P31"):
        folder.write_piece(make_piece(("P31", 4, 3)))
    with pytest.raises(ValueError, match=r"\[4 x 3\]"):
        folder.write_piece(make_piece(("P30", 4, 4)))
    with pytest.raises(ValueError, match="save_tokens"):
        folder.write_piece(without_tokens(make_piece(("P30", 4, 3))))
    assert len(folder.missing()) == len(PIECES)


def test_a_shard_of_another_run_or_another_piece_is_not_used(tmp_path: Path) -> None:
    ours = write_run(tmp_path / "ours")
    other = tmp_path / "other"
    RunFolder.open(other, make_manifest(dtype="bfloat16")).write_piece(without_tokens(make_piece(SHAPES[0])))
    shards = ours / "shards"
    (other / "shards" / "P30.t0.parquet").replace(shards / "P30.t0.parquet")
    (shards / "P36.t0.parquet").replace(shards / "P36.t1.parquet")
    run = open_run(ours)
    assert run.missing == (("P30", 0), ("P36", 0), ("P36", 1))
    assert RunFolder.open(ours, make_manifest()).missing() == [("P30", 0), ("P36", 0), ("P36", 1)]
    assert (shards / "P30.t0.parquet.bad").exists()


def test_a_manifest_that_fits_no_shard_is_refused_and_nothing_is_set_aside(tmp_path: Path) -> None:
    write_run(tmp_path)
    other = make_manifest(dtype="bfloat16")
    write_manifest(other, tmp_path)
    before = _bytes(tmp_path)
    for read in (lambda: open_run(tmp_path).table(), RunFolder.open(tmp_path, other).missing):
        with pytest.raises(CalprobeError, match=r"manifest\.json describes another run than the 6 shards beside it"):
            read()
    assert _bytes(tmp_path) == before


@pytest.mark.parametrize("damaged", ["one character", "the key"])
def test_a_damaged_identity_of_the_only_shard_is_no_other_run(tmp_path: Path, damaged: str) -> None:
    manifest = make_manifest()
    RunFolder.open(tmp_path / "run", manifest).write_piece(without_tokens(make_piece(SHAPES[0])))
    (shard,) = (tmp_path / "run" / "shards").iterdir()
    table = pq.read_table(shard)
    metadata = dict(table.schema.metadata)
    identity = metadata.pop(b"calprobe.run")
    key = b"calprobe.sun" if damaged == "the key" else b"calprobe.run"
    value = identity if damaged == "the key" else bytes([identity[0] ^ 1]) + identity[1:]
    pq.write_table(table.replace_schema_metadata(metadata | {key: value}), shard)
    assert set(RunFolder.open(tmp_path / "run", manifest).missing()) == set(manifest.pieces)
    assert shard.with_name(shard.name + ".bad").exists()


def test_writing_that_fails_leaves_the_old_shard_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path)
    before = _bytes(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    folder = RunFolder.open(tmp_path, make_manifest())
    with pytest.raises(CalprobeError, match="No space left on device"):
        folder.write_piece(without_tokens(make_piece(SHAPES[0], seed=9)))
    with pytest.raises(CalprobeError, match="No space left on device"):
        folder.record_progress(0, Progress(1))
    assert _bytes(tmp_path) == before


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The exports of a run that was never stopped."""
    return _exports(write_run(tmp_path_factory.mktemp("unbroken") / "run", tokens=True))


@pytest.mark.proof
@given(data=st.data())
def test_killed_damaged_and_resumed_in_any_order_exports_are_the_same(
    data: st.DataObject, unbroken: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("broken") / "run"
    manifest = make_manifest(save_tokens=True)
    folder = RunFolder.open(path, manifest)
    order = data.draw(st.permutations(PIECES))
    for shape, number in order[: data.draw(st.integers(0, len(order)))]:
        folder.write_piece(make_piece(shape, number))
    for shard in sorted((path / "shards").iterdir()):
        _damage(data, shard)
    _leave_temporary_files(data, path)
    again = RunFolder.open(path, manifest)
    for relation, number in data.draw(st.permutations(again.missing())):
        again.write_piece(make_piece(next(shape for shape in SHAPES if shape[0] == relation), number))
    assert again.missing() == []
    assert _exports(path) == unbroken
    assert not list(path.rglob("*.tmp"))


def _damage(data: st.DataObject, shard: Path) -> None:
    content = bytearray(shard.read_bytes())
    how = data.draw(st.sampled_from(["complete", "complete", "cut", "flip", "gone", "empty"]))
    if how == "gone":
        shard.unlink()
    elif how != "complete":
        place = data.draw(st.integers(0, len(content) - 1))
        if how == "flip":
            content[place] ^= 1 << data.draw(st.integers(0, 7))
        shard.write_bytes(content if how == "flip" else content[: place if how == "cut" else 0])


def _leave_temporary_files(data: st.DataObject, path: Path) -> None:
    names = ["manifest.json", "shards/P30.t0.parquet", "shards/P36.t1.parquet"]
    for name in data.draw(st.lists(st.sampled_from(names), max_size=4)):
        file = path / name
        file.with_name(f".{file.name}.{data.draw(st.integers(1, 9))}.tmp").write_bytes(b"PAR1 half of a fi")


def test_a_run_of_the_first_format_opens_and_goes_on(tmp_path: Path) -> None:
    """Scored by calprobe before manifests had checksums, shards of a run or several processes."""
    run = tmp_path / "run"
    shutil.copytree(FIRST_FORMAT, run)
    opened = open_run(run)
    assert not opened.partial
    scores = opened.table().scores
    assert scores.shape == (2, 24)  # templates, statements
    assert opened.progress.pieces == 2
    piece = opened.pieces[1]
    tokens = opened.read_tokens(piece)
    (run / "shards" / "month.t1.parquet").unlink()
    assert open_run(run).missing == (("month", 1),)
    folder = RunFolder.open(run, read_manifest(run))
    assert folder.missing() == [("month", 1)]
    folder.write_piece(replace(piece, tokens=tokens))
    folder.record_progress(0, Progress(pieces=1))
    assert open_run(run).progress.pieces == 3
    assert (run / "manifest.json").read_bytes() == (FIRST_FORMAT / "manifest.json").read_bytes()
    assert not open_run(run).partial
    assert open_run(run).table().scores.tobytes() == scores.tobytes()
