"""How far a sweep is: jobs by what they take, so that a hundred small ones are no more than a large one."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from calprobe import progress
from calprobe.sweep.definition import Job
from calprobe.sweep.order import Planned
from calprobe.sweep.record import Attempt

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
    begun: float = field(default_factory=time.monotonic)
    running: list[str] = field(default_factory=list)
    over: dict[str, bool] = field(default_factory=dict)  # by job that ended, whether it failed

    @classmethod
    @contextmanager
    def shown(cls, jobs: Sequence[Planned], *, quiet: bool) -> Iterator[SweepProgress]:
        """Progress that is shown as stderr allows, in the block."""
        work = {planned.job.name: planned.work for planned in jobs}
        # In a log each job has its own lines.
        hidden = quiet or not sys.stderr.isatty()
        hook: Callable[[_State], None] | None = None
        with progress.watchers(_PARTS if jobs else 0, "sweep", "thousandths", quiet=hidden, hook=hook) as watchers:
            yield cls(work, watchers)

    def started(self, job: Job) -> None:
        """A job's process starts."""
        self.running.append(job.name)
        log.info("%s: begins (%d of %d)", job.name, len(self.over) + len(self.running), len(self.work))
        self._show()

    def ended(self, job: Job, attempt: Attempt) -> None:
        """A job's process has ended."""
        self.running.remove(job.name)
        self.over[job.name] = bool(attempt.exit_code)
        how = "done" if not attempt.exit_code else f"failed with exit code {attempt.exit_code}"
        log.info("%s: %s after %.0f s", job.name, how, attempt.seconds)
        self._show()

    def _show(self) -> None:
        total = sum(self.work.values()) or 1.0
        done = int(_PARTS * sum(self.work[name] for name in self.over) / total)
        left = progress.seconds_left(done, _PARTS, time.monotonic() - self.begun)
        failed = sum(self.over.values())
        rates = f"{len(self.over)} of {len(self.work)} jobs" + (f", {failed} failed" if failed else "")
        for show in self.watchers:
            show(_State(done, _PARTS, left, rates, ", ".join(self.running)))
