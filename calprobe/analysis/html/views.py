"""What the page is made of: text ready to be shown, as plain frozen data. The templates escape all of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Self

from markupsafe import Markup

from calprobe.analysis.tables import Cell, Row, Table, best_cells, value_of
from calprobe.analysis.tables.texts import cell_interval, cell_text
from calprobe.analysis.tables.types import Better

UNDEFINED = "–"


@dataclass(frozen=True, slots=True)
class Definition:
    """What a number means; `key` names it within the page."""

    key: str
    title: str
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class ColumnView:
    """The head of a column."""

    title: str
    definition: str = ""  # key of one
    better: Better | None = None
    more: bool = False  # shown only when all columns are asked for
    text: bool = False  # its cells are words
    heading: str = ""  # above neighbours that share it


@dataclass(frozen=True, slots=True)
class CellView:
    """A value, and below it what belongs to it: an interval."""

    text: str
    note: str = ""
    best: bool = False

    @classmethod
    def of(cls, cell: Cell, row: Row, table: Table, best: bool = False) -> Self:
        """A cell of a table as it is printed; a dash for what is undefined."""
        if value_of(cell) is None or not math.isnan(value_of(cell) or 0.0):
            return cls(cell_text(cell, row) if cell is not None else "", cell_interval(cell, row, table), best)
        return cls(UNDEFINED)


@dataclass(frozen=True, slots=True)
class RowView:
    """A row; its name is the head of it."""

    name: str
    cells: tuple[CellView, ...]
    note: str = ""
    definition: str = ""  # key of one


@dataclass(frozen=True, slots=True)
class GroupView:
    """Rows that belong together."""

    title: str
    rows: tuple[RowView, ...]


@dataclass(frozen=True, slots=True)
class TableView:
    """A table: the first column holds the rows' names."""

    caption: str
    columns: tuple[ColumnView, ...]  # the first one is that of names
    groups: tuple[GroupView, ...]
    notes: tuple[str, ...] = ()
    tell_group: bool = False  # whether a sorted row says which group it is of: names are the same in each

    @classmethod
    def of(cls, table: Table, first: Sequence[str] | None = None, notes: Sequence[str] | None = None) -> Self:
        """A neutral table as it is shown here.

        Args:
            table: any.
            first: the metrics that are seen at once, the others when all are asked for; None: what is printed.
            notes: in place of the table's own.
        """
        best = best_cells(table)
        shown = table.printed_columns if first is None else tuple(enumerate(table.columns))
        columns = [
            ColumnView(
                title=column.title,
                definition=f"m-{column.keys['metric']}" if "metric" in column.keys else "",
                better=column.better,
                more=first is not None and column.keys.get("metric", column.title) not in first,
                text=any(_wordy(row.cells[place]) for row in table.rows),
                heading=column.heading,
            )
            for place, column in shown
        ]
        rows = [
            RowView(
                name=row.label,
                cells=tuple(CellView.of(row.cells[place], row, table, (at, place) in best) for place, _ in shown),
                note=row.note,
                definition=f"e-{row.keys['estimator']}" if "estimator" in row.keys else "",
            )
            for at, row in enumerate(table.rows)
        ]
        numbered = groupby(range(len(rows)), key=lambda at: table.rows[at].group)
        groups = tuple(GroupView(title, tuple(rows[at] for at in members)) for title, members in numbered)
        said = table.notes if notes is None else tuple(notes)
        return cls(table.caption, (ColumnView(table.stub, text=True), *columns), groups, said)

    def without_more(self) -> Self:
        """The columns that are seen at once, and no others."""
        kept = [place for place, column in enumerate(self.columns) if not column.more]
        groups = tuple(
            replace(g, rows=tuple(replace(r, cells=tuple(r.cells[place - 1] for place in kept[1:])) for r in g.rows))
            for g in self.groups
        )
        return replace(self, columns=tuple(self.columns[place] for place in kept), groups=groups)

    @property
    def headings(self) -> tuple[tuple[str, int], ...]:
        """What stands above the columns, and how many of them it spans; empty where nothing does."""
        spans = tuple((title, len(list(members))) for title, members in groupby(c.heading for c in self.columns))
        return spans if any(title for title, _ in spans) else ()

    @property
    def more(self) -> int:
        """How many columns are shown only when all are asked for."""
        return sum(column.more for column in self.columns)

    def cells(self, row: RowView) -> Iterator[tuple[ColumnView, CellView]]:
        """Each cell of a row with the column that it is in."""
        return zip(self.columns[1:], row.cells, strict=True)


@dataclass(frozen=True, slots=True)
class Choice:
    """A series of a figure that the reader may show or hide."""

    name: str
    place: int  # in the palette
    key: Markup  # its line and mark
    shown: bool = True


@dataclass(frozen=True, slots=True)
class FigureView:
    """A figure with its legend."""

    title: str
    svg: Markup
    caption: str
    choices: tuple[Choice, ...] = ()
    choosable: bool = True  # False: the legend explains only


@dataclass(frozen=True, slots=True)
class BigNumber:
    """One of the numbers that a run is known by."""

    name: str
    value: str
    note: str
    definition: str  # key of one
    lesser: bool = False  # not the run's own, but what it is held against


@dataclass(frozen=True, slots=True)
class WordingView:
    """What the paraphrases change."""

    title: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """One run."""

    anchor: str
    label: str
    state: str  # complete, or PARTIAL and how much of it
    partial: bool
    how: str
    lines: tuple[str, ...]
    numbers: tuple[BigNumber, ...] = ()
    tables: tuple[TableView, ...] = ()
    figures: tuple[FigureView, ...] = ()
    wording: WordingView | None = None
    slices: tuple[TableView, ...] = ()


@dataclass(frozen=True, slots=True)
class PairView:
    """Two runs and their differences."""

    first: str
    second: str
    notes: tuple[str, ...]
    table: TableView


@dataclass(frozen=True, slots=True)
class PageView:
    """The page."""

    title: str
    subtitle: str
    contents: tuple[tuple[str, str], ...]  # anchor and name of each section
    runs: tuple[RunView, ...]
    notes: tuple[str, ...]
    definitions: tuple[Definition, ...]
    made: tuple[tuple[str, str], ...]  # options, versions
    manifests: tuple[tuple[str, str], ...]  # label, JSON
    figures: tuple[FigureView, ...] = ()  # over all runs
    pairs: tuple[PairView, ...] = ()

    @property
    def keys(self) -> frozenset[str]:
        """The definitions that the page has."""
        return frozenset(definition.key for definition in self.definitions)


def _wordy(cell: Cell) -> bool:
    """Whether a cell is text that is no number."""
    return isinstance(cell, str) and re.fullmatch(r"[-+]?[\d.,]+", cell) is None
