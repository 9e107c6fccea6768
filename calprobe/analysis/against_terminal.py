"""A run's numbers beside the paper's, on a terminal or in a pipe, within 80 columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import groupby

from rich.text import Text

from calprobe.analysis.figures import interval, number
from calprobe.analysis.paper_figures import BesidePaper, Figure, RunAgainst

TITLES = {
    "1": "Table 1",
    "2": "Table 2",
    "3": "Table 3",
    "4": "Table 4",
    "6": "Table 6, FACTOR",
    "B": "Appendix B",
}
METRICS = {"ace": "ACE", "brier": "Brier", "accuracy": "accuracy", "bear_score": "BEAR score"}
LEAST_NAME_WIDTH = 28
WIDTHS = (9, 10, 9, 11, 7)
COLUMNS = ("ours", "", "paper", "difference", "inside")
INSIDE = {True: "yes", False: "no", None: ""}


def against_notes(found: RunAgainst) -> Iterable[str]:
    """What has to be known before the rows are read."""
    yield f"Against {found.source}{f', model {found.model}' if found.model else ''}."
    if found.departures:
        yield f"NOT AS IN THE PAPER: {'; '.join(found.departures)}."
    yield from found.left_out


def against_lines(found: RunAgainst) -> Iterable[Text]:
    """The rows, under the tables that they are of; nothing without any."""
    width = max([LEAST_NAME_WIDTH, *(len(_label(row)) for row in found.rows)])
    if found.rows:
        yield Text(_line("".ljust(width), COLUMNS), style="bold")
    for table, rows in groupby(found.rows, key=lambda row: row.figure.table):
        yield Text(TITLES[table])
        yield from (_row(row, width) for row in rows)


def against_footnotes(found: RunAgainst) -> Iterable[str]:
    """What the columns are."""
    if found.rows:
        yield "Difference: ours less the paper's. Inside: whether the paper's number lies in our interval."


def name_of(figure: Figure) -> str:
    """What a figure is of, in words.

    >>> name_of(Figure("2", "margin", "brier", 0.179, "Economic"))
    'margin Brier, Economic'
    """
    parts = [figure.estimator, METRICS[figure.metric]] if figure.estimator else [METRICS[figure.metric]]
    return " ".join(parts) + (f", {figure.of}" if figure.of else "")


def _label(row: BesidePaper) -> str:
    return f"  {name_of(row.figure)}"


def _row(row: BesidePaper, width: int) -> Text:
    difference = number(row.difference) if math.isnan(row.difference) else f"{row.difference:+z.4f}"
    ours, paper = number(row.ours.value), number(row.figure.value)
    cells = (ours, interval(row.ours), paper, difference, INSIDE[row.inside])
    return Text(_line(_label(row).ljust(width), cells))


def _line(name: str, cells: tuple[str, ...]) -> str:
    aligned = (cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    return "".join([name, *aligned]).rstrip()
