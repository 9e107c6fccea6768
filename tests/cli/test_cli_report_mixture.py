"""`calprobe report` of folders of runs: those of one kind as if each had been named, those of both side by side."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from asked_samples import write_asked
from commands import calprobe
from run_samples import write_run

QUICK = ("--bootstrap", "20")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("a", "b"):
        write_run(folder / "scored" / name)
        write_asked(folder / "asked" / name)
    damaged = write_run(folder / "scored" / "damaged")
    (damaged / "manifest.json").write_text("{")
    return folder


def test_a_folder_of_one_kind_is_all_its_runs(folder: Path) -> None:
    for kind in ("scored", "asked"):
        every = calprobe("report", folder / kind, *QUICK)
        named = calprobe("report", folder / kind / "a", folder / kind / "b", *QUICK)
        assert every.returncode == 0
        assert every.stdout == named.stdout
    labelled = calprobe("report", folder / "scored", *QUICK, "--label", "a=First", "--format", "csv").stdout
    assert {row["run"] for row in csv.DictReader(io.StringIO(labelled))} == {"First", str(folder / "scored" / "b")}


def test_labels_that_are_typed_win(folder: Path) -> None:
    runs = (folder / "scored" / "a", folder / "asked" / "b")
    found = json.loads(calprobe("report", *runs, *QUICK, "--label", f"{runs[0]}=Mine", "--json").stdout)["tasks"]
    assert {name: list(task["runs"]) for name, task in found.items()} == {"made-up": ["Mine"], "sums: made-up": ["toy"]}


def test_damaged_runs_are_left_out_and_named(folder: Path) -> None:
    assert "not JSON" in calprobe("report", folder / "scored", *QUICK).stderr


def test_both_kinds_stand_side_by_side(folder: Path, tmp_path: Path) -> None:
    done = calprobe("report", folder, *QUICK, "--html", tmp_path / "all.html")
    assert done.returncode == 0
    assert done.stdout.startswith(f"{folder}: 4 runs of 2 tasks\n")
    found = json.loads(calprobe("report", folder, *QUICK, "--json").stdout)["tasks"]
    assert {name: task["kind"] for name, task in found.items()} == {"sums: made-up": "asked", "made-up": "scored"}
    assert found["made-up"]["comparison"]["pairs"]
    rows = list(csv.DictReader(io.StringIO(calprobe("report", folder, *QUICK, "--format", "csv").stdout)))
    assert {(row["task"], row["metric"]) for row in rows} >= {("made-up", "accuracy"), ("sums: made-up", "ece")}
    assert "Differences between its runs" in (tmp_path / "all.html").read_text()


@pytest.mark.parametrize(
    "given", [("--by", "domain"), ("--reader", "first_char"), ("--tables", "summary"), ("--look", "width=5")]
)
def test_options_of_one_kind_say_how_to_choose_it(folder: Path, given: tuple[str, str]) -> None:
    done = calprobe("report", folder, *given)
    assert done.returncode == 2
    name = "--look width" if given[0] == "--look" else given[0]
    assert f"{name} applies to runs of " in done.stderr
    assert "is a run of scores, " in done.stderr
    assert "calprobe runs DIR --kind scored --paths" in done.stderr


def test_a_folder_without_runs_is_no_run(tmp_path: Path) -> None:
    done = calprobe("report", tmp_path)
    assert done.returncode == 3
    assert "not a run folder" in done.stderr
