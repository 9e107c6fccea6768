"""Run folders from strangers: nothing is allocated, waited for or deleted on the word of a file."""

from __future__ import annotations

import json
import os
import threading
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from run_samples import SHAPES, make_manifest, make_piece, without_tokens, write_run

from calprobe.errors import CalprobeError, UsageError
from calprobe.runs import RunFolder, open_run
from calprobe.runs.manifest_file import read_manifest
from calprobe.runs.records import Piece
from calprobe.runs.shards import ROWS_A_BYTE, shard_path, write_shard


def first_format(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest, made one of format 1."""
    manifest["calprobe_run"] = 1
    del manifest["task"]
    return manifest


ABSURD: dict[str, Callable[[dict[str, Any]], object]] = {
    r"relations\[0\].n_candidates: must be 1 to 2147483647, got 1000000000000000000": lambda m: m["relations"][
        0
    ].update(n_candidates=10**18),
    r"relations\[0\].n_candidates: must be 1 to 2147483647, got 0; restore the file": lambda m: m["relations"][
        0
    ].update(n_candidates=0),
    r"relations\[0\].n_instances: must be 0 to": lambda m: m["relations"][0].update(n_instances=-1),
    r"relations\[1\].n_instances times n_candidates are": lambda m: m["relations"][1].update(
        n_instances=2**31 - 1, n_candidates=2**31 - 1
    ),
    r"relations\[0\].cut_contexts: must be": lambda m: first_format(m)["relations"][0].update(cut_contexts=10**30),
    r"relations\[0\].name: '' is empty": lambda m: m["relations"][0].update(name=""),
    r"relations\[0\].name: expected str, got": lambda m: m["relations"][0].update(name="\ud800"),
    "relations: 'P30' is there twice": lambda m: m["relations"].append(m["relations"][0]),
    r"relations\[0\].name: 'xxx": lambda m: m["relations"][0].update(name="x" * 1001),
    r"relations\[0\].name: 'P30.x00' has a NUL": lambda m: m["relations"][0].update(name="P30\0"),
    "templates: number 0 is there twice": lambda m: m["templates"].append(m["templates"][0]),
    "templates: numbers must be 0 to 999999": lambda m: m["templates"][1].update(number=2**40),
    "are 1,200,000 pieces, more than 1,000,000": lambda m: m.update(
        relations=[m["relations"][0] | {"name": f"R{n}"} for n in range(400)],
        templates=[{"number": n, "kind": "paraphrase"} for n in range(3000)],
    ),
    "shard: expected I/N with I from 1 to N, got '3/2'": lambda m: m.update(shard="3/2"),
    "limit: must be 1 or more, got 0": lambda m: m.update(limit=0),
    "sample_seed: must be 0 or more, and that of a limit, got 3": lambda m: m.update(sample_seed=3),
    "sample_seed: must be 0 or more, and that of a limit, got -1": lambda m: m.update(limit=2, sample_seed=-1),
    "n_probe_relations: must be 3 to 2147483647, got 2": lambda m: m.update(n_probe_relations=2),
    r"relations\[0\].n_in_probe: must be 4 to 2147483647, got 3": lambda m: m["relations"][0].update(n_in_probe=3),
    r"relations\[0\].n_same_tokens: must be 0 to": lambda m: m["relations"][0].update(n_same_tokens=-1),
    "timings.load_s: expected a number, got inf": lambda m: first_format(m).update(timings={"load_s": float("inf")}),
    "timings.score_s: expected a number": lambda m: first_format(m).update(timings={"score_s": 10**400}),
    "not the manifest of a calprobe run": lambda m: m.update(calprobe_run=True),
}


@pytest.mark.parametrize(("message", "change"), ABSURD.items(), ids=[message[:40] for message in ABSURD])
def test_absurd_manifests_are_refused(tmp_path: Path, message: str, change: Callable[[dict[str, Any]], object]) -> None:
    path = write_run(tmp_path / "run") / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["checksums"]  # whoever makes a manifest up leaves them out
    change(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(CalprobeError, match=message) as raised:
        open_run(tmp_path / "run")
    assert str(raised.value).startswith(str(path))
    assert len(str(raised.value)) < len(str(path)) + 300


def test_nested_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(CalprobeError, match=r"manifest.json: damaged, not JSON"):
        open_run(tmp_path)


def test_the_largest_manifest_costs_no_room_without_its_scores(tmp_path: Path) -> None:
    largest = [("P30", 2**31 - 1, 1), ("P36", 1, 2**31 - 1), ("P1376", 46340, 46340)]
    RunFolder.open(tmp_path / "run", make_manifest(largest))
    tracemalloc.start()
    try:
        run = open_run(tmp_path / "run")
        assert run.partial
        assert run.table().n_instances == 0
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def _bomb(run: Path, n_rows: int, **columns: pa.Array) -> Path:
    """A shard of a few kilobytes, with the piece's identity, that says it has that many rows."""
    path = shard_path(run, "P30", 0)
    like = pq.read_table(path)
    zeros = {f.name: pa.array(np.zeros(n_rows, f.type.to_pandas_dtype())) for f in like.schema if f.type != pa.string()}
    names = {f.name: pa.repeat(pa.scalar("answer"), n_rows) for f in like.schema if f.type == pa.string()}
    table = pa.table({f.name: (names | zeros | columns)[f.name] for f in like.schema}, like.schema.with_metadata(None))
    identity = {b"calprobe.run": read_manifest(run).stamps(Piece("P30", 0))[0].encode()}
    pq.write_table(table.replace_schema_metadata(identity), path, compression="zstd", write_page_checksum=True)
    return path


def _read_within(run: Path, mebibytes: int) -> bool:
    """Whether the run is partial, read with no more room in Arrow than that."""
    pool = pa.default_memory_pool()
    before = pool.max_memory()
    partial = open_run(run).partial
    assert pool.max_memory() <= max(before, mebibytes * 2**20)
    return partial


def test_shards_of_more_rows_than_the_manifest_are_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = write_run(tmp_path / "run")
    assert _bomb(run, 1_000_000).stat().st_size < 100_000
    assert open_run(run).partial
    assert f"it has 1000000 rows of {SHAPES[0][1] * SHAPES[0][2]}; left out" in caplog.text


def test_shards_too_small_for_the_rows_that_both_promise_are_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    n_rows = 2_000_000
    run = tmp_path / "run"
    RunFolder.open(run, make_manifest([("P30", 1, n_rows)], numbers=(0,)))
    path = shard_path(run, "P30", 0)
    table = pa.table({"sum": pa.array(np.zeros(n_rows))})
    # The rows are looked at before the columns: any file that promises as many will do.
    schema = pq.read_table(shard_path(write_run(tmp_path / "other"), "P30", 0)).schema
    columns = [pa.nulls(n_rows, field.type) if field.type != pa.float64() else table["sum"] for field in schema]
    identity = {b"calprobe.run": read_manifest(run).stamps(Piece("P30", 0))[0].encode()}
    full = pa.Table.from_arrays(columns, schema=schema.with_metadata(identity))
    pq.write_table(full, path, compression="zstd", row_group_size=n_rows)
    assert path.stat().st_size * ROWS_A_BYTE < n_rows
    del full, columns, table
    assert open_run(run).partial
    assert f"it is too small for {n_rows} rows of scores; left out" in caplog.text


@pytest.mark.parametrize(
    ("column", "value"), [("answer_idx", 3), ("answer_idx", -1), ("candidate", 7), ("instance", 0)]
)
def test_places_that_are_none_are_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, column: str, value: int
) -> None:
    run = write_run(tmp_path / "run", numbers=(0,))
    piece = without_tokens(make_piece(SHAPES[0]))
    made_up = replace(piece, **{column: np.full_like(piece.column(column), value)})
    manifest = read_manifest(run)
    write_shard(run, manifest.records(), made_up, manifest.stamps(made_up.piece)[0])  # its checksum is right
    assert open_run(run).partial
    assert "P30, template 0: " in caplog.text


def test_long_names_of_roles_are_not_written_out_row_by_row(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    n_rows = SHAPES[0][1] * SHAPES[0][2]
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), pa.array(["x" * 2**24])).cast("string")
    assert _bomb(run, n_rows, first_role=long, relation=long).stat().st_size < 100_000
    del long
    pool = pa.default_memory_pool()
    pool.release_unused()
    held = pool.bytes_allocated()
    assert _read_within(run, held // 2**20 + 3 * 16 + 8)  # the name itself and its pages, not a dozen of it


def test_what_is_no_file_is_not_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = write_run(tmp_path / "run")
    path = shard_path(run, "P30", 0)
    path.unlink()
    os.mkfifo(path)
    found: list[bool] = []
    reader = threading.Thread(target=lambda: found.append(open_run(run).partial), daemon=True)
    reader.start()
    reader.join(timeout=30)
    assert found == [True]
    assert "it is not a file; left out" in caplog.text
    (run / "manifest.json").unlink()
    os.mkfifo(run / "manifest.json")
    with pytest.raises(CalprobeError, match="not a run folder"):
        open_run(run)


def test_links_are_checked_as_files_are_and_never_deleted_or_written_through(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run, secret = write_run(tmp_path / "run"), tmp_path / "secret.parquet"
    secret.write_text("password:x:0:0")
    path = shard_path(run, "P30", 0)
    path.unlink()
    path.symlink_to(secret)
    assert open_run(run).partial
    assert "password" not in caplog.text
    assert RunFolder.open(run, make_manifest()).missing() == [("P30", 0)]  # the link is set aside
    assert secret.read_text() == "password:x:0:0"
    (run / "shards").rename(tmp_path / "elsewhere")
    (run / "shards").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / ".of-another-program.tmp").touch()
    held = sorted(path.name for path in (tmp_path / "elsewhere").iterdir())
    with pytest.raises(UsageError, match="a symbolic link, and no file behind one is deleted"):
        RunFolder.open(run, make_manifest(), resume=False)
    RunFolder.open(run, make_manifest())
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == held
