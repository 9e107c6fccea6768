"""`calprobe sweep`: many runs by one file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calprobe.cli.arguments import Number
from calprobe.cli.output import print_result
from calprobe.cli.run_options import quiet_option
from calprobe.cli.sweep_engines import ENGINES, EngineOptions, engine_of
from calprobe.cli.sweep_jobs import checked_jobs, options_of, refuse_too_large
from calprobe.cli.terminal_text import say
from calprobe.errors import CalprobeError
from calprobe.messages import counted

if TYPE_CHECKING:
    from calprobe.sweep import Attempt, Engine, Job, Planned, Record, Sweep

INTERRUPTED = 130  # exit code
MOST_JOBS = 1024  # at once


@click.command(short_help="Make many runs by one file: models x probes, models x questions x studies.")
@click.argument("file", metavar="FILE.toml", type=click.Path(path_type=Path))
@click.option(
    "--on",
    "engine_name",
    type=click.Choice(list(ENGINES)),
    default="local",
    show_default=True,
    help="What runs the jobs: processes on this machine.",
)
@click.option(
    "--jobs",
    type=Number(1, MOST_JOBS),
    metavar="N",
    help="Runs at once, as far as memory goes.  [default: one for each visible GPU; on a CPU, one]",
)
@click.option("--dry-run", is_flag=True, help="Run nothing: check all jobs, print them with their size and order.")
@quiet_option
def command(file: Path, engine_name: str, jobs: int | None, dry_run: bool, quiet: bool) -> None:
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
    command again.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from calprobe.cli.logs import log_to_stderr
    from calprobe.sweep import read_sweep

    log_to_stderr(quiet)
    sweep = read_sweep(file, {name: options_of(name) for name in ("score", "ask")})
    planned = checked_jobs(sweep)
    engine = engine_of(engine_name, EngineOptions(jobs))
    refuse_too_large(sweep, planned, engine.total_bytes)
    if dry_run:
        print_result(_preview(sweep, planned, engine))
    else:
        _run(sweep, planned, engine, quiet)


def _preview(sweep: Sweep, planned: Sequence[Planned], engine: Engine) -> str:
    from calprobe.cli.output import listing
    from calprobe.sweep import longest_first, read_record

    record = read_record(sweep.out)
    rows = [("job", "model", "parameters", "work", "state", "command")]
    for each in longest_first(planned):
        unit = "statements" if each.job.command == "score" else "requests"
        size = "-" if each.parameters is None else f"{each.parameters / 1e6:,.4g} M"
        state = _state(record, each.job)
        rows.append((each.job.name, each.job.model, size, f"{each.units:,} {unit}", state, _shown(each.job)))
    at_once = f"{engine.at_once} at once" if engine.at_once > 1 else "one after the other"
    count = counted(len(planned), "job")
    return f"{listing(rows, '<<>><<')}\n\n{count}, {at_once}, in {sweep.out}{_expected(planned, record, engine)}"


def _expected(planned: Sequence[Planned], record: Record, engine: Engine) -> str:
    """How long what is left may take, by what has ended well; empty before any has."""
    from calprobe.sweep import expected

    done = [each for each in planned if record.is_done(each.job)]
    left = [each for each in planned if not record.is_done(each.job)]
    if not done or not left:
        return ""
    seconds = sum(record.attempts[each.job.name].seconds for each in done)
    schedule = expected(left, engine.at_once, engine.total_bytes, seconds / sum(each.work for each in done))
    minutes = max(end for _, _, end in schedule) / 60
    return f"; {counted(len(left), 'job')} left, about {minutes:,.0f} min by those that are done"


def _state(record: Record, job: Job) -> str:
    if record.is_done(job):
        return "done"
    last = record.attempts.get(job.name)
    if last is None or not last.exit_code:
        return "to do"
    return "interrupted" if last.exit_code == INTERRUPTED else f"failed ({last.exit_code})"


def _shown(job: Job) -> str:
    return shlex.join(["calprobe", *job.arguments])


def _run(sweep: Sweep, planned: Sequence[Planned], engine: Engine, quiet: bool) -> None:
    """Run what is missing, then say what became of it; exit 1 where a job failed."""
    from calprobe.interrupts import saying_how_to_resume
    from calprobe.runs.lock import locked
    from calprobe.sweep import SweepProgress, add_attempt, read_record
    from calprobe.sweep.record import log_path

    sweep.out.mkdir(parents=True, exist_ok=True)
    with saying_how_to_resume("between jobs"), locked(sweep.out):
        record = read_record(sweep.out)
        missing = [each for each in planned if not record.is_done(each.job)]
        if done := len(planned) - len(missing):
            say(f"{sweep.out}: {counted(done, 'job')} of {len(planned):,} done before")

        def ended(job: Job, attempt: Attempt) -> None:
            add_attempt(sweep.out, job, attempt)
            shown.ended(job, attempt)

        with SweepProgress.shown(missing, quiet=quiet) as shown:
            engine.run(missing, sweep.out, shown.started, ended)
    record = read_record(sweep.out)
    failed = [each.job for each in planned if not record.is_done(each.job)]
    for job in failed:
        said = record.attempts[job.name].said.splitlines() or ["without a word"]
        say(f"{job.name} failed: {said[0]}\n  all that it said: {log_path(sweep.out, job)}")
    runs = counted(len(planned) - len(failed), "run")
    say(f"{sweep.out}: {runs} of {len(planned):,} complete; next: calprobe runs {shlex.quote(str(sweep.out))}")
    if failed:
        raise CalprobeError(f"{counted(len(failed), 'job')} failed; to try again, run the same command again")
