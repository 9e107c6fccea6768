"""A sweep on this machine: each job a process of its own, one at a time or as many as there are places for."""

from __future__ import annotations

import logging
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from calprobe.interrupts import Interrupted
from calprobe.messages import counted, reason
from calprobe.runs.lock import read_owner
from calprobe.sweep import tether
from calprobe.sweep.engine import Ended, Misfit, Started, attempt_at, not_begun
from calprobe.sweep.job_record import Attempt, log_path
from calprobe.sweep.order import Fitting, Planned, longest_first

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LOOKS = 0.05
_PATIENCE_S = tether.GRACE_S + 5  # with what a killed sweep has left
_TIED = (sys.executable, "-P", tether.__file__, "calprobe")  # ends soon after this process, however that ends


@dataclass(slots=True)
class _Child:
    """A process that does a job."""

    planned: Planned
    places: tuple[int, ...]
    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Local:
    """Processes of this machine, and what each may take."""

    places: tuple[Mapping[str, str], ...]  # the environment of a job at each place, beside this process's own; a job
    # that takes several has the values of all, with commas between them
    total_bytes: float = float("inf")  # memory for all jobs together; one job alone may take more
    command: tuple[str, ...] = _TIED  # its standard input closes when this process ends
    jobs: int | None = None  # at once; None: one at each place
    places_of: Callable[[Planned], int] = lambda planned: 1  # that a job takes, alone where it takes several

    @property
    def at_once(self) -> int:
        """See `Engine`."""
        return self.jobs or len(self.places)

    def misfits(self, jobs: Sequence[Planned]) -> list[Misfit]:
        """See `Engine`."""
        return [misfit for planned in jobs if (misfit := self._misfit(planned)) is not None]

    def _misfit(self, planned: Planned) -> Misfit | None:
        if planned.bytes > self.total_bytes:
            needs, free = (f"{value / 2**30:,.1f} GiB" for value in (planned.bytes, self.total_bytes))
            why, smaller = (
                f"needs about {needs} of memory, and {free} are free here",
                "Give it a dtype of half the size",
            )
        elif (needed := self.places_of(planned)) > len(self.places):
            why = f"takes {needed:,} GPUs, and {counted(len(self.places), 'GPU')} can be used here"
            smaller = "Lower tensor-parallel or pipeline-parallel"
        else:
            return None
        return Misfit(planned.job, why, f"{smaller}, or leave it to a larger machine")

    def run(self, jobs: Sequence[Planned], out: Path, started: Started, ended: Ended) -> None:
        """See `Engine`.

        Each process leads a group of its own, so that Ctrl-C reaches it through this process alone: it then finishes
        what it is at, and keeps it.
        """
        waiting, fitting = longest_first(jobs), self._fitting()
        free = [self._each] * len(self.places)
        running: list[_Child] = []
        try:
            _await_former(waiting)
            while waiting or running:
                place = None
                if len(running) < self.at_once:
                    place = fitting.place(waiting, [child.planned for child in running])
                if place is not None and self._free_places(waiting[place], free):
                    planned = waiting.pop(place)
                    started(planned.job)
                    try:
                        running.append(self._start(planned, out, self._free_places(planned, free)))
                        self._take(free, running[-1], 1)
                    except OSError as error:
                        ended(planned.job, not_begun(planned.job, _why(error, log_path(out, planned.job))))
                    continue
                time.sleep(_SECONDS_BETWEEN_LOOKS)
                for child in [child for child in running if child.process.poll() is not None]:
                    running.remove(child)
                    self._take(free, child, -1)
                    ended(child.planned.job, _attempt(child, out))
        except KeyboardInterrupt as error:
            remaining = counted(len(running) + len(waiting), "job")
            _end_all(running, out, ended)
            why = f"{str(error) or 'interrupted'}; {remaining} left to do"
            raise Interrupted(f"{why}.\nRun the same command again to resume") from None
        except BaseException:
            _end_all(running, out, ended)
            raise

    def _start(self, planned: Planned, out: Path, places: tuple[int, ...]) -> _Child:
        path = log_path(out, planned.job)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # a process that a killed sweep has left may still write there
        with path.open("wb") as words:
            process = subprocess.Popen(
                [*self.command, *planned.job.arguments],
                stdin=subprocess.PIPE,  # the tether
                stdout=words,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._environment(places)},
                start_new_session=True,
            )
        return _Child(planned, places, process)

    @property
    def _each(self) -> int:
        """How many jobs of one place share it."""
        return math.ceil(self.at_once / len(self.places))

    def _count(self, planned: Planned) -> int:
        return max(1, min(self.places_of(planned), len(self.places)))

    def _fitting(self) -> Fitting:
        if self.total_bytes < math.inf:
            return Fitting(self.total_bytes)
        capacity = self._each
        return Fitting(
            capacity * len(self.places),
            lambda planned: 1 if self._count(planned) == 1 else capacity * self._count(planned),
        )

    def _free_places(self, planned: Planned, free: Sequence[int]) -> tuple[int, ...]:
        """Where a job can start: at the emptiest place, or at several without any job; empty where it cannot."""
        count = self._count(planned)
        places = sorted(range(len(free)), key=lambda place: -free[place])[:count]
        return tuple(sorted(places)) if free[places[-1]] >= (self._each if count > 1 else 1) else ()

    def _take(self, free: list[int], child: _Child, times: int) -> None:
        """Take room for a job at its places, or give it back with -1."""
        for place in child.places:
            free[place] -= times * (self._each if len(child.places) > 1 else 1)

    def _environment(self, places: tuple[int, ...]) -> dict[str, str]:
        return {name: ",".join(self.places[place][name] for place in places) for name in self.places[places[0]]}


def _why(error: OSError, log: Path) -> str:
    return f"{error.filename or log}: the job cannot be started: {reason(error)}"


def _await_former(jobs: Sequence[Planned]) -> None:
    """Wait for processes that write to the runs: a killed sweep's end by their tether, so that waiting has an end too.

    A job that another process still writes to then fails, and names it.
    """
    until, is_logged = time.monotonic() + _PATIENCE_S, False
    runs = [planned.job.out for planned in jobs]
    while runs := [run for run in runs if (owner := read_owner(run)) is not None and owner.runs]:
        if time.monotonic() > until:
            return
        if not is_logged:
            busy = counted(len(runs), "run")
            log.info("waiting up to %d s: other processes write to %s, as %s", _PATIENCE_S, busy, runs[0])
            is_logged = True
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _end_all(running: Sequence[_Child], out: Path, ended: Ended) -> None:
    """End all processes, and pass on what became of each."""
    if running:
        log.info("ending %s; what they have is kept", counted(len(running), "job"))
    _end(running)
    for child in running:
        try:
            ended(child.planned.job, _attempt(child, out))
        except OSError as error:  # of a full disk, say: the others have ended all the same
            log.warning("%s: not recorded: %s", child.planned.job.name, reason(error))


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
    if child.process.stdin is not None:
        child.process.stdin.close()
    return attempt_at(child.planned.job, out, child.process.returncode, time.monotonic() - child.started)
