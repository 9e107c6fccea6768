"""How long jobs take, by jobs that have ended: seconds to begin, and seconds for each unit of work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from calprobe.errors import CalprobeError
from calprobe.runs.listing import list_runs
from calprobe.runs.manifest_file import read_any_manifest
from calprobe.runs.progress import NOTHING, Progress, read_progress
from calprobe.sweep.order import Planned
from calprobe.sweep.record import Record


@dataclass(frozen=True, slots=True)
class Rate:
    """What one job that has ended took."""

    command: str
    model: str
    parameters: int | None
    begin_s: float  # to start a process and load the model
    seconds_a_unit: float  # of `Planned.work`


@dataclass(frozen=True, slots=True)
class Rates:
    """What jobs that have ended took; falsy where none has."""

    of_jobs: tuple[Rate, ...]

    def __bool__(self) -> bool:
        return bool(self.of_jobs)

    def seconds(self, planned: Planned) -> float:
        """How long a job is expected to take: as those of its command whose model is of the nearest size, by median.

        Raises ValueError where no job has ended.
        """
        if not self.of_jobs:
            raise ValueError("no job has ended, so that no rate is known")
        same = [rate for rate in self.of_jobs if rate.command == planned.job.command] or list(self.of_jobs)
        least = min(_distance(rate, planned) for rate in same)
        near = [rate for rate in same if _distance(rate, planned) == least]
        return median(rate.begin_s for rate in near) + planned.work * median(rate.seconds_a_unit for rate in near)


def measured_rates(jobs: Sequence[Planned], record: Record) -> Rates:
    """Rates of the jobs whose runs are complete: by the sweep's record, and by what each run says that it has cost.

    Of a run that was resumed, what all attempts computed counts. A run that says nothing of its costs, and that the
    sweep has not made, gives no rate.
    """
    return Rates(tuple(rate for planned in jobs if (rate := _rate(planned, record)) is not None))


def _rate(planned: Planned, record: Record) -> Rate | None:
    job, last = planned.job, record.attempts.get(planned.job.name)
    if last is not None and last.arguments != job.arguments:  # what it did is not what the job is now
        return None
    if not job.out.is_dir() or not any(run.complete for run in list_runs(job.out).runs):
        return None
    spent = _spent(planned)
    whole = last.seconds if last is not None and not last.exit_code else None
    computed = spent.wall_s or spent.score_s or (whole or 0.0) - spent.load_s
    if computed <= 0:
        return None
    begin = spent.load_s if whole is None or whole < computed else whole - computed
    return Rate(job.command, job.model, planned.parameters, begin, computed / max(1.0, planned.work))


def _spent(planned: Planned) -> Progress:
    try:
        return read_any_manifest(planned.job.out).total(read_progress(planned.job.out))
    except (CalprobeError, OSError):
        return NOTHING


def _distance(rate: Rate, planned: Planned) -> float:
    """0 for the same model, else how many times larger one model is than the other, as a logarithm."""
    if rate.model == planned.job.model:
        return 0.0
    if rate.parameters is None or planned.parameters is None:
        return math.inf
    return 1.0 + abs(math.log(rate.parameters / planned.parameters))
