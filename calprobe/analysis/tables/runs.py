"""The table of the runs below a folder: a row a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calprobe.analysis.catalogue import Catalogue, CataloguedRun
from calprobe.analysis.number_text import ranges
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.cells.run_facts import model_name
from calprobe.messages import counted
from calprobe.runs import ModelRecord

# Title of each column -> its priority on a narrow terminal.
_COLUMNS = {
    "state": 1,
    "model": 2,
    "probe": 3,
    "accuracy": 4,
    "ACE": 4,
    "ECE": 4,
    "if cal.": 5,
    "p": 6,
    "of": 14,
    "age": 7,
    "size": 8,
    "instances": 9,
    "templates": 10,
    "kind": 11,
    "created": 12,
}
_ERRORS = {"ACE": "ace", "ECE": "ece"}  # by title; a run has the one that stands for it
_NUMBERS = ("accuracy", *_ERRORS, "if cal.", "p", "of")
_QUANTITIES = {"if cal.": "if_calibrated"}  # of titles that are not their own
_DAY = 86400


def run_list_tables(found: Catalogue) -> tuple[Table]:
    """One table; runs that cannot be read, or that failed, are named below it with the reason."""
    runs = counted(len(found.runs), "run")
    left_out = f", {found.left_out:,} more left out" if found.left_out else ""
    damaged = f", {len(found.damaged)} damaged" if found.damaged else ""
    titles = list(_titles(found))
    return (
        Table(
            caption=f"Runs in {found.folder}.",
            label="runs",
            stub="run",
            columns=tuple(
                Column(
                    title,
                    keys={"quantity": _QUANTITIES.get(title, title.lower())},
                    ranked=False,
                    priority=_COLUMNS[title],
                )
                for title in titles
            ),
            rows=tuple(_row(run, found.folder, titles) for run in found.runs),
            heading=(f"{found.folder}: {runs}{left_out}{damaged}",),
            notes=(
                *(f"DAMAGED {error}" for error in found.damaged.values()),
                *(f"FAILED {run.path}: {run.why}" for run in found.runs if run.state == "failed" and run.why),
            ),
            fine_print=tuple(f"RUNNING {run.path}: {run.why}" for run in found.runs if run.state == "running"),
            best_within=None,
        ),
    )


def _titles(found: Catalogue) -> Iterator[str]:
    """The columns of the list: without errors that stand for no run, and chance where it is of none."""
    headlines = [run.headline for run in found.runs if run.headline is not None]
    none = {
        *(title for title, error in _ERRORS.items() if error not in {own.error for own in headlines}),
        *({"if cal."} if all(own.if_calibrated is None for own in headlines) else ()),
        *({"p"} if all(own.p is None for own in headlines) else ()),
    } - ({"ACE"} if not headlines else set())
    for title in _COLUMNS:
        if title not in none and (found.with_headlines or title not in _NUMBERS):
            yield title


def _row(run: CataloguedRun, folder: str, titles: Sequence[str]) -> Row:
    cells = _cells(run)
    return Row(_below(run.path, folder), tuple(cells[title] for title in titles), keys={"run": run.path})


def _below(path: str, folder: str) -> str:
    """A path as it is below the folder that the heading names.

    >>> _below("runs/gpt2/bear", "runs"), _below("runs", "runs")
    ('gpt2/bear', 'runs')
    """
    return path.removeprefix(f"{folder}/") or path


def _cells(found: CataloguedRun) -> dict[str, Cell]:
    run, headline = found.run, found.headline
    return {
        "state": _state(found),
        "model": model_name(ModelRecord(found.model)) or "-",
        "probe": _probe(found),
        "accuracy": None if headline is None else headline.accuracy,
        "ACE": headline.ace if headline is not None and headline.error == "ace" else None,
        "ECE": headline.ece if headline is not None and headline.error == "ece" else None,
        "if cal.": None if headline is None else headline.if_calibrated,
        "p": None if headline is None else headline.p,
        "of": headline.of if headline else None,
        "age": None if found.age_s is None else _age(found.age_s),
        "size": _size(found.bytes),
        "instances": None if run is None else f"{run.instances:,}",
        "templates": None if run is None else ranges(run.templates) or None,
        "kind": None if run is None else run.kind or None,
        "created": run.created[:10] if run is not None and run.created else None,
    }


def _probe(found: CataloguedRun) -> str:
    """Probe or question sets, and how many instances of each relation or questions of each set, if not all."""
    name, run = found.of or "-", found.run
    if run is not None and run.part is not None:
        return run.part
    if run is None or run.limit is None:
        return name
    return f"{name}, {'first' if run.sample_seed is None else 'limit'} {run.limit}"


def _state(found: CataloguedRun) -> str:
    """The state, how many requests have failed, and of what is not complete how much is done: 66 % (2 of 3)."""
    run = found.run
    if run is None:
        return found.state
    failed = f", {run.failed:,} of {counted(run.requests or 0, 'request')} failed" if run.failed else ""
    if found.state == "complete":
        return f"{found.state}{failed}"
    part = "" if run.shard is None else f", shard {run.shard}"
    if run.replies is not None and run.requests:
        arrived = run.replies - (run.failed or 0)
        share = 100 * arrived // run.requests
        more = f", {run.failed:,} failed" if run.failed else ""
        return f"{found.state} {share} % ({arrived:,} of {counted(run.requests, 'request')}{more}){part}"
    return f"{found.state} {100 * run.done // max(1, run.pieces)} % ({run.done} of {run.pieces}){part}"


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
