"""`calprobe runs`: what is in a folder, damaged runs too, in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from commands import calprobe
from run_samples import write_run

from calprobe.runs.listing import list_runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiments")
    write_run(folder / "complete")
    part = write_run(folder / "more" / "part", numbers=(0,))
    (part / "shards" / "P30.t0.parquet").unlink()
    damaged = write_run(folder / "damaged")
    (damaged / "manifest.json").write_text("{")
    (folder / "other").mkdir()
    return folder


def test_each_run_and_how_much_is_done(folder: Path) -> None:
    found = list_runs(folder)
    assert [(Path(run.path).name, run.done, run.pieces, run.complete) for run in found.runs] == [
        ("complete", 6, 6, True),
        ("part", 2, 3, False),
    ]
    assert [run.templates for run in found.runs] == [(0, 1), (0,)]
    assert list(found.damaged) == [str(folder / "damaged")]
    assert list_runs(folder / "complete").runs == (found.runs[0],), "the folder may be a run itself"


def test_text_and_other_formats(folder: Path) -> None:
    done = calprobe("runs", folder)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{folder}: 2 runs, 1 damaged\n")
    assert "66 % (2 of 3)" in done.stdout
    assert "DAMAGED" in done.stdout
    assert "not JSON" in done.stdout
    rows = list(csv.DictReader(io.StringIO(calprobe("runs", folder, "--format", "csv").stdout)))
    assert {row["value"] for row in rows if row["quantity"] == "done"} == {"complete", "66 % (2 of 3)"}
    found = json.loads(calprobe("runs", folder, "--json").stdout)
    assert [run["complete"] for run in found["runs"]] == [True, False]
    assert "not JSON" in found["damaged"][0]["error"]
    for form in ("markdown", "latex"):
        assert "complete" in calprobe("runs", folder, "--format", form).stdout


def test_no_folder_and_no_runs(folder: Path, tmp_path: Path) -> None:
    done = calprobe("runs", tmp_path / "absent")
    assert (done.returncode, done.stdout) == (3, "")
    assert "absent: no such folder; `calprobe score` makes runs in runs/" in done.stderr
    assert calprobe("runs", folder / "other").stdout == f"{folder / 'other'}: 0 runs\n"
