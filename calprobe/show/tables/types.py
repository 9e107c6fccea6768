"""A table as plain frozen data, which writers set on a terminal, in Markdown, LaTeX, CSV or a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal, Self

from calprobe.metrics import Difference, Estimate, Metric

Cell = Estimate | Difference | float | int | str | None  # None: there is nothing to say; NaN: undefined
Better = Literal["smaller", "larger"]


class PValue(float):
    """A cell that is a p-value, which is printed with as many digits as tell it from 0 and from .05."""


FIRST = 10  # up to this priority, a page shows a column before all are asked for
LAST = 100  # the priority of metrics that have none of their own


@dataclass(frozen=True, slots=True)
class Column:
    """A column of cells."""

    title: str
    better: Better | None = None  # the direction one wishes for; None: neither
    heading: str = ""  # stands above neighbours that share it
    keys: Mapping[str, str] = field(default_factory=dict)  # in tidy files, see `Table`
    ranked: bool = True  # whether the best cell is marked, where there is a direction
    printed: bool = True  # False: not in Markdown and LaTeX, where there is no room
    priority: int | None = None  # where the width decides, smaller ones come first; None: `printed` decides

    @classmethod
    def of(cls, metric: Metric, *, ranked: bool = True) -> Self:
        """The column of a metric, which gets room as the metric says."""
        return cls(
            metric.title,
            metric.better,
            keys={"metric": metric.name},
            ranked=ranked,
            printed=metric.printed,
            priority=metric.priority or LAST,
        )

    @property
    def first(self) -> bool:
        """Whether a page shows the column before all are asked for."""
        return self.priority is None or self.priority <= FIRST


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its label, and a cell for each column."""

    label: str
    cells: tuple[Cell, ...] = ()  # none of the head of a row, see `Layout`
    group: str = ""  # a line above neighbours that share it; none where it is empty
    note: str = ""  # small, below the label
    keys: Mapping[str, str] = field(default_factory=dict)  # in tidy files, see `Table`
    about: Mapping[str, str] = field(default_factory=dict)  # beside that of the table
    of: str = ""  # what the row belongs to, where its label alone does not say so
    ranked: bool = True  # whether its cells can be the best: not those of a difference
    coverage: tuple[float, ...] = ()  # the share of the instances behind each cell; empty: all instances
    significant: bool = False  # whether a star stands behind its last cell


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and columns of cells, with what a reader has to know of them.

    A tidy file has a line for each cell. What it is of is said by the keys of its table, row and column together, each
    key a column of the file: {"run": "runs/a", "model": "gpt2"}, {"estimator": "base"}, {"metric": "ace"}.
    """

    caption: str  # one sentence
    label: str  # to refer to it by, [a-z0-9-]+
    stub: str  # title of the column of the rows' labels
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    heading: tuple[str, ...] = ()  # lines before it: what was scored and how, a complete run or a partial one
    lead: tuple[str, ...] = ()  # sentences to be read before the rows
    notes: tuple[str, ...] = ()  # sentences below it
    options: tuple[str, ...] = ()  # what to type for more, on a terminal alone
    fine_print: tuple[str, ...] = ()  # how all was made: notes that a terminal has no room for
    general: tuple[str, ...] = ()  # sentences that hold for the other tables of the same result too
    directions: bool = False  # whether the notes say in which direction columns are better
    best_of: str = ""  # what the note on best cells adds to "the best of its column"
    keys: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)  # at the end of a tidy file's lines: how all was made
    totals: Mapping[str, Estimate] = field(default_factory=dict)  # by metric: of all rows together, in tidy files only
    best_within: Literal["table", "group"] | None = "table"  # what the best of a column is the best of; None: no marks
    decimals: int = 4  # of numbers and differences on a terminal
    intervals: bool = True  # whether an estimate's interval is printed; tidy files have it in any case
    kind: str = ""  # what `report --tables` names it by
    tidy: bool = True  # False: its cells are those of other tables, so a tidy file leaves it out

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"row {row.label!r} has {len(row.cells)} cells; the columns are {len(self.columns)}")
            if row.coverage and len(row.coverage) != len(row.cells):
                raise ValueError(f"row {row.label!r} has {len(row.cells)} cells and {len(row.coverage)} coverages")

    @property
    def printed_columns(self) -> tuple[tuple[int, Column], ...]:
        """The columns that a printed table has, with their places among all."""
        return tuple((place, column) for place, column in enumerate(self.columns) if column.printed)

    @property
    def printed_notes(self) -> tuple[str, ...]:
        """All notes of a table that is printed alone."""
        columns = [column for _, column in self.printed_columns]
        return (*self.lead, *self.notes, *self.fine_print, *self.general, *self.notes_on(columns))

    def groups(self) -> Iterator[tuple[str, list[tuple[int, Row]]]]:
        """The titles of groups, each with its rows and their places among all."""
        for title, members in groupby(enumerate(self.rows), key=lambda placed: placed[1].group):
            yield title, list(members)

    def with_columns(self, places: Sequence[int]) -> Self:
        """The table with the columns at these places alone."""
        rows = tuple(
            replace(
                row,
                cells=tuple(row.cells[place] for place in places),
                coverage=tuple(row.coverage[place] for place in places) if row.coverage else (),
            )
            for row in self.rows
        )
        return replace(self, columns=tuple(self.columns[place] for place in places), rows=rows)

    def notes_on(self, columns: Sequence[Column], mark: str = "Bold") -> Iterator[str]:
        """In which direction these columns are better, and how the best cells are marked."""
        for better in ("larger", "smaller") if self.directions else ():
            if titles := [column.title for column in columns if column.better == better]:
                yield f"{better.capitalize()} is better: {', '.join(titles)}."
        if self.best_within is not None:
            yield f"{mark}: best value of its column{self.best_of}; values that print alike share the mark."


def headings(columns: Sequence[Column]) -> tuple[tuple[str, int], ...]:
    """What stands above columns, and how many neighbours it spans; empty where nothing does."""
    spans = tuple((heading, len(list(members))) for heading, members in groupby(c.heading for c in columns))
    return spans if any(heading for heading, _ in spans) else ()


def unless_nan(value: float) -> float | None:
    """The number as a cell; nothing where it is not known."""
    return None if math.isnan(value) else value


def value_of(cell: Cell) -> float | None:
    """The number in a cell; None for text and for a cell without anything."""
    if isinstance(cell, Estimate | Difference):
        return cell.value
    return float(cell) if isinstance(cell, int | float) else None
