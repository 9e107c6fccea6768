"""Tables as one tidy CSV file: a line for each number."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence

from calprobe.metrics import Difference, Estimate
from calprobe.show.tables.best import best_cells
from calprobe.show.tables.cell_text import one_line
from calprobe.show.tables.types import Cell, Table

NUMBERS = ("value", "low", "high", "best")
_FORMULA = ("=", "+", "-", "@")  # what a spreadsheet would compute


def tidy_csv(tables: Sequence[Table]) -> str:
    """A head, and a line for each cell that has anything: its keys, value, interval, whether it is a best one.

    Numbers are in full precision; NaN and a missing interval are empty. Text that a spreadsheet would take for a
    formula gets an apostrophe in front.
    """
    lines = [line for table in tables if table.tidy for line in _lines(table)]
    keys = dict.fromkeys(key for line in lines for key in line if key not in NUMBERS)
    about = [key for key in keys if any(key in record for record in _abouts(tables))]
    columns = [*(key for key in keys if key not in about), *NUMBERS, *about]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue().removesuffix("\n")


def harmless(text: str) -> str:
    """The text on one line, and such that a spreadsheet takes it for text.

    >>> harmless("=HYPERLINK(1)"), harmless("runs/a")
    ("'=HYPERLINK(1)", 'runs/a')
    """
    line = one_line(text)
    return f"'{line}" if line.lstrip().startswith(_FORMULA) else line


def _abouts(tables: Sequence[Table]) -> Iterator[Mapping[str, str]]:
    for table in tables:
        yield table.about
        yield from (row.about for row in table.rows)


def _lines(table: Table) -> Iterator[dict[str, str]]:
    best = best_cells(table)
    for row_place, row in enumerate(table.rows):
        for place, (column, cell) in enumerate(zip(table.columns, row.cells, strict=True)):
            if cell is not None:
                keys = {**table.keys, **row.keys, **column.keys}
                is_best = "true" if (row_place, place) in best else "false"
                yield _texts(keys, {**table.about, **row.about}) | _numbers(cell) | {"best": is_best}
    for name, total in table.totals.items():
        yield _texts({**table.keys, "metric": name}, table.about) | _numbers(total) | {"best": "false"}


def _texts(keys: Mapping[str, str], about: Mapping[str, str]) -> dict[str, str]:
    return {key: harmless(text) for key, text in {**keys, **about}.items()}


def _numbers(cell: Cell) -> dict[str, str]:
    if isinstance(cell, Estimate | Difference):
        return {"value": _number(cell.value), "low": _number(cell.low), "high": _number(cell.high)}
    return {"value": harmless(cell) if isinstance(cell, str) else _number(cell), "low": "", "high": ""}


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return str(value) if isinstance(value, int) else repr(float(value))  # NumPy's numbers have another repr
