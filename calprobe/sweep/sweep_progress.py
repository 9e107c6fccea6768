"""How far a sweep is: jobs by what they take, so that a hundred small ones are no more than a large one."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from calprobe import progress
from calprobe.interrupts import INTERRUPTED
from calprobe.sweep.definition import Job
from calprobe.sweep.job_record import Attempt
from calprobe.sweep.order import Planned

log = logging.getLogger(__name__)

_PARTS = 1000  # that all the work of a sweep is shown in


@dataclass(frozen=True, slots=True)
class _State:
    """What watchers show; see `calprobe.progress.Progress`."""

    done: int
    total: int
    seconds_left: float | None
    rates: str
    part: str


@dataclass(slots=True)
class SweepProgress:
    """Counts jobs that end, and shows what runs."""

    work: dict[str, float]  # by job
    watchers: Sequence[Callable[[_State], None]]
    work_of_all: float
    begun: float = field(default_factory=time.monotonic)
    running: list[str] = field(default_factory=list)
    n_over: int = 0
    n_failed: int = 0
    work_over: float = 0.0  # of jobs that ended

    @classmethod
    @contextmanager
    def shown(cls, jobs: Sequence[Planned], *, quiet: bool) -> Iterator[SweepProgress]:
        """Progress that is shown as stderr allows, in the block."""
        work = {planned.job.name: planned.work for planned in jobs}
        # In a log each job has its own lines.
        hidden = quiet or not progress.is_terminal(sys.stderr)
        hook: Callable[[_State], None] | None = None
        with progress.watchers(_PARTS if jobs else 0, "sweep", "thousandths", quiet=hidden, hook=hook) as watchers:
            yield cls(work, watchers, sum(work.values()))

    def started(self, job: Job) -> None:
        """A job's process starts."""
        self.running.append(job.name)
        log.info("%s: begins (%d of %d)", job.name, self.n_over + len(self.running), len(self.work))
        self._show()

    def ended(self, job: Job, attempt: Attempt) -> None:
        """A job's process has ended."""
        self.running.remove(job.name)
        self.n_over += 1
        self.n_failed += attempt.exit_code not in (0, INTERRUPTED)
        self.work_over += self.work[job.name]
        log.info("%s: %s after %.0f s", job.name, _how(attempt.exit_code), attempt.seconds)
        self._show()

    def _show(self) -> None:
        done = int(_PARTS * self.work_over / (self.work_of_all or 1.0))
        seconds = progress.seconds_left(done, _PARTS, time.monotonic() - self.begun)
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        rates = f"{self.n_over} of {len(self.work)} jobs{failed}"
        for show in self.watchers:
            show(_State(done, _PARTS, seconds, rates, ", ".join(self.running)))


def _how(exit_code: int) -> str:
    return {0: "done", INTERRUPTED: "interrupted"}.get(exit_code, f"failed with exit code {exit_code}")
