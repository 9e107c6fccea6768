"""A sweep from start to end: check all jobs, run those that are missing, log them, show all runs side by side."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calprobe.errors import UsageError
from calprobe.interrupts import saying_how_to_resume
from calprobe.messages import counted
from calprobe.runs.lock import locked
from calprobe.runs.remembered import Remembered
from calprobe.sweep.commands import Commands, checked_jobs
from calprobe.sweep.definition import Job, Sweep, read_sweep
from calprobe.sweep.engine import Engine
from calprobe.sweep.engines import Place, place_of
from calprobe.sweep.job_record import Attempt, Record, add_attempt, log_path, read_record
from calprobe.sweep.order import Planned
from calprobe.sweep.overview_files import is_shown, show_side_by_side
from calprobe.sweep.sweep_preview import SweepPlan, plan_of_sweep
from calprobe.sweep.sweep_progress import SweepProgress
from calprobe.sweep.workloads import REMEMBERED, Costs

if TYPE_CHECKING:
    from calprobe.studies.overview.overviews import Overview
    from calprobe.sweep.run_log import RunLog
    from calprobe.trackers import Trackers

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """What a sweep does beside running its jobs.

    Args:
        report: whether it ends with pages and tables over all runs.
        log_to: trackers that get each complete run, names in `calprobe.trackers.NAMES`.
        project: project or experiment of the runs there; None: the name of the sweep's file.
        quiet: whether no progress is shown.
    """

    report: bool = True
    log_to: Sequence[str] = ()
    project: str | None = None
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What became of a sweep's jobs."""

    out: Path
    complete: tuple[Job, ...]  # in the order of the definition
    failed: Mapping[str, str]  # by the name of a job, the first line that it said
    overview: Overview | None  # None: not asked for, or what is on its page is newer than all runs

    def __repr__(self) -> str:
        n_complete = len(self.complete)
        return f"<SweepResult {self.out}: {counted(n_complete, 'run')} of {n_complete + len(self.failed):,} complete>"


def run_sweep(
    definition: str | Path | Mapping[str, Any],
    out: str | Path | None,
    on: str | Place,
    options: SweepOptions,
    commands: Commands,
    *,
    dry_run: bool,
) -> SweepPlan | SweepResult:
    """See `calprobe.sweep`, which has the commands."""
    place = place_of(on)
    sweep = read_sweep(definition, commands.known, out, commands.fits)
    project = options.project or (sweep.path or sweep.out).stem
    trackers = _trackers(sweep, options, project)
    costs = Costs(Remembered.read(REMEMBERED), counting=dry_run)
    planned = checked_jobs(sweep, commands, costs)
    costs.store.write()
    engine = place.engine()
    if dry_run:
        return plan_of_sweep(sweep, planned, engine)
    _refuse_misfits(sweep, planned, engine)
    sweep.out.mkdir(parents=True, exist_ok=True)
    with saying_how_to_resume("between jobs"), locked(sweep.out), _run_log(sweep, trackers, project) as run_log:
        log_run = (lambda job: None) if run_log is None else run_log.add
        has_run = _run_missing(sweep, planned, engine, log_run, quiet=options.quiet)
    record = read_record(sweep.out)
    complete = tuple(job for job in sweep.jobs if record.is_done(job))
    failed = _failed(sweep, record, complete)
    shows = options.report and (has_run or not is_shown(sweep))  # after the failures: it may take minutes
    return SweepResult(sweep.out, complete, failed, show_side_by_side(sweep, record) if shows else None)


def _trackers(sweep: Sweep, options: SweepOptions, project: str) -> Trackers | None:
    """The trackers, before anything runs. Raises UsageError for an unknown one, CalprobeError for a missing package."""
    if not options.log_to:
        if options.project is not None:
            raise UsageError("--project names where --log puts runs; add --log, or leave it out")
        return None
    from calprobe import trackers

    place = trackers.Place(project, sweep.out / "tensorboard")
    return trackers.open_trackers(options.log_to, place, "The sweep goes on; the same command logs what is missing")


def _refuse_misfits(sweep: Sweep, planned: Sequence[Planned], engine: Engine) -> None:
    record = read_record(sweep.out)
    for misfit in engine.misfits([job for job in planned if not record.is_done(job.job)]):
        raise UsageError(
            f"{sweep.source}: {' '.join(misfit.job.tables)}: {misfit.job.name} {misfit.why}\n{misfit.remedy}"
        )


def _run_missing(
    sweep: Sweep, planned: Sequence[Planned], engine: Engine, log_run: Callable[[Job], None], *, quiet: bool
) -> bool:
    """Run what is not done yet, and pass on all complete runs; whether there was anything to run."""
    record = read_record(sweep.out)
    missing = []
    for job in planned:
        if record.is_done(job.job):
            log_run(job.job)
        else:
            missing.append(job)
    if done := len(planned) - len(missing):
        log.info("%s: %s of %s done before", sweep.out, counted(done, "job"), f"{len(planned):,}")

    def ended(job: Job, attempt: Attempt) -> None:
        add_attempt(sweep.out, job, attempt)
        progress.ended(job, attempt)
        if not attempt.exit_code:
            log_run(job)

    with SweepProgress.shown(missing, quiet=quiet) as progress:
        engine.run(missing, sweep.out, progress.started, ended)
    return bool(missing)


def _failed(sweep: Sweep, record: Record, complete: Sequence[Job]) -> dict[str, str]:
    """Why each other job failed, which is logged too."""
    done = {job.name for job in complete}
    failed = {}
    for job in sweep.jobs:
        if job.name not in done:
            failed[job.name] = (record.attempts[job.name].said.splitlines() or ["without a word"])[0]
            log.warning("%s failed: %s\n  all that it said: %s", job.name, failed[job.name], log_path(sweep.out, job))
    return failed


def _run_log(sweep: Sweep, trackers: Trackers | None, project: str) -> AbstractContextManager[RunLog | None]:
    if trackers is None:
        return nullcontext()
    from calprobe.sweep.run_log import RunLog

    return RunLog(sweep.out, project, trackers)
