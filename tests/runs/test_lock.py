"""Which process scores into a folder: one, known by name to the second, and none after it has ended."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import filelock
import pytest

from calprobe.errors import CalprobeError
from calprobe.runs import atomic, lock
from calprobe.runs.lock import LOCK_NAME, OWNER_NAME, Owner, SlurmJob, locked, read_owner

ELSEWHERE = Owner("another-host", 7, "long ago", "calprobe score --model x", "2026-01-01T00:00:00+00:00")


def leave(run: Path, owner: Owner) -> Owner:
    """An owner file as a process leaves it that was killed."""
    run.mkdir(exist_ok=True)
    (run / OWNER_NAME).write_text(json.dumps(asdict(owner)))
    return owner


def refused(run: Path) -> str:
    with pytest.raises(CalprobeError) as raised, locked(run):
        pass
    assert len(str(raised.value).splitlines()) <= 2
    return str(raised.value)


def test_the_second_learns_who_the_first_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/calprobe", "score", "--model", "a b"])
    with locked(tmp_path / "run"):
        owner = read_owner(tmp_path / "run")
        assert owner is not None
        assert (owner.host, owner.pid, owner.command) == (
            socket.gethostname(),
            os.getpid(),
            "calprobe score --model 'a b'",
        )
        said = refused(tmp_path / "run")
        assert f"another process (PID {os.getpid()} on {socket.gethostname()}, since " in said
        assert "is writing to this folder: calprobe score --model 'a b'\nwait for it, or give another folder" in said
        assert read_owner(tmp_path / "run") == owner
    assert not (tmp_path / "run" / OWNER_NAME).exists()
    with locked(tmp_path / "run"):
        pass


@pytest.mark.parametrize("header", ["api-key: 0123secret", "X-Api-Key:0123secret", "Authorization: Basic 0123secret"])
@pytest.mark.parametrize("joined", [False, True])
def test_values_of_headers_are_neither_stored_nor_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, joined: bool
) -> None:
    option = [f"--header={header}"] if joined else ["--header", header]
    monkeypatch.setattr(sys, "argv", ["calprobe", "ask", *option, "--model", "m"])
    with locked(tmp_path):
        stored = (tmp_path / OWNER_NAME).read_text()
        message = refused(tmp_path)
    for text in (stored, message):
        assert "0123secret" not in text
        assert f"{header.partition(':')[0]}: ***' --model m" in text


def test_values_of_headers_in_other_forms_are_hidden_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["calprobe", "ask", "--header", "0123secret", '--header={"X-Key": "0123secret"}'])
    assert Owner.here().command == """calprobe ask --header '***' '--header={"X-Key": ***'"""


def test_a_lock_without_an_owner_refuses_too(tmp_path: Path) -> None:
    with filelock.FileLock(tmp_path / LOCK_NAME):
        assert "another process is writing to this folder\nwait for it" in refused(tmp_path)


@pytest.mark.parametrize("who", ["gone", "a later process of its number"])
def test_what_a_killed_process_of_this_machine_leaves_is_cleared(tmp_path: Path, who: str) -> None:
    if who == "gone":
        child = subprocess.Popen([sys.executable, "-c", ""])
        pid = child.pid
        child.wait()
    else:
        pid = os.getppid()
    stale = leave(tmp_path, replace(Owner.here(), pid=pid, birth="another boot 1"))
    assert not stale.runs
    with locked(tmp_path):
        assert read_owner(tmp_path) != stale
    assert not (tmp_path / OWNER_NAME).exists()


def test_a_living_owner_is_believed_where_locks_hold_nobody_back(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        own = Owner.here()
        from calprobe.runs.lock import _birth

        living = leave(tmp_path, replace(own, pid=child.pid, birth=_birth(child.pid) or ""))
        assert living.runs
        assert f"PID {child.pid} on" in refused(tmp_path)
        assert read_owner(tmp_path) == living
    finally:
        child.communicate(b"\n")


def test_a_lock_of_another_machine_is_never_broken(tmp_path: Path) -> None:
    left = leave(tmp_path, ELSEWHERE)
    said = refused(tmp_path)
    assert "a process of another machine (PID 7 on another-host, since 2026-01-01" in said
    assert f"delete {tmp_path / OWNER_NAME} and run the same command again" in said
    assert read_owner(tmp_path) == left
    file = tmp_path / OWNER_NAME
    file.write_text(json.dumps(json.loads(file.read_text()) | {"since_a_later_version": 1}))
    assert read_owner(tmp_path) == left
    file.unlink()
    with locked(tmp_path):
        pass


def test_a_job_that_slurm_starts_again_goes_on_from_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = leave(tmp_path, replace(ELSEWHERE, job=SlurmJob("tall", "4711", 0)))
    for name, value in (("CLUSTER_NAME", "tall"), ("JOB_ID", "4711"), ("RESTART_COUNT", "0")):
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert "a process of another machine" in refused(tmp_path)
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    with locked(tmp_path) as own:
        assert (own.job, left.job) == (SlurmJob("tall", "4711", 1), SlurmJob("tall", "4711", 0))
        assert read_owner(tmp_path) == own


def test_tasks_of_srun_that_know_nothing_of_each_other_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    for name in ("SLURM_STEP_NUM_TASKS", "RANK"):
        monkeypatch.delenv(name, raising=False)
    with locked(tmp_path / "here"):
        assert "\nwait for it" in refused(tmp_path / "here")  # nothing else of the job is known
        monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
        assert "\nsrun started 2 independent tasks: start torchrun with srun" in refused(tmp_path / "here")
    (tmp_path / "there").mkdir()
    leave(tmp_path / "there", replace(ELSEWHERE, job=SlurmJob.of_this_process()))
    assert "\nsrun started 2 independent tasks" in refused(tmp_path / "there")
    leave(tmp_path / "there", ELSEWHERE)
    assert "\nwait for it; if it has ended, delete" in refused(tmp_path / "there")


@pytest.mark.parametrize("last_step", ["read_owner", "create_text"])
def test_of_two_machines_that_come_at_once_one_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last_step: str
) -> None:
    """The other one comes after this process has looked, before it clears what is stale or before it claims."""
    module = lock if last_step == "read_owner" else atomic
    step, steps = getattr(module, last_step), []

    def before_another(*given: Any) -> Any:
        steps.append(1)
        if len(steps) == 1 and last_step == "create_text":
            leave(tmp_path, ELSEWHERE)
        done = step(*given)
        if len(steps) == 1 and last_step == "read_owner":
            leave(tmp_path, ELSEWHERE)
        return done

    monkeypatch.setattr(module, last_step, before_another)
    assert "PID 7 on another-host" in refused(tmp_path)
    assert read_owner(tmp_path) == ELSEWHERE


def test_a_file_system_without_hard_links_still_tells_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_here(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", not_here)
    with locked(tmp_path):
        assert read_owner(tmp_path) is not None
        assert not atomic.create_text(tmp_path / OWNER_NAME, "second")
    assert [path.name for path in tmp_path.iterdir()] == [LOCK_NAME]


@pytest.mark.parametrize("answer", [OSError(errno.ENOLCK, "No locks available"), NotImplementedError("no flock")])
def test_a_file_system_without_locks_still_tells_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Exception
) -> None:
    def not_here(*_: object) -> None:
        raise answer

    monkeypatch.setattr(filelock.FileLock, "acquire", not_here)
    with locked(tmp_path):
        assert read_owner(tmp_path) is not None
    assert not (tmp_path / OWNER_NAME).exists()
    leave(tmp_path, ELSEWHERE)
    assert "PID 7 on another-host" in refused(tmp_path)


def test_machines_that_share_a_disk_write_to_names_of_their_own(tmp_path: Path) -> None:
    with atomic.replacing(tmp_path / "x") as one, atomic.replacing(tmp_path / "x") as other:
        assert one != other
        assert atomic.is_leftover(one)
        one.write_text("1")
        other.write_text("2")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"host": 1}', "\ufffd"])
def test_an_owner_file_that_cannot_be_read_stops_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / OWNER_NAME).write_text(text)
    with locked(tmp_path):
        assert read_owner(tmp_path) is not None


def test_what_a_stranger_may_have_put_in_place_of_the_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, owner = tmp_path / "mine.txt", tmp_path / "run" / OWNER_NAME
    mine.write_text("mine")
    leave(tmp_path / "run", replace(Owner.here(), pid=-1))
    with locked(tmp_path / "run"):
        pass
    for target in (mine, tmp_path / "nothing"):
        owner.symlink_to(target)
        with locked(tmp_path / "run"):
            assert not owner.is_symlink()
    os.mkfifo(owner)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: pytest.fail("a pipe is waited for"))
    assert read_owner(tmp_path / "run") is None
    monkeypatch.undo()
    with locked(tmp_path / "run"):
        assert owner.is_file()
    (tmp_path / "run" / LOCK_NAME).unlink(missing_ok=True)
    (tmp_path / "run" / LOCK_NAME).symlink_to(mine)
    assert ".lock: a symbolic link, which is never written to" in refused(tmp_path / "run")
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    ("since", "shown"),
    [
        (timedelta(seconds=5), ""),
        (timedelta(minutes=12), ", 12 min ago"),
        (timedelta(hours=5), ", 5 h ago"),
        (timedelta(days=3), ", 3 days ago"),
        (-timedelta(days=1), ""),  # a clock was set back
    ],
)
def test_the_age_is_shown(since: timedelta, shown: str) -> None:
    began = datetime.now(UTC) - since
    assert (
        replace(ELSEWHERE, since=began.isoformat())
        .shown.partition(", since ")[2]
        .endswith(shown or ":" + f"{began:%M}")
    )
    assert replace(ELSEWHERE, since="yesterday").shown == "PID 7 on another-host"


def test_a_strangers_owner_file_cannot_write_to_the_terminal() -> None:
    owner = replace(ELSEWHERE, host="a\x1b[2Jb", command="x" * 500 + "\n")
    assert "\x1b" not in owner.shown
    assert owner.shown_command == "x" * 120 + " .."


def test_a_folder_that_was_removed_meanwhile_is_let_go(tmp_path: Path) -> None:
    import shutil

    with locked(tmp_path / "run"):
        shutil.rmtree(tmp_path / "run")
    with locked(tmp_path / "run"):
        pass


def test_a_later_start_of_a_sweep_s_job_takes_the_folder_of_the_former(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one of another sweep, nor the same or an earlier start."""
    run = tmp_path / "run"
    for start in ("ab:7", "ab:6", "cd:8", "ab:x"):
        leave(run, replace(ELSEWHERE, start=lock.SweepStart("ab", 7)))
        monkeypatch.setenv(lock.START_VARIABLE, start)
        assert "delete" in refused(run)
    monkeypatch.setenv(lock.START_VARIABLE, "ab:8")
    with locked(run):
        owner = read_owner(run)
    assert owner is not None
    assert owner.start == lock.SweepStart("ab", 8)
    monkeypatch.delenv(lock.START_VARIABLE)
    assert lock.SweepStart.of_this_process() is None
