"""The table of the runs below a folder: a row a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from calprobe.cells.run_facts import model_name
from calprobe.measures.number_text import ranges
from calprobe.messages import counted
from calprobe.runs import ModelRecord
from calprobe.runs.listing import ListedRun
from calprobe.show.tables.layout import UNRANKED, Cells, Layout, quantity
from calprobe.show.tables.types import Cell, Row, Table
from calprobe.studies.overview.catalogue import Catalogue, CataloguedRun
from calprobe.studies.overview.headlines import RunHeadline

_ERRORS = {"ACE": "ace", "ECE": "ece"}  # by title; a run has the one that stands for it
_DAY = 86400


def run_list_tables(found: Catalogue) -> tuple[Table]:
    """One table; runs that cannot be read, or that failed, are named below it with the reason."""
    runs = counted(len(found.runs), "run")
    left_out = f", {found.left_out:,} more left out" if found.left_out else ""
    damaged = f", {len(found.damaged)} damaged" if found.damaged else ""
    hidden = set(_hidden(found))
    layout = Layout[CataloguedRun](
        f"Runs in {found.folder}.",
        "runs",
        "run",
        lambda run: Row(_below(run.path, found.folder), keys={"run": run.path}),
        tuple(cells for cells in _COLUMNS if cells.column.title not in hidden),
        more=UNRANKED,
    )
    table = layout.table(
        found.runs,
        *(f"DAMAGED {error}" for error in found.damaged.values()),
        *(f"FAILED {run.path}: {run.why}" for run in found.runs if run.state == "failed" and run.why),
        heading=(f"{found.folder}: {runs}{left_out}{damaged}",),
        fine_print=tuple(f"RUNNING {run.path}: {run.why}" for run in found.runs if run.state == "running"),
    )
    return (table,)


def _hidden(catalogue: Catalogue) -> Iterator[str]:
    """Titles that the list goes without: errors that stand for no run, and chance where it is of none."""
    if not catalogue.with_headlines:
        yield from ("accuracy", *_ERRORS, "if cal.", "p", "of")
    headlines = [run.headline for run in catalogue.runs if run.headline is not None]
    stand = {headline.error for headline in headlines} or {"ace"}
    yield from (title for title, error in _ERRORS.items() if error not in stand)
    if all(headline.if_calibrated is None for headline in headlines):
        yield "if cal."
    if all(headline.p is None for headline in headlines):
        yield "p"


def _below(path: str, folder: str) -> str:
    """A path as it is below the folder that the heading names.

    >>> _below("runs/gpt2/bear", "runs"), _below("runs", "runs")
    ('gpt2/bear', 'runs')
    """
    return path.removeprefix(f"{folder}/") or path


def _probe(entry: CataloguedRun) -> str:
    """Probe or question sets, and how many instances of each relation or questions of each set, if not all."""
    name, run = entry.of or "-", entry.run
    if run is not None and run.part is not None:
        return run.part
    if run is None or run.limit is None:
        return name
    return f"{name}, {'first' if run.sample_seed is None else 'limit'} {run.limit}"


def _state(entry: CataloguedRun) -> str:
    """The state, how many requests have failed, and of what is not complete how much is done: 66 % (2 of 3)."""
    run = entry.run
    if run is None:
        return entry.state
    failed = f", {run.failed:,} of {counted(run.requests or 0, 'request')} failed" if run.failed else ""
    if entry.state == "complete":
        return f"{entry.state}{failed}"
    shard = "" if run.shard is None else f", shard {run.shard}"
    if run.replies is not None and run.requests:
        arrived = run.replies - (run.failed or 0)
        share = 100 * arrived // run.requests
        more = f", {run.failed:,} failed" if run.failed else ""
        return f"{entry.state} {share} % ({arrived:,} of {counted(run.requests, 'request')}{more}){shard}"
    return f"{entry.state} {100 * run.done // max(1, run.pieces)} % ({run.done} of {run.pieces}){shard}"


def _age(seconds: float) -> str:
    """The largest whole unit.

    >>> [_age(seconds) for seconds in (40, 3700, 200_000)]
    ['40 s', '1 h', '2 d']
    """
    size, unit = next(
        ((size, unit) for size, unit in ((_DAY, "d"), (3600, "h"), (60, "min")) if seconds >= size), (1, "s")
    )
    return f"{seconds // size:.0f} {unit}"


def _size(count: int) -> str:
    """Bytes in the largest binary unit.

    >>> [_size(count) for count in (900, 20_480, 5 * 2**30)]
    ['900 B', '20 KiB', '5.0 GiB']
    """
    for size, unit, decimals in ((2**30, "GiB", 1), (2**20, "MiB", 1), (2**10, "KiB", 0)):
        if count >= size:
            return f"{count / size:,.{decimals}f} {unit}"
    return f"{count} B"


def _column(title: str, priority: int, of: Callable[[CataloguedRun], Cell], name: str = "") -> Cells[CataloguedRun]:
    """A column of the list, with its priority on a narrow terminal."""
    return quantity(title, of, name=name or title.lower(), ranked=False, priority=priority)


def _number(title: str, priority: int, of: Callable[[RunHeadline], Cell], name: str = "") -> Cells[CataloguedRun]:
    """A column of headlines; nothing of a run that has none."""
    return _column(title, priority, lambda entry: None if entry.headline is None else of(entry.headline), name)


def _listed(title: str, priority: int, of: Callable[[ListedRun], str | None]) -> Cells[CataloguedRun]:
    """A column of what manifests say; nothing of a folder without a run."""
    return _column(title, priority, lambda entry: None if entry.run is None else of(entry.run) or None)


_COLUMNS = (
    _column("state", 1, _state),
    _column("model", 3, lambda entry: model_name(ModelRecord(entry.model)) or "-"),
    _column("probe", 4, _probe),
    _number("accuracy", 2, lambda headline: headline.accuracy),
    _number("ACE", 5, lambda headline: headline.ace if headline.error == "ace" else None),
    _number("ECE", 5, lambda headline: headline.ece if headline.error == "ece" else None),
    _number("if cal.", 7, lambda headline: headline.if_calibrated, "if_calibrated"),
    _number("p", 8, lambda headline: headline.p),
    _number("of", 14, lambda headline: headline.of),
    _column("age", 6, lambda entry: None if entry.age_s is None else _age(entry.age_s)),
    _column("size", 9, lambda entry: _size(entry.bytes)),
    _listed("instances", 10, lambda run: f"{run.instances:,}"),
    _listed("templates", 11, lambda run: ranges(run.templates)),
    _listed("kind", 12, lambda run: run.kind),
    _listed("created", 13, lambda run: (run.created or "")[:10]),
)
