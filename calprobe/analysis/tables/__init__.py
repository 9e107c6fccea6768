"""Tables of results: one neutral form, and writers for terminals (`text`), Markdown, LaTeX and CSV."""

from __future__ import annotations

from calprobe.analysis.tables.best import best_cells
from calprobe.analysis.tables.comparison import comparison_tables, pair_tables
from calprobe.analysis.tables.csv import tidy_csv
from calprobe.analysis.tables.latex import latex
from calprobe.analysis.tables.markdown import markdown
from calprobe.analysis.tables.reductions import reductions_tables
from calprobe.analysis.tables.report import report_sections, report_tables
from calprobe.analysis.tables.types import Cell, Column, Row, Table, value_of

WRITERS = {"markdown": markdown, "latex": latex, "csv": tidy_csv}  # by name of the format

__all__ = [
    "WRITERS",
    "Cell",
    "Column",
    "Row",
    "Table",
    "best_cells",
    "comparison_tables",
    "latex",
    "markdown",
    "pair_tables",
    "reductions_tables",
    "report_sections",
    "report_tables",
    "tidy_csv",
    "value_of",
]
