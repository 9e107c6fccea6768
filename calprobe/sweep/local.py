"""A sweep on this machine: each job a process of its own, one at a time or as many as there are places for."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from calprobe.interrupts import Interrupted
from calprobe.messages import counted
from calprobe.sweep.engine import CALPROBE, Ended, Started, attempt_at
from calprobe.sweep.order import Planned, longest_first, next_that_fits
from calprobe.sweep.record import Attempt, log_path

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LOOKS = 0.05


@dataclass(slots=True)
class _Child:
    """A process that does a job."""

    planned: Planned
    place: int
    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Local:
    """Processes of this machine, and what each may take."""

    places: tuple[Mapping[str, str], ...]  # the environment of a job at each place, beside this process's own
    total_bytes: float = float("inf")  # memory for all jobs together; one job alone may take more
    command: tuple[str, ...] = CALPROBE

    @property
    def at_once(self) -> int:
        """See `Engine`."""
        return len(self.places)

    def run(self, jobs: Sequence[Planned], out: Path, started: Started, ended: Ended) -> None:
        """See `Engine`.

        Each process leads a group of its own, so that Ctrl-C reaches it through this process alone: it then finishes
        what it is at, and keeps it.
        """
        waiting = longest_first(jobs)
        free = list(range(len(self.places)))[::-1]
        running: list[_Child] = []
        with ExitStack() as ending:
            ending.callback(_end, running)
            try:
                while waiting or running:
                    used = sum(child.planned.bytes for child in running)
                    at = next_that_fits(waiting, self.total_bytes - used, len(running)) if free else None
                    if at is not None:
                        started(waiting[at].job)
                        running.append(self._start(waiting.pop(at), out, free.pop()))
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

    def _start(self, planned: Planned, out: Path, place: int) -> _Child:
        path = log_path(out, planned.job)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as words:
            process = subprocess.Popen(
                [*self.command, *planned.job.arguments],
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.places[place]},
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
    return attempt_at(child.planned.job, out, child.process.returncode, time.monotonic() - child.started)
