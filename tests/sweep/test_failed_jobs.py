"""Jobs that failed, as a list of runs shows them."""

from __future__ import annotations

from pathlib import Path

from calprobe.runs.listing import FailedRun
from calprobe.sweep import Attempt, Job, add_attempt
from calprobe.sweep.failures import failures_around


def tried(out: Path, name: str, exit_code: int, said: str = "", command: str = "score") -> None:
    given = {"model": "m", "probe": "bear"} if command == "score" else {"model": "m", "questions": "/data/a.jsonl.gz,b"}
    job = Job(name, command, "m", given, out / name, ())  # type: ignore[arg-type]
    add_attempt(out, job, Attempt(job.arguments, exit_code, 1.0, "", said))


def test_failures_below_in_and_above_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "paper"
    out.mkdir(parents=True)
    tried(out, "m/bear", 1, "calprobe: m: no such model\n  more")
    tried(out, "m/a-audit", -9, command="ask")
    tried(out, "m/interrupted", 130)
    tried(out, "n/bear", 1, "calprobe: first")
    tried(out, "n/bear", 0)
    bear, asked = str(out / "m" / "bear"), str(out / "m" / "a-audit")
    every = {
        bear: FailedRun("score", "m", "bear", "m: no such model"),
        asked: FailedRun("ask", "m", "a, b", "exit code -9"),
    }
    for folder in (tmp_path, tmp_path / "runs", out, out / "m"):
        assert failures_around(folder) == every
    assert failures_around(out / "n") == {}
    assert failures_around(out / "m" / "bear") == {bear: every[bear]}
