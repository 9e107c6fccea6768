"""How long jobs take, by jobs that have ended: seconds to begin, and seconds for each unit of work."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TypeVar

from calprobe.errors import CalprobeError
from calprobe.runs.listing import list_runs
from calprobe.runs.manifest_file import read_any_manifest
from calprobe.runs.run_progress import NOTHING, Progress, read_progress
from calprobe.sweep.job_record import Record
from calprobe.sweep.order import Planned

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Rate:
    """What one job that has ended took."""

    command: str
    model: str
    parameters: int | None
    begin_s: float  # to start a process and load the model
    seconds_a_unit: float  # of `Planned.work`


@dataclass(frozen=True)
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
        rates = self._by_command.get(planned.job.command) or self._of_all
        begin_s, seconds_a_unit = rates.nearest(planned.job.model, planned.parameters)
        return begin_s + planned.work * seconds_a_unit

    @cached_property
    def _by_command(self) -> dict[str, _Nearest]:
        return {
            command: _Nearest(group) for command, group in _grouped(self.of_jobs, lambda rate: rate.command).items()
        }

    @cached_property
    def _of_all(self) -> _Nearest:
        return _Nearest(self.of_jobs)


class _Nearest:
    """Medians of rates, found by model and by size: a sweep of thousands of jobs asks for each of these."""

    def __init__(self, rates: Sequence[Rate]) -> None:
        self._all = _medians(rates)
        self._of_model = {model: _medians(group) for model, group in _grouped(rates, lambda rate: rate.model).items()}
        self._of_size = _grouped([rate for rate in rates if rate.parameters], lambda rate: rate.parameters or 0)
        self._medians = {size: _medians(group) for size, group in self._of_size.items()}
        self._sizes = sorted(self._of_size)

    def nearest(self, model: str, parameters: int | None) -> tuple[float, float]:
        """Those of the model itself, else of the models that are the fewest times larger or smaller, else of all."""
        if model in self._of_model:
            return self._of_model[model]
        if not parameters or not self._sizes:
            return self._all
        place = bisect_left(self._sizes, parameters)
        times = {size: abs(math.log(size / parameters)) for size in self._sizes[max(0, place - 1) : place + 1]}
        near = [size for size in times if times[size] == min(times.values())]
        if len(near) == 1:
            return self._medians[near[0]]
        return _medians([rate for size in near for rate in self._of_size[size]])


def measured_rates(jobs: Sequence[Planned], record: Record) -> Rates:
    """Rates of the jobs whose runs are complete: by the sweep's record, and by what each run says that it has cost.

    Of a run that was resumed, what all attempts computed counts. A run that says nothing of its costs, and that the
    sweep has not made, gives no rate.
    """
    return Rates(tuple(rate for planned in jobs if (rate := _rate(planned, record)) is not None))


def _rate(planned: Planned, record: Record) -> Rate | None:
    job, last = planned.job, record.attempts.get(planned.job.name)
    if last is not None and not last.is_of(job):  # what it did is not what the job is now
        return None
    if not job.out.is_dir() or not any(run.complete for run in list_runs(job.out).runs):
        return None
    spent = _spent(planned)
    seconds = last.seconds if last is not None and not last.exit_code else None
    computed = spent.wall_s or spent.score_s or (seconds or 0.0) - spent.load_s
    if computed <= 0:
        return None
    begin = spent.load_s if seconds is None or seconds < computed else seconds - computed
    return Rate(job.command, job.model, planned.parameters, begin, computed / max(1.0, planned.work))


def _spent(planned: Planned) -> Progress:
    try:
        return read_any_manifest(planned.job.out).total(read_progress(planned.job.out))
    except (CalprobeError, OSError):
        return NOTHING


def _grouped(rates: Iterable[Rate], key: Callable[[Rate], K]) -> dict[K, list[Rate]]:
    groups: dict[K, list[Rate]] = {}
    for rate in rates:
        groups.setdefault(key(rate), []).append(rate)
    return groups


def _medians(rates: Sequence[Rate]) -> tuple[float, float]:
    """Seconds to begin, and seconds for each unit."""
    return median(rate.begin_s for rate in rates), median(rate.seconds_a_unit for rate in rates)
