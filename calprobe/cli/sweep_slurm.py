"""What `calprobe sweep --on slurm` is told: the options `--slurm-..`, and the engine that they make."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calprobe.cli.arguments import Number
from calprobe.errors import CalprobeError

if TYPE_CHECKING:
    from calprobe.sweep import Engine

Command = TypeVar("Command", bound=Callable[..., Any])

MOST_AT_ONCE = 1024  # without --jobs; Slurm's own limits are usually lower
_MOST_GPUS, _MOST_CPUS = 64, 1024  # of a node
_TIME = re.compile(r"(?:(?P<d>\d+)-)?(?P<a>\d+)(?::(?P<b>\d+))?(?::(?P<c>\d+))?")
_MEMORY = re.compile(r"[1-9][0-9]*[KMGT]?", re.IGNORECASE)
# What the sweep says itself, or by an option of its own.
_OWN = {
    *("array", "chdir", "cpus-per-task", "dependency", "error", "job-name", "nodes", "ntasks", "ntasks-per-node"),
    *("open-mode", "output", "parsable", "requeue", "no-requeue", "signal", "test-only", "wait", "wrap"),
    *("account", "gpus-per-node", "mem", "partition", "time"),
}


class TimeLimit(click.ParamType[int]):
    """A time as sbatch takes it (90, 4:00:00, 2-12); minutes, rounded up."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The minutes; BadParameter for anything else."""
        if isinstance(value, int):
            return value
        found = _TIME.fullmatch(value)
        if found is None:
            self.fail(f"{value!r} is no time such as 90 (minutes), 4:00:00 or 2-12 (days-hours)", param, ctx)
        days, parts = int(found["d"] or 0), [int(found[name]) for name in "abc" if found[name] is not None]
        # Behind days stand hours; without days, one number is minutes and two are minutes and seconds.
        hours, minutes, seconds = (
            [*parts, 0, 0] if found["d"] else [[0, *parts, 0], [0, *parts], parts][len(parts) - 1]
        )[:3]
        total = -(-(86400 * days + 3600 * hours + 60 * minutes + seconds) // 60)
        if not 0 < total <= 525_600:
            self.fail(f"{value!r} is not between a minute and a year", param, ctx)
        return total


def _memory(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _MEMORY.fullmatch(value):
        raise click.BadParameter(f"{value!r} is no memory such as 64G", context, parameter)
    return value


def _one_line(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not value.isprintable():
        raise click.BadParameter(f"{value!r} cannot stand in a line of sbatch", context, parameter)
    return value


def _others(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str | bool]:
    found: dict[str, str | bool] = {}
    for text in values:
        name, given, value = text.strip().removeprefix("--").partition("=")
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise click.BadParameter(f"{text!r} is no option of sbatch such as qos=long", context, parameter)
        if name in _OWN:
            raise click.BadParameter(
                f"{name} is set by the sweep, or has an option of its own (see --help)", context, parameter
            )
        _one_line(context, parameter, value)
        found[name] = value if given else True
    return found


_OPTIONS = (
    click.option(
        "--slurm-partition",
        metavar="P",
        callback=_one_line,
        help="Slurm: partition of the jobs.  [default: the cluster's]",
    ),
    click.option(
        "--slurm-account", metavar="A", callback=_one_line, help="Slurm: account that pays.  [default: yours]"
    ),
    click.option(
        "--slurm-time",
        type=TimeLimit(),
        default="4:00:00",
        show_default=True,
        envvar="SBATCH_TIMELIMIT",
        metavar="TIME",
        help="Slurm: time limit of a job, which then starts again and goes on.",
    ),
    click.option(
        "--slurm-gpus",
        type=Number(0, _MOST_GPUS),
        default=0,
        show_default=True,
        metavar="N",
        help="Slurm: GPUs of a job that spreads its model over them (device-map, tensor-parallel); any other has one.",
    ),
    click.option(
        "--slurm-cpus",
        type=Number(1, _MOST_CPUS),
        default=4,
        show_default=True,
        metavar="N",
        help="Slurm: cores of a job.",
    ),
    click.option(
        "--slurm-mem",
        metavar="SIZE",
        callback=_memory,
        help="Slurm: memory of a job (64G).  [default: by the size of its model]",
    ),
    click.option(
        "--slurm-option",
        metavar="NAME=VALUE",
        multiple=True,
        callback=_others,
        help="Slurm: any other option of sbatch, as qos=long or constraint=a100; may be repeated.",
    ),
)


def slurm_options(command: Command) -> Command:
    """The options of `--on slurm`; their parameters begin with `slurm_`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def engine_on_slurm(jobs: int | None, given: Mapping[str, Any]) -> Engine:
    """The engine; raises CalprobeError without submitit, without Slurm's commands, or without an answer of Slurm.

    Args:
        jobs: at once; None: as many as Slurm lets.
        given: the parameters of `slurm_options`, by name.
    """
    from calprobe.sweep.on_slurm import OnSlurm, Slurm

    if importlib.util.find_spec("submitit") is None:
        raise CalprobeError("--on slurm needs the package submitit: pip install 'calprobe[slurm]'")
    cluster = Slurm.found(given["slurm_time"], f"{shlex.quote(sys.executable)} -P")
    named = {"partition": "slurm_partition", "account": "slurm_account", "mem": "slurm_mem"}
    return OnSlurm(
        cluster,
        at_once=jobs or MOST_AT_ONCE,
        is_limited=jobs is not None,
        gpus=given["slurm_gpus"],
        cpus=given["slurm_cpus"],
        options={option: given[name] for option, name in named.items() if given[name]} | given["slurm_option"],
    )
