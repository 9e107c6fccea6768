"""Two processes that would score into one folder: one does, the other hears who it is."""

from __future__ import annotations

import os
import shlex
import signal
import socket
from pathlib import Path

import pytest
from children import Child, Forge
from commands import exports_of
from unbroken import ASKED, Complete, shards_in

from calprobe.runs.lock import OWNER_NAME, read_owner


def begun(forge: Forge, run: Path) -> Child:
    """A child that scores slowly and has written its first piece."""
    child = forge.start("score", *ASKED, "--out", run, watch=run, pause=0.03)
    child.wait_for_first_shard()
    return child


def test_the_second_is_refused_and_the_first_undisturbed(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = begun(forge, run)
    first.send(signal.SIGSTOP)  # until the others have come, however long they take
    owner = read_owner(run)
    assert owner is not None
    assert (owner.pid, owner.host, owner.runs) == (first.pid, socket.gethostname(), True)
    assert owner.command == shlex.join(["calprobe", "score", *ASKED, "--out", str(run)])
    for more in ((), ("--no-resume",)):
        second = forge.run("score", *ASKED, *more, "--out", run, watch=run)
        assert second.code == 1
        assert f"{run}: another process (PID {first.pid} on {socket.gethostname()}, since " in second.stderr
        assert len(second.stderr.strip().splitlines()) == 2
        assert {change.partition(" ")[2] for change in second.changes} <= {str(run), str(run / ".lock")}
    first.send(signal.SIGCONT)
    assert first.wait().code == 0
    assert exports_of(run) == complete.exports
    assert not (run / OWNER_NAME).exists()


@pytest.mark.proof
def test_of_many_that_start_at_once_one_scores(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    run = tmp_path / "run"
    children = [forge.start("score", *ASKED, "--out", run, watch=run) for _ in range(4)]
    ended = [child.wait() for child in children]
    assert {end.code for end in ended} <= {0, 1}
    assert [end.code for end in ended].count(0) >= 1  # one that comes when another is done finds nothing to do
    assert all("another process" in end.stderr for end in ended if end.code)
    assert sorted(name for end in ended for name in shards_in(end.changes)) == sorted(complete.order)
    assert exports_of(run) == complete.exports


def test_a_killed_owner_of_this_machine_is_replaced(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = begun(forge, run)
    first.send(signal.SIGKILL)
    first.wait()
    owner = read_owner(run)
    assert owner is not None
    assert (owner.pid, owner.runs) == (first.pid, False)
    assert forge.run("score", *ASKED, "--out", run, watch=run).code == 0
    assert exports_of(run) == complete.exports
    assert not (run / OWNER_NAME).exists()


@pytest.mark.proof
def test_an_owner_on_another_machine_is_not(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    run = tmp_path / "run"
    forge.run("score", *ASKED, "--out", run, watch=run, at=20)
    file = run / OWNER_NAME
    file.write_text(file.read_text().replace(socket.gethostname(), "node-17"))
    refused = forge.run("score", *ASKED, "--out", run, watch=run)
    assert refused.code == 1
    assert "a process of another machine (PID " in refused.stderr
    assert f"delete {file} and run the same command again" in refused.stderr
    os.unlink(file)  # noqa: PTH108 - as a person would
    assert forge.run("score", *ASKED, "--out", run, watch=run).code == 0
    assert exports_of(run) == complete.exports
