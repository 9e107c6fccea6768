"""One process at a time scores into a run folder, and says who it is to whoever comes second.

The guard is a lock of the operating system (`.lock`), which goes with its process, however that ends. Not every shared
file system carries such locks from machine to machine, so the holder's name lies beside it (`.owner`): created in one
step that only one process can win, and removed at the end. What a killed process leaves is cleared by the next one on
the same machine; on another machine nobody can know whether it still runs, and a person has to say so, except where
Slurm has put the same job back into the queue.
"""

from __future__ import annotations

import errno
import logging
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from json import JSONDecodeError, dumps, loads
from pathlib import Path

from calprobe.errors import CalprobeError
from calprobe.messages import reason, without_secrets
from calprobe.runs import atomic
from calprobe.runs.decode import DecodeError, decode

log = logging.getLogger(__name__)

LOCK_NAME = ".lock"
OWNER_NAME = ".owner"
NAMES = frozenset({LOCK_NAME, OWNER_NAME})

_SHOWN_COMMAND = 120  # characters
# What file systems without locks answer: Lustre mounted without them, NFS without its lock service. Older releases of
# filelock make a NotImplementedError of the first, newer ones a lock of another kind.
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """One start of a job: a job that is put back into the queue keeps its number and counts its restarts."""

    cluster: str
    number: str
    restarts: int

    @classmethod
    def of_this_process(cls) -> SlurmJob | None:
        """As Slurm says it in the environment; None outside a job."""
        number = os.environ.get("SLURM_JOB_ID", "")
        if not number:
            return None
        return cls(os.environ.get("SLURM_CLUSTER_NAME", ""), number, _number("SLURM_RESTART_COUNT"))

    def follows(self, former: SlurmJob | None) -> bool:
        """Whether this is a later start of the same job: Slurm starts a job again when it has ended the former start.

        Of a machine that it cannot reach it only supposes so. What may still run there writes the same scores.
        """
        if former is None:
            return False
        return (self.cluster, self.number) == (former.cluster, former.number) and self.restarts > former.restarts


def tasks_of_step() -> int:
    """How many processes the srun has started that started this one; 0 without one, or with a launcher between."""
    return 0 if "RANK" in os.environ else _number("SLURM_STEP_NUM_TASKS")


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that scores into a folder."""

    host: str
    pid: int
    birth: str  # tells it from a later process of the same number
    command: str
    since: str  # UTC, ISO 8601; shown, and nothing depends on it
    job: SlurmJob | None = None

    @classmethod
    def here(cls) -> Owner:
        """This process."""
        program = Path(sys.argv[0]).name
        typed = shlex.join(["calprobe" if program == "__main__.py" else program, *sys.argv[1:]])
        command = without_secrets(typed)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        birth = _birth(os.getpid()) or ""
        return cls(socket.gethostname(), os.getpid(), birth, command, since, SlurmJob.of_this_process())

    @property
    def is_elsewhere(self) -> bool:
        """Whether it runs, or ran, on another machine."""
        return self.host != socket.gethostname()

    @property
    def runs(self) -> bool:
        """Whether it is a living process of this machine."""
        return not self.is_elsewhere and _birth(self.pid) == self.birth

    @property
    def shown(self) -> str:
        """As messages name it: `PID 123 on HOST, since 14:02, 5 min ago`."""
        return _printable(f"PID {self.pid} on {self.host}{_since(self.since)}")

    @property
    def shown_command(self) -> str:
        """What it was started with, cut."""
        cut = len(self.command) > _SHOWN_COMMAND
        return _printable(self.command[:_SHOWN_COMMAND] + (" .." if cut else ""))


@contextmanager
def locked(run: Path) -> Iterator[Owner]:
    """Hold the run folder, which is made if it is not there, for this process alone; the value is what names it there.

    Raises CalprobeError, with the owner, if another process holds it or may hold it from another machine, or if the
    folder cannot be written.
    """
    with _locked_by_system(run):
        own = _claim(run)
        try:
            yield own
        finally:
            # A folder that was removed, or is full or read-only by now, has no owner to be removed.
            with suppress(OSError):
                if read_owner(run) == own:
                    (run / OWNER_NAME).unlink()


@contextmanager
def _locked_by_system(run: Path) -> Iterator[None]:
    """Hold the operating system's lock. A file system may have none; the owner's name is then all there is."""
    import filelock  # a tenth of a second, which readers do not need

    path = run / LOCK_NAME
    if path.is_symlink():  # filelock would open the file behind it for writing
        raise CalprobeError(f"{path}: a link, and nothing is written through one; delete it and run the same again")
    lock = filelock.FileLock(path, timeout=0)
    try:
        run.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except filelock.Timeout:
        raise _taken(run, read_owner(run)) from None
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
            raise _unwritable(run, error) from error
        log.debug("%s: this file system has no locks (%s)", run, error)
    try:
        yield
    finally:
        lock.release()


def read_owner(run: Path) -> Owner | None:
    """The owner that the folder names; None if it names none, or none that can be read."""
    path = run / OWNER_NAME
    try:
        if not path.is_file():  # a pipe would be waited for without end
            return None
        named = loads(path.read_text(encoding="utf-8"))
        known = {field.name for field in fields(Owner)}  # a later version may say more, and is an owner all the same
        return decode(Owner, {key: named[key] for key in named if key in known} if isinstance(named, dict) else named)
    except (OSError, UnicodeDecodeError, JSONDecodeError, RecursionError, DecodeError):
        return None


def _claim(run: Path) -> Owner:
    """Write this process down as the owner; where there are locks, none of this machine's processes does so at once."""
    own, path = Owner.here(), run / OWNER_NAME
    # Looked at first: what comes from now on is a faster process's, and stays.
    something_lies_there = path.is_symlink() or path.exists()
    former = read_owner(run)
    was_requeued = former is not None and own.job is not None and own.job.follows(former.job)
    if former is not None and former.is_elsewhere and not was_requeued:
        raise _left_elsewhere(run, former)
    if former is not None and former.runs and former.pid != own.pid:
        raise _taken(run, former)  # this file system's locks hold nobody back
    try:
        if something_lies_there:  # a killed process's, or none that can be read
            path.unlink(missing_ok=True)
        if not atomic.create_text(path, dumps(asdict(own), indent=1) + "\n"):
            raise _taken(run, read_owner(run))  # a process of another machine was faster
    except OSError as error:
        raise _unwritable(run, error) from error
    return own


def _taken(run: Path, owner: Owner | None) -> CalprobeError:
    who, what = ("", "") if owner is None else (f" ({owner.shown})", f": {owner.shown_command}")
    mend = _one_for_all(owner) or "wait for it, or name another folder with --out"
    return CalprobeError(f"{run}: another process{who} scores into this folder{what}\n{mend}")


def _left_elsewhere(run: Path, owner: Owner) -> CalprobeError:
    mend = f"wait for it; if it runs no more, delete {run / OWNER_NAME} and run the same command again, it goes on"
    return CalprobeError(
        f"{run}: a process of another machine ({owner.shown}) scores into this folder, or was killed there\n"
        f"{_one_for_all(owner) or mend}"
    )


def _one_for_all(owner: Owner | None) -> str:
    """What to do if srun has started this process and the owner side by side, and each knows only of itself."""
    job, tasks = SlurmJob.of_this_process(), tasks_of_step()
    if owner is None or job is None or job != owner.job or tasks < 2:
        return ""
    either = "put torchrun behind srun, or give each task its own --shard I/N"
    return f"srun started {tasks} tasks, and each scores alone: {either} (docs/scale.md)"


def _unwritable(run: Path, error: OSError) -> CalprobeError:
    return CalprobeError(f"{run}: cannot be written: {reason(error)}; mend that or name another with --out")


def _birth(pid: int) -> str | None:
    """What no other process of this machine shares with it; None if there is no such process."""
    try:
        # Ticks since boot: a clock that is set changes nothing here, unlike psutil's seconds since 1970.
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {ticks}"
    except (OSError, IndexError):
        pass
    import psutil

    try:
        return str(psutil.Process(pid).create_time())
    except (psutil.Error, ValueError):  # the latter of a number below 0
        return None


def _since(moment: str) -> str:
    try:
        began = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return ""
    now = datetime.now(UTC).astimezone()
    at = began.strftime("%H:%M" if began.date() == now.date() else "%Y-%m-%d %H:%M")
    return f", since {at}{_ago((now - began).total_seconds())}"


def _ago(seconds: float) -> str:
    """Nothing for less than a minute, and for a moment to come: clocks differ, and are set."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f", {seconds / size:.0f} {unit} ago"
    return ""


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
