"""`calprobe sweep`: many runs by one file."""

from __future__ import annotations

import functools
import importlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.arguments import Number
from calprobe.cli.output import print_result
from calprobe.cli.run_options import quiet_option
from calprobe.cli.terminal_text import say
from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import counted

if TYPE_CHECKING:
    from calprobe.sweep import Attempt, Job, LocalOptions, Planned, Record, Sweep

INTERRUPTED = 130  # exit code
MOST_JOBS = 1024  # processes at once
PROCESS_BYTES = (
    2**30
)  # that a process takes beside the weights of its model, roughly: torch, a batch, the prepared text


@click.command(short_help="Make many runs by one file: models x probes, models x questions x studies.")
@click.argument("file", metavar="FILE.toml", type=click.Path(path_type=Path))
@click.option(
    "--on",
    "engine",
    type=click.Choice(["local"]),
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
def command(file: Path, engine: str, jobs: int | None, dry_run: bool, quiet: bool) -> None:
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
    planned = _checked(sweep)
    options = _local_options(jobs)
    _refuse_too_large(sweep, planned, options.total_bytes)
    if dry_run:
        print_result(_preview(sweep, planned, options))
    else:
        _run(sweep, planned, options, quiet)


def _click_command(name: str) -> click.Command:
    found: click.Command = importlib.import_module(f"calprobe.cli.{name}").command
    return found


@functools.cache
def options_of(name: str) -> frozenset[str]:
    """The options of a command without dashes in front; of a flag that can be switched off, both forms."""
    parameters = [found for found in _click_command(name).params if isinstance(found, click.Option)]
    typed = [option for found in parameters for option in (*found.opts, *found.secondary_opts)]
    return frozenset(option.removeprefix("--") for option in typed if option.startswith("--"))


def _checked(sweep: Sweep) -> list[Planned]:
    """All jobs with their sizes, each checked as its own command would check it before a model is loaded."""
    sizes: dict[tuple[object, ...], int] = {}
    found = []
    for job in sweep.jobs:
        with _naming(sweep, job):
            context = _click_command(job.command).make_context(f"calprobe {job.command}", list(job.arguments[1:]))
            key = (job.command, *_without_model(job))  # what a job has to do is the same for all models
            with context.scope(cleanup=False):
                if key not in sizes:
                    sizes[key] = _SIZES[job.command](context)
            found.append(_planned(job, context.params, sizes[key]))
    return found


@contextmanager
def _naming(sweep: Sweep, job: Job) -> Iterator[None]:
    """Errors with the file and the tables that they come from."""
    try:
        yield
    except click.UsageError as error:
        raise UsageError(f"{sweep.path}: {' '.join(job.tables)}: {error.format_message()}") from error
    except CalprobeError as error:
        raise type(error)(f"{sweep.path}: {' '.join(job.tables)}: {error}") from error


def _without_model(job: Job) -> Iterator[tuple[str, str]]:
    for name, value in job.options.items():
        if name != "model":
            yield name, str(value)


def _statements(context: click.Context) -> int:
    """Statements that a `score` scores."""
    from calprobe.cli.score import scoring_options
    from calprobe.models.aliases import default_probe
    from calprobe.probes import load_probe
    from calprobe.scoring import select

    given = context.params
    probe = load_probe(given["probe"] or default_probe(given["model"]))
    selection = select(probe, scoring_options(given, quiet=True))
    return sum(len(r.instances) * r.n_candidates for r in selection.relations) * len(selection.numbers)


def _requests(context: click.Context) -> int:
    """Requests that an `ask` makes."""
    from calprobe.asking import plan_of
    from calprobe.cli.ask import asking_options, backend_name
    from calprobe.cli.question_options import chosen_questions

    given = context.params
    backend_name(context)
    options = asking_options(given, quiet=True)
    chosen = chosen_questions(given, seed=options.filled().seed or 0, shots_from=given["shots_from"])
    return plan_of(list(given["questions"]), options, chosen).n_requests


_SIZES = {"score": _statements, "ask": _requests}


def _planned(job: Job, given: Mapping[str, Any], units: int) -> Planned:
    """The job with its model's size, where that is known before it is loaded."""
    from calprobe.models.aliases import ALIASES
    from calprobe.models.sizes import size_of
    from calprobe.models.source import mistyped_alias
    from calprobe.sweep import Planned

    if given.get("base_url") is not None:
        return Planned(job, units, given["parameters"], 0)
    if job.command == "ask" and job.model in ALIASES and ALIASES[job.model].kind == "masked":
        raise UsageError('a masked model cannot answer; let its table name what it takes part in: only = ["PROBE"]')
    size = size_of(job.model)
    if not size.here and (meant := mistyped_alias(job.model)):
        raise UsageError(f"no alias {job.model}{meant}")
    width = 2 if given["dtype"] in ("bfloat16", "float16") else 4
    return Planned(job, units, size.parameters, PROCESS_BYTES + width * (size.parameters or 0))


def _local_options(jobs: int | None) -> LocalOptions:
    import torch

    from calprobe.models.memory import free_bytes
    from calprobe.sweep import LocalOptions

    cards = _visible_cards()
    if cards:
        places = [{"CUDA_VISIBLE_DEVICES": card} for card in cards]
        return LocalOptions(tuple(places[at % len(places)] for at in range(jobs or len(places))))
    count = jobs or 1
    threads = str(max(1, (os.cpu_count() or 1) // count))
    place = {} if count == 1 or "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": threads}
    return LocalOptions((place,) * count, float(free_bytes(torch.device("cpu"))))


def _visible_cards() -> list[str]:
    """The cards of this process by the names that CUDA_VISIBLE_DEVICES has for them."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(number) for number in range(count)]


def _refuse_too_large(sweep: Sweep, planned: Sequence[Planned], total_bytes: float) -> None:
    large = next((each for each in planned if each.bytes > total_bytes), None)
    if large is not None:
        needs, has = (f"{value / 2**30:,.1f} GiB" for value in (large.bytes, total_bytes))
        raise UsageError(
            f"{sweep.path}: {large.job.tables[0]} needs about {needs} of memory, and {has} are free here; give it a "
            "dtype of half the size, or leave it to a larger machine"
        )


def _preview(sweep: Sweep, planned: Sequence[Planned], options: LocalOptions) -> str:
    from calprobe.cli.output import listing
    from calprobe.sweep import longest_first, read_record

    record = read_record(sweep.out)
    rows = [("job", "model", "parameters", "work", "state", "command")]
    for each in longest_first(planned):
        unit = "statements" if each.job.command == "score" else "requests"
        size = "-" if each.parameters is None else f"{each.parameters / 1e6:,.4g} M"
        state = _state(record, each.job)
        rows.append((each.job.name, each.job.model, size, f"{each.units:,} {unit}", state, _shown(each.job)))
    at_once = f"{len(options.places)} at once" if len(options.places) > 1 else "one after the other"
    count = counted(len(planned), "job")
    return f"{listing(rows, '<<>><<')}\n\n{count}, {at_once}, in {sweep.out}{_expected(planned, record, options)}"


def _expected(planned: Sequence[Planned], record: Record, options: LocalOptions) -> str:
    """How long what is left may take, by what has ended well; empty before any has."""
    from calprobe.sweep import expected

    done = [each for each in planned if record.is_done(each.job)]
    left = [each for each in planned if not record.is_done(each.job)]
    if not done or not left:
        return ""
    seconds = sum(record.attempts[each.job.name].seconds for each in done)
    schedule = expected(left, len(options.places), options.total_bytes, seconds / sum(each.work for each in done))
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


def _run(sweep: Sweep, planned: Sequence[Planned], options: LocalOptions, quiet: bool) -> None:
    """Run what is missing, then say what became of it; exit 1 where a job failed."""
    from calprobe.interrupts import saying_how_to_resume
    from calprobe.runs.lock import locked
    from calprobe.sweep import SweepProgress, read_record, run_locally, write_record
    from calprobe.sweep.record import log_path

    sweep.out.mkdir(parents=True, exist_ok=True)
    with saying_how_to_resume("between jobs"), locked(sweep.out):
        record = read_record(sweep.out)
        missing = [each for each in planned if not record.is_done(each.job)]
        if done := len(planned) - len(missing):
            say(f"{sweep.out}: {counted(done, 'job')} of {len(planned):,} done before")

        def ended(job: Job, attempt: Attempt) -> None:
            nonlocal record
            record = record.with_attempt(job, attempt)
            write_record(sweep.out, record)
            shown.ended(job, attempt)

        with SweepProgress.shown(missing, quiet=quiet) as shown:
            run_locally(missing, sweep.out, options, shown.started, ended)
    failed = [each.job for each in planned if not record.is_done(each.job)]
    for job in failed:
        said = record.attempts[job.name].said.splitlines() or ["without a word"]
        say(f"{job.name} failed: {said[0]}\n  all that it said: {log_path(sweep.out, job)}")
    runs = counted(len(planned) - len(failed), "run")
    say(f"{sweep.out}: {runs} of {len(planned):,} complete; next: calprobe runs {shlex.quote(str(sweep.out))}")
    if failed:
        raise CalprobeError(f"{counted(len(failed), 'job')} failed; to try again, run the same command again")
