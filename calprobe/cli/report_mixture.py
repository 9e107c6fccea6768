"""`calprobe report` of folders of runs, and of runs of scores and of replies together."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.errors import CalprobeError

if TYPE_CHECKING:
    from calprobe.analysis import ReportOptions
    from calprobe.cells.opening import AnyRun

log = logging.getLogger(__name__)

CHOOSE = "leave it out, or choose runs of one kind: calprobe report $(calprobe runs DIR --kind scored --paths)"


def expanded(paths: Sequence[str]) -> list[str]:
    """The paths, with the runs below a folder in the place of a folder that is no run itself.

    Of these, runs that cannot be read are left out, which the log says; a path without runs stays as it is.
    """
    from calprobe.cli.logs import log_to_stderr
    from calprobe.runs.listing import run_folders

    found: list[str] = []
    for path in paths:
        place = Path(path)
        inside = [] if not place.is_dir() else list(run_folders(place))
        if not inside or inside == [place]:
            found.append(path)
            continue
        log_to_stderr()
        readable = [str(run) for run in inside if _is_readable(run)]
        found += readable or [path]
    return list(dict.fromkeys(found)) if len(found) > len(paths) else found


def _is_readable(run: Path) -> bool:
    from calprobe.runs import open_run

    try:
        open_run(run)
    except CalprobeError as error:
        log.warning("%s; left out", error)
        return False
    return True


def report_mixture(
    typed: Sequence[str],
    opened: Mapping[str, AnyRun],
    named: Mapping[str, str],
    options: ReportOptions,
    form: str,
    page: Path | None,
) -> None:
    """Print the runs side by side, task by task, and write a page of them where it is wanted."""
    from calprobe.analysis.asked.options import AskedOptions
    from calprobe.analysis.overview import OverviewOptions
    from calprobe.analysis.tasks import tasks_of
    from calprobe.cli.overview import report_overview
    from calprobe.heap import keep_freed_memory

    keep_freed_memory()
    tasks = tasks_of(opened, typed={label for label, path in named.items() if label != path})
    both = OverviewOptions(options, AskedOptions(ace_bins=options.ace_bins, resampling=options.resampling))
    title = typed[0] if len(typed) == 1 else f"{len(named)} runs"
    report_overview(title, tasks, both, form, page)
