"""The runs that a command line names: folders expanded, named as they are shown, opened once, of one kind."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calprobe.cli.label_option import labelled
from calprobe.cli.option_kinds import Kinds, kind_of_runs
from calprobe.cli.terminal_text import log_to_stderr
from calprobe.errors import CalprobeError, UsageError

if TYPE_CHECKING:
    from calprobe.cells.opening import AnyRun

LEAVE_OUT = "leave it out"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TypedRuns:
    """The runs of a command, open."""

    runs: Mapping[str, AnyRun]  # by what each is called
    paths: Mapping[str, str]  # as typed, likewise
    kind: str  # scored, asked, or of both kinds: mixed, where they are compared facts

    @property
    def labels(self) -> dict[str, str]:
        """The names that `--label` gave, by what runs are called."""
        return {label: label for label, path in self.paths.items() if label != path}


def open_typed(
    paths: Sequence[str], labels: Sequence[str] = (), kinds: Kinds | None = None, *, mixed: str = LEAVE_OUT
) -> TypedRuns:
    """Open the runs, and from here on show the library's log on stderr.

    Args:
        paths: as typed.
        labels: RUN=NAME, as `--label` gives them.
        kinds: what the command takes; options that do not hold for the kind of the runs are refused. None: any.
        mixed: what to do about runs of both kinds.
    Raises:
        UsageError: as `labelled`, for runs of both kinds where the command does not take them, and for such options.
        DataMissingError, CalprobeError: as `open_run`.
    """
    from calprobe.cells.opening import open_runs
    from calprobe.heap import keep_freed_memory

    named = labelled(paths, labels)
    runs = open_runs(named)
    kind, what_runs = kind_of_runs(runs, named)
    if kinds is not None:
        if kind == "mixed" and "facts" in kinds.names:
            kind = "facts"
        if kind not in kinds.names:
            raise UsageError(f"{what_runs}; {mixed}")
        mend = mixed if kind == "mixed" else LEAVE_OUT
        kinds.refuse(click.get_current_context(), kind, f"{what_runs}; {mend}")
    log_to_stderr()
    keep_freed_memory()
    return TypedRuns(runs, named, kind)


def expanded(paths: Sequence[str]) -> list[str]:
    """The paths, with the runs below a folder in the place of a folder that is no run itself.

    Of these, runs that cannot be read are left out, which the log says; a path without runs stays as it is.
    """
    from calprobe.runs.listing import run_folders

    places: list[str] = []
    for path in paths:
        place = Path(path)
        inside = list(run_folders(place)) if place.is_dir() else []
        if not inside or inside == [place]:
            places.append(path)
            continue
        log_to_stderr()
        places += [str(run) for run in inside if _is_readable(run)] or [path]
    return list(dict.fromkeys(places)) if len(places) > len(paths) else places


def _is_readable(run: Path) -> bool:
    from calprobe.runs import open_run

    try:
        open_run(run)
    except CalprobeError as error:
        log.warning("%s; left out", error)
        return False
    return True
