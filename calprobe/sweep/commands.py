"""The commands that jobs call: their options, and what they check of a job before a model is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.errors import CalprobeError, UsageError
from calprobe.sweep.definition import Fits, Job, Known, Sweep, always
from calprobe.sweep.order import Planned
from calprobe.sweep.workloads import Costs, Workload

if TYPE_CHECKING:
    from calprobe.words import ModelKind

# That a process takes beside the weights of its model, roughly: torch, a batch, the prepared text.
_PROCESS_BYTES = 2**30


@dataclass(frozen=True, slots=True)
class Task:
    """What a job does, whatever its model is, as its command reads its options."""

    workload: Workload
    dtype: str = "auto"
    kind: ModelKind | None = None  # of the model, where an option says it
    is_served: bool = False  # by a server, which has the model
    parameters: int | None = None  # of a model that is served, where an option says it


@dataclass(frozen=True, slots=True)
class Commands:
    """`calprobe score` and `calprobe ask`, which the command line has."""

    known: Known  # their options
    task: Callable[[Job], Task]  # reads and checks the options of a job; CalprobeError as the command itself raises it
    fits: Fits = always  # whether an option means anything for a job, by its backend


def checked_jobs(sweep: Sweep, commands: Commands, costs: Costs) -> list[Planned]:
    """All jobs with their sizes. Raises CalprobeError, with file and tables, for the first that its command refuses."""
    tasks: dict[tuple[object, ...], Task] = {}
    jobs = []
    for job in sweep.jobs:
        with _naming(sweep, job):
            # What a job has to do is the same for all models.
            key = (job.command, *((name, str(value)) for name, value in job.options.items() if name != "model"))
            if key not in tasks:
                tasks[key] = commands.task(job)
            jobs.append(_planned(job, tasks[key], costs))
    return jobs


@contextmanager
def _naming(sweep: Sweep, job: Job) -> Iterator[None]:
    """Errors with the file and the tables that they come from."""
    try:
        yield
    except CalprobeError as error:
        raise type(error)(f"{sweep.source}: {' '.join(job.tables)}: {error}") from error


def _planned(job: Job, task: Task, costs: Costs) -> Planned:
    """The job with its model's size, where that is known before it is loaded."""
    from calprobe.models.aliases import ALIASES
    from calprobe.models.sizes import size_of
    from calprobe.models.source import mistyped_alias

    workload = task.workload
    if task.is_served:
        return Planned(job, workload.units, task.parameters, 0, workload.guessed("causal"))
    if job.command == "ask" and job.model in ALIASES and ALIASES[job.model].kind == "masked":
        raise UsageError(
            'a masked model cannot answer; let its table name what it takes part in: only = ["PROBE"], a name that no '
            "question set has"
        )
    size = size_of(job.model)
    if not size.here and (meant := mistyped_alias(job.model)):
        raise UsageError(f"no alias {job.model}{meant}")
    width = 2 if task.dtype in ("bfloat16", "float16") else 4
    needs = _PROCESS_BYTES + width * (size.parameters or 0)
    return Planned(job, workload.units, size.parameters, needs, costs.cost(job.model, task.kind, workload))
