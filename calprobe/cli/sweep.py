"""`calprobe sweep`: many runs by one file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.arguments import Number, refuse_typed
from calprobe.cli.output import print_result
from calprobe.cli.run_options import quiet_option
from calprobe.cli.sweep_costs import Costs
from calprobe.cli.sweep_engines import ENGINES, EngineOptions, engine_of
from calprobe.cli.sweep_jobs import checked_jobs, options_of
from calprobe.cli.sweep_log import log_option, logging_runs, project_option, trackers_of
from calprobe.cli.sweep_preview import sweep_preview
from calprobe.cli.sweep_ray import ray_options
from calprobe.cli.sweep_report import is_reported, report_sweep
from calprobe.cli.sweep_slurm import slurm_options
from calprobe.cli.terminal_text import say
from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import counted

if TYPE_CHECKING:
    from calprobe.cli.sweep_log import RunLogging
    from calprobe.sweep import Attempt, Engine, Job, Misfit, Planned, Sweep

MOST_JOBS = 1024  # at once


@click.command(short_help="Make many runs by one file: models x probes, models x questions x studies.")
@click.argument("file", metavar="FILE.toml", type=click.Path(path_type=Path))
@click.option(
    "--on",
    "engine_name",
    type=click.Choice(list(ENGINES)),
    default="local",
    show_default=True,
    help="What runs the jobs: this machine, a Ray cluster or a Slurm cluster.",
)
@click.option(
    "--jobs",
    type=Number(1, MOST_JOBS),
    metavar="N",
    help="Runs at once, as far as memory goes.  [default: one for each visible GPU; on a CPU, one; on Slurm, no limit]",
)
@click.option("--dry-run", is_flag=True, help="Run nothing: check all jobs, print costs and schedule.")
@click.option("--report/--no-report", default=True, help="Leave out the pages and tables over all runs at the end.")
@log_option
@project_option
@quiet_option
@ray_options
@slurm_options
@click.pass_context
def command(
    context: click.Context,
    /,
    file: Path,
    engine_name: str,
    jobs: int | None,
    dry_run: bool,
    report: bool,
    log_to: tuple[str, ...] | None,
    project: str | None,
    quiet: bool,
    **own: Any,
) -> None:
    """Score each probe with each model, and ask each question set under each study, as FILE.toml says.

    \b
        out = "runs/paper"
        [models.gpt2]
        [models."Qwen/Qwen2.5-7B-Instruct"]
        dtype = "bfloat16"
        only = ["mmlu"]                          # not all probes and question sets
        [probes.bear]
        templates = "paraphrases"
        [questions.mmlu]
        draw = 200
        [studies.audit]

    Options in a table are those of `calprobe score` and `calprobe ask`, without their dashes in front; [options] has
    those of all jobs. Tables without options can be a list of names instead: probes = ["bear", "mini"]. Each job is an
    ordinary run in OUT/MODEL/, made by a process of its own with the longest first, and says what it does in OUT/logs/.
    All is checked before the first begins. A job that fails stops no other. To make what is missing, run the same
    command again. At the end OUT/report.html and OUT/report/ show all runs side by side, task by task.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from calprobe.cli.logs import log_to_stderr
    from calprobe.runs.remembered import Remembered
    from calprobe.sweep import read_record, read_sweep
    from calprobe.sweep.costs import REMEMBERED

    log_to_stderr(quiet)
    foreign = [name for name in own if not name.startswith(f"{engine_name}_")]
    refuse_typed(context, foreign, f"has no meaning with --on {engine_name}; leave it out")
    sweep = read_sweep(file, {name: options_of(name) for name in ("score", "ask")})
    costs = Costs(Remembered.read(REMEMBERED), counting=dry_run)
    planned = checked_jobs(sweep, costs)
    costs.store.write()
    engine = engine_of(engine_name, EngineOptions(jobs, own))
    record = read_record(sweep.out)
    misfits = engine.misfits([each for each in planned if not record.is_done(each.job)])
    if misfits and not dry_run:
        first = misfits[0]
        raise UsageError(f"{sweep.path}: {' '.join(first.job.tables)}: {first.job.name} {first.why}\n{first.remedy}")
    trackers = trackers_of(sweep, log_to, project)
    if dry_run:
        _warn(misfits)
        print_result(sweep_preview(sweep, planned, engine))
    else:
        _run(sweep, planned, engine, quiet, logging_runs(sweep, trackers, project), with_report=report)


def _warn(misfits: Sequence[Misfit]) -> None:
    """Say on stderr what could not run here; a plan may be made on a smaller machine."""
    for each in misfits:
        say(f"{each.job.name} {each.why}")
    if misfits:
        say(f"without --dry-run, {counted(len(misfits), 'such job')} would be refused here")


def _run(
    sweep: Sweep, planned: Sequence[Planned], engine: Engine, quiet: bool, logging: RunLogging, *, with_report: bool
) -> None:
    """Run what is missing, then say what became of it; exit 1 where a job failed."""
    from calprobe.interrupts import saying_how_to_resume
    from calprobe.runs.lock import locked
    from calprobe.sweep import SweepProgress, add_attempt, read_record
    from calprobe.sweep.record import log_path

    sweep.out.mkdir(parents=True, exist_ok=True)
    with saying_how_to_resume("between jobs"), locked(sweep.out), logging as log_run:
        record = read_record(sweep.out)
        missing: list[Planned] = []
        for each in planned:
            if record.is_done(each.job):
                log_run(each.job)
            else:
                missing.append(each)
        if done := len(planned) - len(missing):
            say(f"{sweep.out}: {counted(done, 'job')} of {len(planned):,} done before")

        def ended(job: Job, attempt: Attempt) -> None:
            add_attempt(sweep.out, job, attempt)
            shown.ended(job, attempt)
            if not attempt.exit_code:
                log_run(job)

        with SweepProgress.shown(missing, quiet=quiet) as shown:
            engine.run(missing, sweep.out, shown.started, ended)
    record = read_record(sweep.out)
    failed = [each.job for each in planned if not record.is_done(each.job)]
    for job in failed:
        said = record.attempts[job.name].said.splitlines() or ["without a word"]
        say(f"{job.name} failed: {said[0]}\n  all that it said: {log_path(sweep.out, job)}")
    if with_report and (missing or not is_reported(sweep)):  # after the failures: it may take minutes
        report_sweep(sweep, record)
    runs = counted(len(planned) - len(failed), "run")
    say(f"{sweep.out}: {runs} of {len(planned):,} complete; next: calprobe runs {shlex.quote(str(sweep.out))}")
    if failed:
        raise CalprobeError(f"{counted(len(failed), 'job')} failed; to try again, run the same command again")
