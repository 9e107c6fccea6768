"""Tables with fewer rows and lines, for a first look: equal rows once, and the names of the tables left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from calprobe.metrics import Estimate
from calprobe.show.tables.types import Cell, Row, Table

FEW = 6  # rows, up to which a first look has room for intervals below them


def equal_rows_once(table: Table) -> Table:
    """Rows of a group whose cells are equal as one row, the first; below its label are those of the others."""
    merged: dict[tuple[str, ...], Row] = {}
    for row in table.rows:
        key = (row.group, *(_exact(cell) for cell in row.cells))
        if key in merged:
            first = merged[key]
            merged[key] = replace(first, note=f"{first.note}, = {row.label}" if first.note else f"= {row.label}")
        else:
            merged[key] = row
    return replace(table, rows=tuple(merged.values()))


def _exact(cell: Cell) -> str:
    return f"{cell.value!r} {cell.low!r} {cell.high!r}" if isinstance(cell, Estimate) else repr(cell)


def at_a_glance(table: Table, decimals: int) -> Table:
    """A table for a first look: equal rows once, no more digits than its numbers bear, no intervals of many rows."""
    shorter = equal_rows_once(table)
    return replace(shorter, decimals=decimals, intervals=len(shorter.rows) <= FEW, best_within=None, directions=False)


def others_named(shown: Sequence[Table], tables: Iterable[Table]) -> tuple[str, ...]:
    """A sentence that names the kinds of tables which a first look leaves out, and how to see them; none of none."""
    kinds = {table.kind for table in shown}
    if others := [kind for kind in dict.fromkeys(table.kind for table in tables) if kind and kind not in kinds]:
        return (f"More: --tables {', '.join(others)}; --tables all.",)
    return ("More rows and columns: --tables all.",)
