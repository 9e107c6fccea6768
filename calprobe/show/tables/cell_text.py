"""A table's cells as printed: the same numbers in every form that people read."""

from __future__ import annotations

import math
import re

from calprobe.measures.number_text import interval, number, p_text, signed, signed_interval
from calprobe.metrics import Difference, Estimate
from calprobe.show.tables.types import Cell, PValue, Table

MISSING = "-"


def cell_text(cell: Cell, decimals: int = 4) -> str:
    """The cell's number or text, without an interval. A difference has its sign in any case."""
    if cell is None:
        return MISSING
    if isinstance(cell, str):
        return one_line(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, Difference):
        return signed(cell.value, decimals)
    if isinstance(cell, PValue):
        return p_text(cell, decimals)
    return number(cell.value if isinstance(cell, Estimate) else cell, decimals)


def cell_interval(cell: Cell, table: Table) -> str:
    """The cell's interval; empty where there is none, or where the table does without."""
    if not table.intervals or not isinstance(cell, Estimate | Difference) or math.isnan(cell.low):
        return ""
    return signed_interval(cell) if isinstance(cell, Difference) else interval(cell)


def one_line(text: str) -> str:
    """The text with a blank for each run of line ends and other control characters."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
