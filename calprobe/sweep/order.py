"""In which order jobs start, and when they are expected to end: longest first, as many at once as there is room for."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from calprobe.sweep.definition import Job
from calprobe.sweep.workloads import Cost


@dataclass(frozen=True, slots=True)
class Planned:
    """A job with what it is expected to take."""

    job: Job
    units: int  # statements to score, or requests to make
    parameters: int | None  # of the model; None: not known before it is loaded
    bytes: int  # of memory that its weights need
    cost: Cost | None = None  # None: not counted

    @property
    def work(self) -> float:
        """What orders jobs: tokens times parameters. A large model takes as long for a few of them."""
        return (self.units if self.cost is None else self.cost.tokens) * float(self.parameters or 1)


def longest_first(jobs: Sequence[Planned]) -> list[Planned]:
    """The order of starting. A long job that starts last would leave all other places idle (Graham, 1969)."""
    return sorted(jobs, key=lambda planned: (-planned.work, planned.job.name))


@dataclass(slots=True)
class Fitting:
    """Which job starts next beside those that run.

    Where the first that waits does not fit, smaller ones pass it, but only while those that ran when it was first
    passed leave it no room. So it waits for them and for one small job more, and not for all that fits beside them.
    """

    total: float  # for all together: bytes of memory, or places
    size: Callable[[Planned], float] = lambda planned: planned.bytes  # of a job, of that total
    _ran: frozenset[str] = field(default=frozenset(), init=False)  # when `_passed` was first passed
    _passed: str = field(default="", init=False)

    def place(self, waiting: Sequence[Planned], running: Sequence[Planned]) -> int | None:
        """The place of the next job; None while none may start. Where nothing runs, the first starts in any case.

        >>> Fitting(1e9).place([], []) is None
        True
        """
        if not waiting:
            return None
        first, free = waiting[0], self.total - sum(map(self.size, running))
        if not running or self.size(first) <= free:
            return 0
        if self._passed != first.job.name:
            self._passed, self._ran = first.job.name, frozenset(planned.job.name for planned in running)
        in_its_way = [self.size(planned) for planned in running if planned.job.name in self._ran]
        if not in_its_way or sum(in_its_way) + self.size(first) <= self.total:
            return None
        return next((place for place, planned in enumerate(waiting) if self.size(planned) <= free), None)


def expected(
    jobs: Sequence[Planned], places: int, total_bytes: float, seconds: Callable[[Planned], float]
) -> list[tuple[Planned, float, float]]:
    """When each job starts and ends, in seconds from now, in the order of starting, by the rule that the engine has.

    Args:
        jobs: in any order.
        places: how many run at once.
        total_bytes: memory that all together may take.
        seconds: that a job takes, from jobs that have ended.
    """
    waiting, now, fitting = longest_first(jobs), 0.0, Fitting(total_bytes)
    running: list[tuple[float, int, Planned]] = []  # end, number
    schedule: list[tuple[Planned, float, float]] = []
    while waiting or running:
        place = fitting.place(waiting, [planned for _, _, planned in running]) if len(running) < places else None
        if place is None:
            now, _, _ = heapq.heappop(running)
            continue
        planned = waiting.pop(place)
        end = now + seconds(planned)
        heapq.heappush(running, (end, len(schedule), planned))
        schedule.append((planned, now, end))
    return schedule
