"""The lock of a run folder: one process at a time writes to it, and others learn which one.

The operating system's lock (`.lock`) ends with its process. Not every shared file system extends such locks to other
machines, so the holder is also recorded beside it (`.owner`): created atomically by one process, and removed at the
end. The record of a killed process is removed by the next process on the same machine. Another machine cannot know
whether the process still runs, so the user has to remove the record, except where Slurm has requeued the same job or
says that it has ended, and where Ray's driver starts a sweep's job once more.
"""

from __future__ import annotations

import errno
import logging
import os
import shlex
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
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

START_VARIABLE = "CALPROBE_SWEEP_START"  # of the environment: the text of a `SweepStart`

_SHOWN_COMMAND = 120  # characters
_HEADER = "--header"  # the option
# Errors of file systems without locks: Lustre mounted without them, NFS without its lock service. Older releases of
# filelock raise NotImplementedError for the first, newer ones use a lock of another kind.
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """One start of a job: a requeued job keeps its number and counts its restarts."""

    cluster: str
    number: str
    restarts: int

    @classmethod
    def of_this_process(cls) -> SlurmJob | None:
        """The job from Slurm's environment variables; None outside a job."""
        number = os.environ.get("SLURM_JOB_ID", "")
        if not number:
            return None
        return cls(os.environ.get("SLURM_CLUSTER_NAME", ""), number, _number("SLURM_RESTART_COUNT"))

    def follows(self, former: SlurmJob | None) -> bool:
        """Whether this is a later start of the same job: Slurm ends the former start before it starts a job again.

        If Slurm cannot reach the machine, the former start may still run; it writes the same scores.
        """
        if former is None:
            return False
        return (self.cluster, self.number) == (former.cluster, former.number) and self.restarts > former.restarts


@dataclass(frozen=True, slots=True)
class SweepStart:
    """One start of a sweep's job by an engine that has seen the former start end, or cut what held it alive."""

    sweep: str  # its id
    number: int  # larger for each later start of a job

    @property
    def text(self) -> str:
        """The value of the variable."""
        return f"{self.sweep}:{self.number}"

    @classmethod
    def of_this_process(cls) -> SweepStart | None:
        """From the environment; None outside a sweep that says it."""
        sweep, _, number = os.environ.get(START_VARIABLE, "").partition(":")
        return cls(sweep, int(number)) if number.isascii() and number.isdigit() else None

    def follows(self, former: SweepStart | None) -> bool:
        """Whether this is a later start by the same sweep, of which one at a time is made."""
        return former is not None and self.sweep == former.sweep and self.number > former.number


def tasks_of_step() -> int:
    """The number of processes of this process's srun step; 0 without srun, or with a launcher in between."""
    return 0 if "RANK" in os.environ else _number("SLURM_STEP_NUM_TASKS")


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that writes to a folder."""

    host: str
    pid: int
    birth: str  # distinguishes it from a later process with the same number
    command: str
    since: str  # UTC, ISO 8601; for display only
    job: SlurmJob | None = None
    start: SweepStart | None = None

    @classmethod
    def here(cls) -> Owner:
        """This process."""
        program = Path(sys.argv[0]).name
        words = ["calprobe" if program == "__main__.py" else program, *_without_header_values(sys.argv[1:])]
        command = without_secrets(shlex.join(words))
        since = datetime.now(UTC).isoformat(timespec="seconds")
        birth = _birth(os.getpid()) or ""
        return cls(
            socket.gethostname(),
            os.getpid(),
            birth,
            command,
            since,
            SlurmJob.of_this_process(),
            SweepStart.of_this_process(),
        )

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
        """Its name in messages: `PID 123 on HOST, since 14:02, 5 min ago`."""
        return _printable(f"PID {self.pid} on {self.host}{_since(self.since)}")

    @property
    def shown_command(self) -> str:
        """Its command line, shortened."""
        cut = len(self.command) > _SHOWN_COMMAND
        return _printable(self.command[:_SHOWN_COMMAND] + (" .." if cut else ""))


@contextmanager
def locked(run: Path) -> Iterator[Owner]:
    """Lock the run folder, created if missing, for this process; yields the recorded owner.

    Raises CalprobeError, which names the owner, if another process has the lock or may have it on another machine, or
    if the folder cannot be written.
    """
    with _locked_by_system(run):
        owner = _claim(run)
        try:
            yield owner
        finally:
            # The folder may have been removed, or be full or read-only by now.
            with suppress(OSError):
                if read_owner(run) == owner:
                    (run / OWNER_NAME).unlink()


@contextmanager
def _locked_by_system(run: Path) -> Iterator[None]:
    """Hold the operating system's lock. On a file system without locks, only the owner's record protects the folder."""
    import filelock  # imported here: readers do not need it

    path = run / LOCK_NAME
    if path.is_symlink():  # filelock would open the file behind it for writing
        raise CalprobeError(f"{path}: a symbolic link, which is never written to; delete it and run the same again")
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
    """The recorded owner of the folder; None without a readable record."""
    path = run / OWNER_NAME
    try:
        if not path.is_file():  # reading a pipe would block
            return None
        content = loads(path.read_text(encoding="utf-8"))
        names = {field.name for field in fields(Owner)}  # a later version may have more fields
        return decode(
            Owner, {key: content[key] for key in content if key in names} if isinstance(content, dict) else content
        )
    except (OSError, UnicodeDecodeError, JSONDecodeError, RecursionError, DecodeError):
        return None


def forget_ended_job(run: Path, is_there: Callable[[str, str], bool]) -> None:
    """Remove the record of an owner that was a Slurm job, if that has ended: it was killed, perhaps on another machine.

    Args:
        run: the run folder.
        is_there: called with the cluster and the number of the job; whether it has not ended, or may have not.
    """
    owner = read_owner(run)
    if owner is None or owner.job is None or owner.runs or is_there(owner.job.cluster, owner.job.number):
        return
    (run / OWNER_NAME).unlink(missing_ok=True)


def _claim(run: Path) -> Owner:
    """Record this process as the owner; the system's lock, if any, excludes other processes of this machine."""
    owner, path = Owner.here(), run / OWNER_NAME
    # Checked first: a record that appears after this belongs to a faster process, and stays.
    has_record = path.is_symlink() or path.exists()
    former = read_owner(run)
    if former is not None and former.is_elsewhere and not _follows(owner, former):
        raise _left_elsewhere(run, former)
    if former is not None and former.runs and former.pid != owner.pid:
        raise _taken(run, former)  # this file system's locks have no effect
    try:
        if has_record:  # of a killed process, or unreadable
            path.unlink(missing_ok=True)
        if not atomic.create_text(path, dumps(asdict(owner), indent=1) + "\n"):
            raise _taken(run, read_owner(run))  # a process of another machine was faster
    except OSError as error:
        raise _unwritable(run, error) from error
    return owner


def _follows(owner: Owner, former: Owner) -> bool:
    """Whether this process takes the place of the former, which has ended."""
    requeued = owner.job is not None and owner.job.follows(former.job)
    return requeued or (owner.start is not None and owner.start.follows(former.start))


def _taken(run: Path, owner: Owner | None) -> CalprobeError:
    holder, command = ("", "") if owner is None else (f" ({owner.shown})", f": {owner.shown_command}")
    fix = _one_for_all(owner) or "wait for it, or give another folder (--out; of a sweep, out in its file)"
    return CalprobeError(f"{run}: another process{holder} is writing to this folder{command}\n{fix}")


def _left_elsewhere(run: Path, owner: Owner) -> CalprobeError:
    fix = f"wait for it; if it has ended, delete {run / OWNER_NAME} and run the same command again to resume"
    return CalprobeError(
        f"{run}: a process of another machine ({owner.shown}) is writing to this folder, or was killed\n"
        f"{_one_for_all(owner) or fix}"
    )


def _one_for_all(owner: Owner | None) -> str:
    """The fix if one srun started both this process and the owner without a launcher; empty otherwise."""
    job, tasks = SlurmJob.of_this_process(), tasks_of_step()
    if owner is None or job is None or job != owner.job or tasks < 2:
        return ""
    either = "start torchrun with srun, or give each task its own --shard I/N"
    return f"srun started {tasks} independent tasks: {either} (docs/scale.md)"


def _unwritable(run: Path, error: OSError) -> CalprobeError:
    return CalprobeError(f"{run}: cannot be written: {reason(error)}; fix this, or give another folder with --out")


def _without_header_values(arguments: Iterable[str]) -> Iterator[str]:
    """The arguments with `NAME: ***` for each header of `--header`: any header may be a key, whatever its name."""
    former = ""
    for argument in arguments:
        if former == _HEADER:
            yield _masked_header(argument)
        elif argument.startswith(f"{_HEADER}="):
            yield f"{_HEADER}={_masked_header(argument.removeprefix(f'{_HEADER}='))}"
        else:
            yield argument
        former = argument


def _masked_header(header: str) -> str:
    name, colon, _ = header.partition(":")
    return f"{name}: ***" if colon else "***"  # without a name, it may be the key itself


def _birth(pid: int) -> str | None:
    """A value that identifies the process on this machine; None without such a process."""
    try:
        # Ticks since boot do not depend on the clock, unlike psutil's seconds since 1970.
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {ticks}"
    except (OSError, IndexError):
        pass
    import psutil

    try:
        return str(psutil.Process(pid).create_time())
    except (psutil.Error, ValueError):  # ValueError for a number below 0
        return None


def _since(moment: str) -> str:
    try:
        began = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return ""
    now = datetime.now(UTC).astimezone()
    clock = began.strftime("%H:%M" if began.date() == now.date() else "%Y-%m-%d %H:%M")
    return f", since {clock}{_ago((now - began).total_seconds())}"


def _ago(seconds: float) -> str:
    """The time since then; empty below one minute and for times in the future, since clocks differ."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f", {seconds / size:.0f} {unit} ago"
    return ""


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
