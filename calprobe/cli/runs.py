"""`calprobe runs`: the runs in a folder."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from calprobe.cli.arguments import list_option, typed
from calprobe.cli.common import format_options
from calprobe.cli.terminal_text import log_to_stderr
from calprobe.errors import UsageError
from calprobe.messages import no_such
from calprobe.words import RunKind, RunOrder, RunState

_UNITS = {"min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@click.command(short_help="List the runs in a folder: state, model, accuracy, calibration error, age, size.")
@click.argument("folder", metavar="[DIR]", default="runs", type=click.Path(path_type=Path))
@click.option("--model", metavar="PATTERN", help="Only runs of these models: *llama*, or a part of the name.")
@click.option("--probe", metavar="PATTERN", help="Only runs of scores on these probes.")
@click.option("--questions", metavar="PATTERN", help="Only runs of replies to these question sets.")
@list_option("--state", "states", metavar=",".join(get_args(RunState)), help="Only runs in these states.")
@click.option("--kind", type=click.Choice(get_args(RunKind)), help="Only runs of scores, or of replies.")
@click.option("--since", metavar="2d|3h|DATE", help="Only runs created since then.")
@click.option(
    "--sort", type=click.Choice(get_args(RunOrder)), default="path", show_default=True, help="What comes first."
)
@click.option("--numbers/--no-numbers", default=True, help="Leave out accuracy and ACE, for which runs are read.")
@click.option("--paths", is_flag=True, help="Print nothing but the runs' folders, one in a line, for other commands.")
@click.option("--null", is_flag=True, help="With --paths: end each folder with a NUL, for names with spaces.")
@format_options
def command(
    folder: Path,
    since: str | None,
    sort: RunOrder,
    numbers: bool,
    paths: bool,
    null: bool,
    form: str,
    **given: Any,
) -> None:
    """List the runs in DIR and its folders: state, model, probe or question sets, accuracy, ACE, age and size.

    DIR is `runs` unless it is given. A run is complete, running (a process writes to it), partial, or failed (every
    request, or its job in a sweep). Accuracy and ACE are those of base; of replies, of the estimator named under `of`,
    in the mean over sets and variants. They are computed once, and kept in the cache until a run changes. Runs with a
    damaged manifest are named with the reason.

    \b
        calprobe runs
        calprobe runs runs/paper --probe bear --sort accuracy
        calprobe runs runs/paper --state partial,failed
        calprobe report $(calprobe runs runs/paper --kind asked --paths) --html asked.html
        calprobe runs runs/paper --paths --null | xargs -0 calprobe report
        calprobe runs /data/experiments --format csv > runs.csv
    """
    from calprobe.cli.output import print_result, print_tables
    from calprobe.runs.listing import list_runs
    from calprobe.studies.overview.catalogue import Filters, catalogue
    from calprobe.studies.overview.runs_table import run_list_tables
    from calprobe.sweep.failures import failures_around

    if paths and any(typed(click.get_current_context(), name) for name in ("form", "as_json")):
        raise UsageError("--paths prints folders alone; leave out --format and --json")
    if null and not paths:
        raise UsageError("--null is for --paths; give both")
    for state in given["states"] or ():
        if state not in get_args(RunState):
            raise UsageError(f"--state: {no_such(state, get_args(RunState))}")
    log_to_stderr()
    filters = Filters(**{**given, "states": given["states"] or ()}, since_s=None if since is None else _seconds(since))
    listing = catalogue(list_runs(folder), failures_around(folder), filters, sort, headlines=numbers and not paths)
    if paths:
        end = "\0" if null else "\n"
        folders = "".join(f"{run.path}{end}" for run in listing.runs if run.run is not None)
        print_result(folders, as_is=null, end="")  # for xargs the names as they are
        return
    print_tables(listing, partial(run_list_tables, listing), form)


def _seconds(since: str) -> float:
    """What `--since` says, in seconds before now. Raises UsageError for anything else."""
    from datetime import UTC, datetime

    if match := re.fullmatch(r"(\d{1,6})(min|h|d|w)", since):
        return int(match[1]) * _UNITS[match[2]]
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise UsageError(f"--since {since!r}: give 90min, 3h, 2d, 1w, or a date such as 2026-05-01") from None
    local = moment if moment.tzinfo else moment.astimezone()
    return max(0.0, (datetime.now(UTC) - local).total_seconds())
