"""Tables with fewer rows and lines, for a first look: equal rows once, and the names of the tables left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from calprobe.metrics import Estimate
from calprobe.show.tables.types import Cell, Row, Table

ALIKE = "= NAME: it has the numbers of the row above."
FEW = 6  # rows, up to which a first look has room for intervals below them


def equal_rows_once(table: Table) -> Table:
    """Rows of a group whose cells are equal as one row, the first; below its label is whose they are, too."""
    alike: dict[tuple[str, ...], list[Row]] = {}
    for row in table.rows:
        alike.setdefault((row.group, *(_exact(cell) for cell in row.cells)), []).append(row)
    return replace(table, rows=tuple(_with_others(*rows) for rows in alike.values()))


def _with_others(first: Row, *others: Row) -> Row:
    if not others:
        return first
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    note = f"= {others[0].label}{more}"
    return replace(first, note=f"{first.note}, {note}" if first.note else note)


def _exact(cell: Cell) -> str:
    return f"{cell.value!r} {cell.low!r} {cell.high!r}" if isinstance(cell, Estimate) else repr(cell)


def at_a_glance(table: Table, decimals: int) -> Table:
    """A table for a first look: equal rows once, no more digits than its numbers bear, no intervals of many rows.

    Where the width decides, the first columns come first.
    """
    shorter = equal_rows_once(table)
    merged = [ALIKE] if len(shorter.rows) < len(table.rows) else []
    columns = tuple(replace(column, priority=place) for place, column in enumerate(shorter.columns))
    return replace(
        shorter,
        columns=columns,
        notes=(*shorter.notes, *merged),
        decimals=decimals,
        intervals=len(shorter.rows) <= FEW,
        best_within=None,
        directions=False,
    )


def others_named(shown: Sequence[Table], tables: Iterable[Table]) -> tuple[str, ...]:
    """A sentence that names the kinds of tables which a first look leaves out, and how to see them; none of none."""
    kinds = {table.kind for table in shown}
    if others := [kind for kind in dict.fromkeys(table.kind for table in tables) if kind and kind not in kinds]:
        return (f"More: --tables {', '.join(others)}; --tables all.",)
    return ("More rows and columns: --tables all.",)
