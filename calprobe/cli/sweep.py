"""`calprobe sweep`: many runs by one file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.arguments import Number, each_once_option
from calprobe.cli.option_kinds import SWEEP_PLACES, Group, KindCommand, heading, option
from calprobe.cli.output import print_result, tables_text
from calprobe.cli.run_options import quiet_option
from calprobe.cli.terminal_text import log_to_stderr, say
from calprobe.errors import CalprobeError
from calprobe.messages import counted
from calprobe.trackers.registry import NAMES as TRACKERS

if TYPE_CHECKING:
    from calprobe.sweep import SweepPlan, SweepResult

_MOST_JOBS, _MOST_GPUS, _MOST_CPUS = 1024, 64, 1024  # at once; of a node

_ray_option = partial(option, kinds=("ray",))
_slurm_option = partial(option, kinds=("slurm",))


@click.command(
    cls=KindCommand,
    kinds=(SWEEP_PLACES,),
    short_help="Make many runs by one file: models x probes, models x questions x studies.",
)
@click.argument("file", metavar="FILE.toml", type=click.Path(path_type=Path))
@heading(Group.JOBS)
@option(
    "--on",
    type=click.Choice(["local", "ray", "slurm"]),
    default="local",
    show_default=True,
    help="What runs the jobs: this machine, a Ray cluster or a Slurm cluster.",
)
@option(
    "--jobs",
    type=Number(1, _MOST_JOBS),
    metavar="N",
    help="Runs at once, as far as memory goes.  [default: one for each visible GPU; on a CPU, one; on Slurm, no limit]",
)
@option("--dry-run", is_flag=True, help="Run nothing: check all jobs, print costs and schedule.")
@option("--report/--no-report", default=True, help="Leave out the pages and tables over all runs at the end.")
@heading(Group.TRACKING)
@each_once_option(
    "--log",
    "log_to",
    metavar="TRACKER,..",
    help=f"Log each complete run with its configuration and figures: {', '.join(TRACKERS)}.",
)
@option("--project", metavar="NAME", help="With --log: project or experiment of the runs.  [default: the file's name]")
@heading(Group.RAY)
@_ray_option(
    "--ray-address",
    metavar="ADDRESS",
    help="The cluster, as auto, HOST:PORT or ray://HOST:PORT.  [default: RAY_ADDRESS; without it, one that is "
    "started on this machine]",
)
@_ray_option(
    "--ray-cpus",
    type=Number(1, _MOST_CPUS),
    metavar="N",
    help="Cores of a job.  [default: those of the smallest node, or of its GPUs' share, at most 8]",
)
@heading(Group.SLURM)
@_slurm_option("--slurm-partition", metavar="P", help="Partition of the jobs.  [default: the cluster's]")
@_slurm_option("--slurm-account", metavar="A", help="Account that pays.  [default: yours]")
@_slurm_option(
    "--slurm-time",
    default="4:00:00",
    show_default=True,
    envvar="SBATCH_TIMELIMIT",
    metavar="TIME",
    help="Time limit of a job, which then starts again and goes on.",
)
@_slurm_option(
    "--slurm-gpus",
    type=Number(0, _MOST_GPUS),
    default=0,
    show_default=True,
    metavar="N",
    help="GPUs of a job that spreads its model over them (device-map, tensor-parallel); any other has one.",
)
@_slurm_option(
    "--slurm-cpus", type=Number(1, _MOST_CPUS), default=4, show_default=True, metavar="N", help="Cores of a job."
)
@_slurm_option("--slurm-mem", metavar="SIZE", help="Memory of a job (64G).  [default: by the size of its model]")
@_slurm_option(
    "--slurm-option",
    "slurm_options",
    metavar="NAME=VALUE",
    multiple=True,
    help="Any other option of sbatch, as qos=long or constraint=a100; may be repeated.",
)
@quiet_option
@click.pass_context
def command(
    context: click.Context,
    /,
    file: Path,
    on: str,
    jobs: int | None,
    dry_run: bool,
    log_to: tuple[str, ...] | None,
    **given: Any,
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
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch is imported, as in `calprobe score`
    from calprobe.entrance import sweep
    from calprobe.sweep import PLACES, SweepOptions, SweepPlan

    log_to_stderr(given["quiet"])
    of_places = {name: value for name, value in given.items() if name.partition("_")[0] in PLACES}
    SWEEP_PLACES.refuse(context, on, f"this is --on {on}; leave it out")
    place = PLACES[on](jobs=jobs, **_of_place(on, of_places))
    options = SweepOptions(log_to=log_to or (), **{name: given[name] for name in ("report", "project", "quiet")})
    result = sweep(file, on=place, dry_run=dry_run, options=options)
    _show_plan(result) if isinstance(result, SweepPlan) else _show_result(result)


def _of_place(on: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the place that `--on` names, by the names that they have there."""
    fields = {name.removeprefix(f"{on}_"): value for name, value in parameters.items() if name.startswith(f"{on}_")}
    if "options" in fields:
        pairs = (text.strip().removeprefix("--").partition("=") for text in fields["options"])
        fields["options"] = {name: value if sign else True for name, sign, value in pairs}
    return fields


def _show_plan(plan: SweepPlan) -> None:
    """Print the plan. What could not run here is said on stderr: a plan may be made on a smaller machine."""
    for misfit in plan.misfits:
        say(f"{misfit.job.name} {misfit.why}")
    if plan.misfits:
        say(f"without --dry-run, {counted(len(plan.misfits), 'such job')} would be refused here")
    print_result(str(plan))


def _show_result(result: SweepResult) -> None:
    """Print the runs side by side, and what is next; raises CalprobeError where a job failed."""
    if result.overview is not None:
        from calprobe.studies.overview.glance import overview_at_a_glance
        from calprobe.sweep.overview_files import PAGE

        print_result(tables_text(overview_at_a_glance(result.overview, PAGE)), as_is=True)
    n_complete, n_failed = len(result.complete), len(result.failed)
    runs = f"{counted(n_complete, 'run')} of {n_complete + n_failed:,}"
    say(f"{result.out}: {runs} complete; next: calprobe runs {shlex.quote(str(result.out))}")
    if n_failed:
        raise CalprobeError(f"{counted(n_failed, 'job')} failed; to try again, run the same command again")
