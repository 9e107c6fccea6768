"""Clocks that jump, and files from the future: no number depends on them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from children import Forge
from commands import exports_of
from unbroken import ASKED, Complete

from calprobe.runs import open_run

ROOT = Path(__file__).resolve().parents[2]
# Where the time of day may be read, and what for.
WALL_CLOCK = {
    "studies/overview/catalogue.py": "the age of a run, for people",
    "asking/run_manifest.py": "the manifest's created",
    "backends/openai/request_failures.py": "a server's Retry-After may be a date",
    "cli/runs.py": "runs since then",
    "grading/grade.py": "when a run was graded",
    "interop/lm_eval_import.py": "the manifest's created",
    "interop/lm_pub_quiz_import.py": "the manifest's created",
    "interop/reply_import.py": "the manifest's created",
    "runs/lock.py": "since when a folder is held, for people",
    "scoring/record.py": "the manifest's created",
    "sweep/engine.py": "when a job ended, for people",
    "trackers/mlflow.py": "when figures were logged, which MLflow wants of its client",
}


@pytest.mark.proof
def test_a_clock_that_runs_backwards(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    run = tmp_path / "run"
    clock = [4e9, 0.0, 1.7e9, 1e9, -5.0]
    assert forge.run("score", *ASKED, "--out", run, watch=run, at=24, send=15, clock=clock).code == 130
    ended = forge.run("score", *ASKED, "--out", run, watch=run, clock=clock)
    assert ended.code == 0, ended.stderr
    assert exports_of(run) == complete.exports
    progress = open_run(run).progress
    assert min(value for value in astuple(progress) if isinstance(value, int | float)) >= 0
    assert 0 < progress.score_s < 600


@pytest.mark.parametrize("moment", [0, 4_000_000_000])
def test_files_from_another_time(
    forge: Forge, complete: Complete, tmp_path: Path, reported: Callable[[Path], Any], moment: int
) -> None:
    run = shutil.copytree(complete.path, tmp_path / "run")
    for path in [*run.rglob("*"), run]:
        os.utime(path, (moment, moment))
    assert reported(run) == complete.report_of((), reported)
    ended = forge.run("score", *ASKED, "--out", run, watch=run)
    assert (ended.code, [change for change in ended.changes if "parquet" in change]) == (0, [])
    assert exports_of(run) == complete.exports


def test_the_time_of_day_is_read_for_people_only() -> None:
    reading = re.compile(r"\btime\.time\(|\bdatetime\.(now|today|utcnow)\(|\btime\.(localtime|gmtime)\(")
    modules = {
        path.relative_to(ROOT / "calprobe").as_posix()
        for path in (ROOT / "calprobe").rglob("*.py")
        if reading.search(path.read_text("utf-8"))
    }
    assert modules == set(WALL_CLOCK)
