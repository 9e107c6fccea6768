"""Tables of results: one neutral form, and writers for terminals (`text`), Markdown, LaTeX and CSV."""

from __future__ import annotations

from calprobe.show.tables.best import best_cells
from calprobe.show.tables.csv import tidy_csv
from calprobe.show.tables.latex import latex
from calprobe.show.tables.markdown import markdown
from calprobe.show.tables.types import Cell, Column, Row, Table, value_of

WRITERS = {"markdown": markdown, "latex": latex, "csv": tidy_csv}  # by name of the format

__all__ = ["WRITERS", "Cell", "Column", "Row", "Table", "best_cells", "latex", "markdown", "tidy_csv", "value_of"]
