"""A table as plain frozen data, which writers set in Markdown, LaTeX or CSV whatever it is a table of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from calprobe.metrics import Estimate, Metric

Cell = Estimate | float | int | str | None  # None: there is nothing to say; NaN: undefined
Better = Literal["smaller", "larger"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of cells."""

    title: str
    better: Better | None = None  # the direction one wishes for; None: neither
    heading: str = ""  # stands above neighbours that share it
    keys: Mapping[str, str] = field(default_factory=dict)  # in tidy files, see `Table`
    ranked: bool = True  # whether the best cell is marked, where there is a direction
    printed: bool = True  # False: in tidy files only, where there is room

    @classmethod
    def of(cls, metric: Metric, *, ranked: bool = True, printed: bool = True) -> Self:
        """The column of a metric."""
        return cls(metric.title, metric.better, keys={"metric": metric.name}, ranked=ranked, printed=printed)


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its label, and a cell for each column."""

    label: str
    cells: tuple[Cell, ...]
    group: str = ""  # a line above neighbours that share it; none where it is empty
    note: str = ""  # small, below the label
    keys: Mapping[str, str] = field(default_factory=dict)  # in tidy files, see `Table`
    about: Mapping[str, str] = field(default_factory=dict)  # beside that of the table
    ranked: bool = True  # whether its cells can be the best: not those of a difference
    signed: bool = False  # whether numbers have a sign in any case: those of a difference


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
    heading: tuple[str, ...] = ()  # lines before it: what was scored and how, a whole run or a partial one
    notes: tuple[str, ...] = ()  # sentences below it
    keys: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)  # at the end of a tidy file's lines: how all was made
    totals: Mapping[str, Estimate] = field(default_factory=dict)  # by metric: of the whole, in tidy files only
    best_within: Literal["table", "group"] | None = "table"  # what the best of a column is the best of; None: no marks
    intervals: bool = True  # whether an estimate's interval is printed; tidy files have it in any case
    tidy: bool = True  # False: its cells are those of other tables, so a tidy file leaves it out

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"row {row.label!r} has {len(row.cells)} cells; the columns are {len(self.columns)}")

    @property
    def printed_columns(self) -> tuple[tuple[int, Column], ...]:
        """The columns that a printed table has, with their places among all."""
        return tuple((place, column) for place, column in enumerate(self.columns) if column.printed)


def value_of(cell: Cell) -> float | None:
    """The number in a cell; None for text and for a cell without anything."""
    if isinstance(cell, Estimate):
        return cell.value
    return float(cell) if isinstance(cell, int | float) else None
