"""Tables of results for papers and notebooks: one neutral form, and writers for Markdown, LaTeX and CSV."""

from __future__ import annotations

from calprobe.report.tables.best import best_cells
from calprobe.report.tables.comparison import comparison_tables
from calprobe.report.tables.csv import tidy_csv
from calprobe.report.tables.latex import latex
from calprobe.report.tables.markdown import markdown
from calprobe.report.tables.reductions import reductions_tables
from calprobe.report.tables.report import report_tables
from calprobe.report.tables.types import Cell, Column, Row, Table, value_of

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
    "reductions_tables",
    "report_tables",
    "tidy_csv",
    "value_of",
]
