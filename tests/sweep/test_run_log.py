"""A sweep's runs in trackers: each once, also over several calls, and without anything that waits for it."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from run_samples import make_manifest, make_piece, without_tokens, write_run

from calprobe.errors import CalprobeError
from calprobe.runs import RunFolder
from calprobe.sweep import Job, run_log
from calprobe.sweep.run_log import FILE_NAME, RunLog
from calprobe.trackers import TrackedRun, Trackers


class Kept:
    """A tracker in memory."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, str]] = []
        self.figures: list[dict[str, float]] = []
        self.fails = False

    def begin(self, run: TrackedRun) -> None:
        if self.fails:
            raise OSError("no network")
        self.runs.append((run.name, run.id))

    def log(self, figures: Mapping[str, float], step: int) -> None:
        self.figures.append(dict(figures))

    def end(self) -> None:
        pass


def job(out: Path, name: str) -> Job:
    return Job(name, "score", "tiny", {"model": "tiny"}, out / name, ("[models.tiny]",))


def logged(out: Path, names: list[str], project: str = "paper", **trackers: Kept) -> None:
    """One call of the sweep, in which these jobs are done."""
    with RunLog(out, project, Trackers(trackers, dict.fromkeys(trackers, "mend it"), "All goes on")) as runs:
        for name in names:
            runs.add(job(out, name))


def test_each_run_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("tiny/a", "tiny/b"):
        write_run(tmp_path / name)
    first, later, kept = ["tiny/a"], ["tiny/a", "tiny/b"], Kept()
    with caplog.at_level(logging.INFO, "calprobe"):
        for names in (first, later, later):
            logged(tmp_path, names, wandb=kept)
    assert [name for name, _ in kept.runs] == ["tiny/a", "tiny/b"]
    assert kept.figures[0]["base/accuracy"] == kept.figures[0]["accuracy"]
    assert caplog.messages == ["logged 1 run: wandb, project paper"] * 2
    # Another tracker, and another project, have none of them yet.
    other = Kept()
    logged(tmp_path, later, wandb=kept, mlflow=other)
    logged(tmp_path, later, project="talk", wandb=kept)
    assert len(other.runs) == 2
    assert len(kept.runs) == 4
    # A run that was made anew is another one.
    made_anew = json.loads((tmp_path / FILE_NAME).read_text().splitlines()[0])
    assert made_anew["job"] == "tiny/a"
    write_run(tmp_path / "new", numbers=(0,)).rename(tmp_path / "tiny" / "c")
    (tmp_path / "tiny" / "a").rename(tmp_path / "old")
    (tmp_path / "tiny" / "c").rename(tmp_path / "tiny" / "a")
    logged(tmp_path, later, wandb=kept)
    assert [name for name, _ in kept.runs[4:]] == ["tiny/a"]


def test_what_a_failed_tracker_lacks_the_next_call_logs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_run(tmp_path / "a")
    good, bad = Kept(), Kept()
    bad.fails = True
    logged(tmp_path, ["a"], wandb=bad, mlflow=good)
    assert caplog.messages == ["wandb failed: no network; mend it. All goes on"]
    bad.fails = False
    logged(tmp_path, ["a"], wandb=bad, mlflow=good)
    assert (len(bad.runs), len(good.runs)) == (1, 1)


def test_a_run_that_cannot_be_read_or_is_partial_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_run(tmp_path / "good")
    RunFolder.open(tmp_path / "part", make_manifest()).write_piece(without_tokens(make_piece(("P30", 4, 3))))
    kept = Kept()
    logged(tmp_path, ["none", "part", "good"], wandb=kept)
    assert [name for name, _ in kept.runs] == ["good"]
    (said,) = caplog.messages
    assert said.startswith("none is not logged: ")


def test_waiting_for_a_slow_tracker_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(run_log, "_SECONDS_UNSAID", 0.0)
    write_run(tmp_path / "a")
    with caplog.at_level(logging.INFO, "calprobe"):
        logged(tmp_path, ["a"], wandb=Kept())
    assert caplog.messages == [
        "waiting for wandb; what Ctrl-C leaves over, the same command logs",
        "logged 1 run: wandb, project paper",
    ]


def test_a_sweep_that_is_stopped_waits_for_no_tracker(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    begun, release = threading.Event(), threading.Event()

    class Slow(Kept):
        def begin(self, run: TrackedRun) -> None:
            begun.set()
            release.wait(10)

    runs = RunLog(tmp_path, "paper", Trackers({"wandb": Slow()}, {}, ""))
    runs.__enter__()
    runs.add(job(tmp_path, "a"))
    assert begun.wait(10)
    runs.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)  # returns though a run is being logged
    assert not release.is_set()
    release.set()


def test_the_record_survives_a_kill_and_refuses_what_it_is_not(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    kept = Kept()
    logged(tmp_path, ["a"], wandb=kept)
    with (tmp_path / FILE_NAME).open("a") as stream:
        stream.write('{"tracker": "wan')
    logged(tmp_path, ["a"], wandb=kept)
    assert len(kept.runs) == 1
    write_run(tmp_path / "b")
    logged(tmp_path, ["a", "b"], wandb=kept)
    assert [json.loads(line)["job"][-1] for line in (tmp_path / FILE_NAME).read_text().splitlines()] == ["a", "b"]
    (tmp_path / FILE_NAME).write_text("[1]\n")
    with pytest.raises(CalprobeError, match=r"logged\.jsonl: not the record of logged runs, .*; delete it"):
        logged(tmp_path, ["a"], wandb=kept)
