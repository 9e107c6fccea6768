"""Tables of results for papers and notebooks: one neutral form, and writers for Markdown, LaTeX and CSV."""

from __future__ import annotations

from calprobe.report.tables.best import best_cells
from calprobe.report.tables.types import Cell, Column, Row, Table, value_of

__all__ = ["Cell", "Column", "Row", "Table", "best_cells", "value_of"]
