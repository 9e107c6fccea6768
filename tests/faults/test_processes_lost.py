"""Several processes under torch's launcher: equal bytes, and every way to end early."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from children import LONGEST_S, Forge
from commands import exports_of
from unbroken import ASKED, Complete

from calprobe.runs import open_run

COMMAND = ("score", *(word for word in ASKED if word != "--quiet"), "--out")
LEFT = "pieces are left.\nRun the same command again to resume in"


def test_three_processes_give_the_bytes_of_one(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = forge.run(*COMMAND, run, watch=run, processes=3)
    assert ended.code == 0, ended.stderr
    assert ended.stderr.count("complete; next: calprobe report") == 1
    total = sum(relation.n_statements for relation in open_run(run).manifest.relations) * 2
    assert f"{total:,} of {total:,} statements" in ended.stderr  # of all processes together
    assert exports_of(run) == complete.exports
    one, several = open_run(complete.path).progress, open_run(run).progress
    assert (one.processes, several.processes) == (1, 3)
    assert several.score_s > several.wall_s > 0
    assert (one.pieces, one.statements, one.tokens) == (several.pieces, several.statements, several.tokens)


@pytest.mark.proof
def test_what_a_killed_process_leaves_is_scored_by_the_next_run(
    forge: Forge, complete: Complete, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    killed = forge.run(*COMMAND, run, watch=run, processes=2, amiss="kill")
    assert killed.code == 1
    assert killed.stderr.count(LEFT) == 1
    assert open_run(run).partial
    assert forge.run(*COMMAND, run, watch=run).code == 0
    assert exports_of(run) == complete.exports


@pytest.mark.proof
def test_an_error_in_one_process_ends_all(forge: Forge, tmp_path: Path) -> None:
    run = tmp_path / "run"
    failed = forge.run(*COMMAND, run, watch=run, processes=2, amiss="fail")
    assert failed.code == 1
    assert failed.stderr.count("calprobe: process 1: the disk is full\n") == 1
    assert failed.stderr.count("calprobe: ") == 2
    assert failed.stderr.count(LEFT) == 1


@pytest.mark.proof
def test_ctrl_c_on_the_launcher_loses_nothing(forge: Forge, tmp_path: Path) -> None:
    out = tmp_path / "run"
    # The first process has a group that is being written, one that is scored, and one ahead: four groups are too few.
    command = ("0,1,2,3" if word == "0,1" else word for word in COMMAND)
    launched = forge.start(*command, out, watch=out, processes=2, amiss="slow")
    end = time.monotonic() + LONGEST_S
    while not (launched.place / "gate").exists() and time.monotonic() < end:
        time.sleep(0.05)
    launched.send(signal.SIGINT)
    ended = launched.wait()
    assert ended.code == 1
    assert ended.stderr.count("interrupted;") == 1
    assert ended.stderr.count(LEFT) == 1
    run = open_run(out)
    assert run.partial
    assert run.progress.pieces == len(run.pieces) > 0  # those of both processes, counted
