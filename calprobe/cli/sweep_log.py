"""`--log` and `--project` of `calprobe sweep`: the trackers that get its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import click

from calprobe.cli.arguments import each_once_option

if TYPE_CHECKING:
    from calprobe.sweep import Job, Sweep
    from calprobe.trackers import Trackers

RunLogging = AbstractContextManager[Callable[["Job"], None]]  # gives what takes a complete run

log_option = each_once_option(
    "--log",
    "log_to",
    metavar="TRACKER,..",
    help="Log each complete run with its configuration and figures: wandb, trackio, mlflow, tensorboard.",
)
project_option = click.option(
    "--project", metavar="NAME", help="With --log: project or experiment of the runs.  [default: the file's name]"
)


def trackers_of(sweep: Sweep, log_to: Sequence[str] | None, project: str | None) -> Trackers | None:
    """The trackers, checked before anything runs; None without `--log`.

    Raises UsageError for an unknown one, CalprobeError for one that is not installed.
    """
    from calprobe.trackers import Place, open_trackers

    if not log_to:
        if project is not None:
            raise click.UsageError("--project names where --log puts runs; add --log, or leave it out")
        return None
    place = Place(project_of(sweep, project), sweep.out / "tensorboard")
    return open_trackers(log_to, place, "The sweep goes on; the same command logs what is missing")


def project_of(sweep: Sweep, project: str | None) -> str:
    """The project that was given, else the name of the sweep's file."""
    return project or sweep.path.stem


@contextmanager
def logging_runs(sweep: Sweep, trackers: Trackers | None, project: str | None) -> Iterator[Callable[[Job], None]]:
    """What takes each complete run, in the block; it does nothing without trackers."""
    if trackers is None:
        yield lambda job: None
        return
    from calprobe.sweep.run_log import RunLog

    with RunLog(sweep.out, project_of(sweep, project), trackers) as found:
        yield found.add
