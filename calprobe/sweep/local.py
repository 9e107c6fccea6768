"""A sweep on this machine: each job a process of its own, one at a time or as many as there are places for."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from calprobe.interrupts import Interrupted
from calprobe.messages import counted
from calprobe.sweep.definition import Job
from calprobe.sweep.order import Planned, longest_first, next_that_fits
from calprobe.sweep.record import Attempt, log_path

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LOOKS = 0.05
_LAST_BYTES, _LAST_LINES = 4000, 4  # of a failed job's words that are kept


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How many jobs run at once, and what each may take."""

    places: tuple[Mapping[str, str], ...]  # the environment of a job at each place, beside this process's own
    total_bytes: float = float("inf")  # memory for all jobs together; one job alone may take more
    command: tuple[str, ...] = (sys.executable, "-P", "-m", "calprobe")


@dataclass(slots=True)
class _Child:
    """A process that does a job."""

    planned: Planned
    place: int
    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)


def run_locally(
    jobs: Sequence[Planned],
    out: Path,
    options: LocalOptions,
    started: Callable[[Job], None],
    ended: Callable[[Job, Attempt], None],
) -> None:
    """Run jobs, the longest first. A job that fails stops no other.

    Each process leads a group of its own, so that Ctrl-C reaches it through this process alone: it then finishes what
    it is at, and keeps it.

    Args:
        jobs: what is to be done.
        out: the sweep's folder; what a process says goes to `out`/logs/JOB.log.
        options: places and memory.
        started: called before a job's process starts.
        ended: called with what became of it, in the order of ending.
    Raises:
        Interrupted: Ctrl-C, SIGTERM or SIGHUP, after all processes have ended.
    """
    waiting = longest_first(jobs)
    free = list(range(len(options.places)))[::-1]
    running: list[_Child] = []
    with ExitStack() as ending:
        ending.callback(_end, running)
        try:
            while waiting or running:
                used = sum(child.planned.bytes for child in running)
                at = next_that_fits(waiting, options.total_bytes - used, len(running)) if free else None
                if at is not None:
                    started(waiting[at].job)
                    running.append(_start(waiting.pop(at), out, free.pop(), options))
                    continue
                time.sleep(_SECONDS_BETWEEN_LOOKS)
                for child in [child for child in running if child.process.poll() is not None]:
                    running.remove(child)
                    free.append(child.place)
                    ended(child.planned.job, _attempt(child, out))
        except KeyboardInterrupt as error:
            left = [child.planned.job for child in running]
            log.info("ending %s; what they have is kept", counted(len(left), "job"))
            _end(running)
            for child in running:
                ended(child.planned.job, _attempt(child, out))
            running.clear()
            left_over = counted(len(left) + len(waiting), "job")
            why = f"{str(error) or 'interrupted'}; {left_over} left to do"
            raise Interrupted(f"{why}.\nRun the same command again to resume") from None


def _start(planned: Planned, out: Path, place: int, options: LocalOptions) -> _Child:
    path = log_path(out, planned.job)
    path.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **options.places[place]}
    with path.open("wb") as words:
        process = subprocess.Popen(
            [*options.command, *planned.job.arguments],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    return _Child(planned, place, process)


def _end(running: Sequence[_Child]) -> None:
    """Ask processes to end, and wait until they have; a second Ctrl-C kills them."""
    alive = [child.process for child in running if child.process.poll() is None]
    for process in alive:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
    try:
        for process in alive:
            process.wait()
    except KeyboardInterrupt:
        for process in alive:
            process.kill()
            process.wait()


def _attempt(child: _Child, out: Path) -> Attempt:
    code = child.process.returncode
    return Attempt(
        arguments=child.planned.job.arguments,
        exit_code=code,
        seconds=round(time.monotonic() - child.started, 3),
        ended=datetime.now(UTC).isoformat(timespec="seconds"),
        said=_last_words(log_path(out, child.planned.job)) if code else "",
    )


def _last_words(path: Path) -> str:
    """The error at the end of a log, else its last lines, without what stands before them in a progress bar's line."""
    content = path.read_bytes()[-_LAST_BYTES:].decode("utf-8", errors="replace")
    lines = [line.rsplit("\r", 1)[-1].strip() for line in content.splitlines()]
    said = [line for line in lines if line][-_LAST_LINES:]
    error = next((at for at, line in enumerate(said) if line.startswith("calprobe: ")), -2)
    return "\n".join(said[error:])
