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


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))


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
    assert "partial 66 % (2 of 3)" in done.stdout
    assert "DAMAGED" in done.stdout
    assert "not JSON" in done.stdout
    rows = list(csv.DictReader(io.StringIO(calprobe("runs", folder, "--format", "csv").stdout)))
    assert {row["value"] for row in rows if row["quantity"] == "state"} == {"complete", "partial 66 % (2 of 3)"}
    found = json.loads(calprobe("runs", folder, "--json").stdout)
    assert [run["complete"] for run in found["runs"]] == [True, False]
    assert [run["state"] for run in found["runs"]] == ["complete", "partial"]
    assert all(0 <= run["headline"]["accuracy"] <= 1 and run["bytes"] and run["age_s"] for run in found["runs"])
    assert "not JSON" in found["damaged"][0]["error"]
    for form in ("markdown", "latex"):
        assert "complete" in calprobe("runs", folder, "--format", form).stdout


def test_what_a_run_lacks_is_in_no_file() -> None:
    asked = Path(__file__).parents[1] / "golden" / "runs" / "labels"  # replies have no templates
    rows = list(csv.DictReader(io.StringIO(calprobe("runs", asked, "--format", "csv").stdout)))
    found = {row["quantity"]: row["value"] for row in rows}
    assert found["kind"] == "asked"
    assert "templates" not in found


def test_a_narrow_list_says_which_run_is_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = calprobe("runs", Path(__file__).parents[1] / "golden" / "runs").stdout  # runs by ACE, and others by ECE
    heads = next(line for line in listed.splitlines() if line.startswith("run ")).split()
    assert heads[:5] == ["run", "state", "model", "probe", "accuracy"]


def test_no_folder_and_no_runs(folder: Path, tmp_path: Path) -> None:
    done = calprobe("runs", tmp_path / "absent")
    assert (done.returncode, done.stdout) == (3, "")
    assert "absent: no such folder; `calprobe score` makes runs in runs/" in done.stderr
    (tmp_path / "file").touch()
    assert "a file, not a folder" in calprobe("runs", tmp_path / "file").stderr
    assert calprobe("runs", folder / "other").stdout == f"{folder / 'other'}: 0 runs\n"


def test_folders_with_spaces_are_told_apart_by_nul(tmp_path: Path) -> None:
    for name in ("a b", "c"):
        write_run(tmp_path / name)
    assert calprobe("runs", tmp_path, "--paths", "--null").stdout == f"{tmp_path}/a b\0{tmp_path}/c\0"
    assert calprobe("runs", tmp_path, "--paths", "--null", "--model", "gpt").stdout == ""
    assert "--null is for --paths; give both" in calprobe("runs", tmp_path, "--null").stderr


def test_filters_order_and_paths_for_other_commands(folder: Path) -> None:
    assert calprobe("runs", folder, "--state", "partial", "--paths").stdout == f"{folder}/more/part\n"
    assert calprobe("runs", folder, "--sort", "size", "--paths").stdout.split()[0] == f"{folder}/complete"
    assert calprobe("runs", folder, "--model", "gpt").stdout.startswith(f"{folder}: 0 runs, 2 more left out")
    assert calprobe("runs", folder, "--since", "2025-12-31", "--paths").stdout.count("\n") == 2
    assert calprobe("runs", folder, "--since", "1min", "--paths").stdout.strip() == ""
    without = calprobe("runs", folder, "--no-numbers").stdout
    assert "ACE" in calprobe("runs", folder).stdout
    assert "ACE" not in without


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--state", "done"), "--state: no"),
        (("--since", "yesterday"), "--since 'yesterday': give 90min, 3h, 2d, 1w, or a date such as 2026-05-01"),
        (("--paths", "--json"), "--paths prints folders alone; leave out --format and --json"),
    ],
)
def test_wrong_filters_are_refused(folder: Path, given: tuple[str, ...], said: str) -> None:
    done = calprobe("runs", folder, *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_table_fits_a_terminal_of_a_hundred_columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = calprobe("runs", folder).stdout.splitlines()
    assert all(len(line) <= 100 for line in lines if "DAMAGED" not in line)
    assert all(title in lines[2] for title in ("state", "model", "probe", "accuracy", "ACE", "age", "size"))
