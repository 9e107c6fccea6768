"""The jobs of a sweep as their own commands see them: options, size, and what each command checks before it loads."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from calprobe.errors import CalprobeError, UsageError

if TYPE_CHECKING:
    from calprobe.cli.sweep_costs import Costs, Workload
    from calprobe.sweep import Job, Planned, Sweep

# That a process takes beside the weights of its model, roughly: torch, a batch, the prepared text.
_PROCESS_BYTES = 2**30


@functools.cache
def options_of(name: str) -> Mapping[str, bool]:
    """The options of a command without dashes in front, and which are flags; of one that can be switched off, both."""
    parameters = [found for found in _click_command(name).params if isinstance(found, click.Option)]
    typed = ((option, found.is_flag) for found in parameters for option in (*found.opts, *found.secondary_opts))
    return {option.removeprefix("--"): is_flag for option, is_flag in typed if option.startswith("--")}


def checked_jobs(sweep: Sweep, costs: Costs) -> list[Planned]:
    """All jobs with their sizes, each checked as its own command would check it before a model is loaded."""
    tasks: dict[tuple[object, ...], tuple[Mapping[str, Any], Workload]] = {}
    found = []
    for job in sweep.jobs:
        with _naming(sweep, job):
            key = (job.command, *_without_model(job))  # what a job has to do is the same for all models
            if key not in tasks:
                tasks[key] = _task(job)
            found.append(_planned(job, *tasks[key], costs))
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


def _task(job: Job) -> tuple[Mapping[str, Any], Workload]:
    """The options of a job as its command reads them, and what it scores or asks."""
    # A command keeps the help option of its first context, for all that follow in this process.
    context = _click_command(job.command).make_context(
        f"calprobe {job.command}", list(job.arguments[1:]), help_option_names=["-h", "--help"]
    )
    with context.scope(cleanup=False):
        return context.params, _SIZES[job.command](context)


def _scored(context: click.Context) -> Workload:
    """What a `score` scores."""
    from calprobe.cli.score import scoring_options
    from calprobe.cli.sweep_costs import ScoreWorkload
    from calprobe.models.aliases import default_probe
    from calprobe.probes import load_probe
    from calprobe.scoring import select

    given = context.params
    probe = load_probe(given["probe"] or default_probe(given["model"]))
    options = scoring_options(given, quiet=True)
    return ScoreWorkload(select(probe, options), options)


def _asked(context: click.Context) -> Workload:
    """What an `ask` asks."""
    from calprobe.asking import plan_of
    from calprobe.cli.ask import asking_options, backend_options
    from calprobe.cli.question_options import chosen_questions
    from calprobe.cli.sweep_costs import AskWorkload

    given = context.params
    backend_options(context)
    options = asking_options(given, quiet=True)
    chosen = chosen_questions(given, seed=options.filled().seed or 0, shots_from=given["shots_from"])
    return AskWorkload(plan_of(list(given["questions"]), options, chosen))


_SIZES = {"score": _scored, "ask": _asked}


def _planned(job: Job, given: Mapping[str, Any], workload: Workload, costs: Costs) -> Planned:
    """The job with its model's size, where that is known before it is loaded."""
    from calprobe.models.aliases import ALIASES
    from calprobe.models.sizes import size_of
    from calprobe.models.source import mistyped_alias
    from calprobe.sweep import Planned

    if given.get("base_url") is not None:
        return Planned(job, workload.units, given["parameters"], 0, workload.guessed("causal"))
    if job.command == "ask" and job.model in ALIASES and ALIASES[job.model].kind == "masked":
        raise UsageError(
            'a masked model cannot answer; let its table name what it takes part in: only = ["PROBE"], a name that no '
            "question set has"
        )
    size = size_of(job.model)
    if not size.here and (meant := mistyped_alias(job.model)):
        raise UsageError(f"no alias {job.model}{meant}")
    width = 2 if given["dtype"] in ("bfloat16", "float16") else 4
    needs = _PROCESS_BYTES + width * (size.parameters or 0)
    return Planned(job, workload.units, size.parameters, needs, costs.cost(job.model, given.get("kind"), workload))


def _click_command(name: str) -> click.Command:
    found: click.Command = importlib.import_module(f"calprobe.cli.{name}").command
    return found
