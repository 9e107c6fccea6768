"""The table of the runs below a folder: a row a run."""

from __future__ import annotations

from calprobe.analysis.number_text import ranges
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.messages import counted
from calprobe.runs.listing import ListedRun, RunList

# Title of each column -> its priority on a narrow terminal.
_COLUMNS = {"model": 2, "kind": 7, "probe": 3, "instances": 6, "templates": 4, "done": 1, "created": 5}


def run_list_tables(found: RunList) -> tuple[Table]:
    """One table; runs that cannot be read are named below it."""
    runs = counted(len(found.runs), "run")
    return (
        Table(
            caption=f"Runs in {found.folder}.",
            label="runs",
            stub="run",
            columns=tuple(
                Column(title, keys={"quantity": title}, ranked=False, priority=priority)
                for title, priority in _COLUMNS.items()
            ),
            rows=tuple(Row(run.path, _cells(run), keys={"run": run.path}) for run in found.runs),
            heading=(f"{found.folder}: {runs}" + (f", {len(found.damaged)} damaged" if found.damaged else ""),),
            notes=tuple(f"DAMAGED {error}" for error in found.damaged.values()),
            best_within=None,
        ),
    )


def _cells(run: ListedRun) -> tuple[Cell, ...]:
    which = "first" if run.sample_seed is None else "limit"
    limit = "" if run.limit is None else f", {which} {run.limit}"
    return (
        run.model or "-",
        run.kind or "-",
        f"{run.probe or '-'}{limit}",
        f"{run.instances:,}",
        ranges(run.templates) or "-",
        _done(run),
        run.created[:10] or "-",
    )


def _done(run: ListedRun) -> str:
    part = "" if run.shard is None else f", shard {run.shard}"
    if run.complete:
        return "complete"
    if run.replies is not None and run.requests:
        share = 100 * run.replies // run.requests
        return f"{share} % ({run.replies:,} of {counted(run.requests, 'request')}){part}"
    return f"{100 * run.done // run.pieces} % ({run.done} of {run.pieces}){part}"
