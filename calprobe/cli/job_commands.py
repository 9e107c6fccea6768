"""The commands that a sweep's jobs call, as the command line has them; see `calprobe.sweep.commands.Commands`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from calprobe.cli.ask import asking_options, backend_options
from calprobe.cli.option_kinds import BACKENDS
from calprobe.cli.question_options import chosen_questions
from calprobe.cli.run_options import loading_options
from calprobe.cli.score import scoring_options
from calprobe.errors import UsageError
from calprobe.sweep.commands import Commands, Task
from calprobe.sweep.definition import COMMANDS, Command, Job
from calprobe.sweep.workloads import Workload, ask_workload, score_workload


def job_commands() -> Commands:
    """`calprobe score` and `calprobe ask`, which parse and check the words of a job."""
    return Commands({name: _options(_click_command(name)) for name in COMMANDS}, _task, _fits)


def _fits(command: Command, name: str, options: Mapping[str, Any]) -> bool:
    """Whether the option holds for the backend that the options name or imply."""
    backend = options.get("backend") or ("openai" if "base-url" in options else "transformers")
    params = _click_command(command).params
    return all(backend in BACKENDS.of(param) for param in params if f"--{name}" in param.opts)


def _task(job: Job) -> Task:
    """What the command would do; raises CalprobeError as the command does."""
    command, words = _click_command(job.command), list(job.arguments[1:])
    try:
        # A command keeps the help option of its first context, for all that follow in this process.
        context = command.make_context(f"calprobe {job.command}", words, help_option_names=["-h", "--help"])
        with context.scope(cleanup=False):
            workload = _scored(context) if job.command == "score" else _asked(context)
    except click.UsageError as error:
        raise UsageError(error.format_message()) from error
    values = context.params
    _refuse_secrets(values.get("headers") or {})
    is_served = values.get("base_url") is not None
    return Task(workload, values["dtype"], values.get("kind"), is_served, values.get("parameters"))


def _refuse_secrets(headers: Mapping[str, str]) -> None:
    """Raise UsageError for a header with its value in the file: commands of jobs stand in logs and scripts."""
    for name, value in headers.items():
        if "$" not in value:
            raise UsageError(f'header {name}: its value would stand in logs; write {name} = "$VARIABLE", and set that')


def _click_command(name: str) -> click.Command:
    command: click.Command = importlib.import_module(f"calprobe.cli.{name}").command
    return command


def _options(command: click.Command) -> Mapping[str, bool]:
    """The options of a command, and which are flags; of one that can be switched off, both."""
    parameters = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    typed = ((name, option.is_flag) for option in parameters for name in (*option.opts, *option.secondary_opts))
    return {name.removeprefix("--"): is_flag for name, is_flag in typed if name.startswith("--")}


def _scored(context: click.Context) -> Workload:
    """What a `score` scores."""
    from calprobe.models.aliases import default_probe
    from calprobe.probes import load_probe
    from calprobe.scoring import select

    values = context.params
    probe = load_probe(values["probe"] or default_probe(values["model"]))
    options = scoring_options(values, quiet=True)
    loading_options(values, quiet=True)
    return score_workload(select(probe, options), options)


def _asked(context: click.Context) -> Workload:
    """What an `ask` asks."""
    from calprobe.asking import plan_of

    values = context.params
    if backend_options(context).backend != "openai":
        loading_options(values, quiet=True)
    options = asking_options(values, quiet=True)
    chosen = chosen_questions(values, seed=options.filled().seed or 0, shots_from=values["shots_from"])
    return ask_workload(plan_of(list(values["questions"]), options, chosen))
