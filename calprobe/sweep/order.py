"""In which order jobs start, and when they are expected to end: longest first, as many at once as there is room for."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from calprobe.sweep.costs import Cost
from calprobe.sweep.definition import Job


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


def next_that_fits(waiting: Sequence[Planned], free_bytes: float, running: int) -> int | None:
    """The place of the first job that fits beside those that run; the first of all where nothing runs.

    >>> next_that_fits([], 1e9, 0) is None
    True
    """
    if not waiting:
        return None
    if not running:
        return 0
    return next((place for place, planned in enumerate(waiting) if planned.bytes <= free_bytes), None)


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
    waiting, now, used = longest_first(jobs), 0.0, 0
    running: list[tuple[float, int, int]] = []  # end, number, bytes
    found: list[tuple[Planned, float, float]] = []
    while waiting or running:
        place = next_that_fits(waiting, total_bytes - used, len(running)) if len(running) < places else None
        if place is None:
            now, _, freed = heapq.heappop(running)
            used -= freed
            continue
        planned = waiting.pop(place)
        end = now + seconds(planned)
        heapq.heappush(running, (end, len(found), planned.bytes))
        used += planned.bytes
        found.append((planned, now, end))
    return found
