"""A table's layout as data: the head of a row, and each column with where its cells are found in a row's record."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from calprobe.analysis.tables.types import Better, Cell, Column, Row, Table
from calprobe.metrics import Estimate, Metric

Record = TypeVar("Record")
UNRANKED: Mapping[str, Any] = MappingProxyType({"best_within": None})  # for `more`: no cell is marked as the best


@dataclass(frozen=True)
class Cells(Generic[Record]):
    """A column and its cells: what it says of a row's record."""

    column: Column
    of: Callable[[Record], Cell]


@dataclass(frozen=True)
class Numbers:
    """The head of a row and its cells by name, for a table whose rows are of several kinds."""

    head: Row
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Layout(Generic[Record]):
    """A table of records of one kind, a row each. What its notes say of the numbers is given with the records.

    >>> layout = Layout[str]("Words", "words", "word", Row, (cells("letters", "n", len),))
    >>> [row.cells for row in layout.table(["yes", "no"]).rows]
    [(3,), (2,)]
    """

    caption: str  # one sentence
    label: str  # to refer to it by, [a-z0-9-]+
    stub: str  # title of the column of the rows' labels
    head: Callable[[Record], Row]  # a row without its cells; a coverage of one number is that of all cells
    columns: Sequence[Cells[Record]]
    notes: tuple[str, ...] = ()
    kind: str = ""  # what `report --tables` names it by
    more: Mapping[str, Any] = field(default_factory=dict)  # further fields of the table

    def table(self, records: Iterable[Record], *notes: str, **fields: Any) -> Table:
        """The table of these records; `notes` stand behind its own, `fields` replace those of the table."""
        rows = map(self._row, records)
        columns = tuple(cells.column for cells in self.columns)
        table = Table(self.caption, self.label, self.stub, columns, tuple(rows), kind=self.kind, **self.more)
        return replace(table, notes=(*self.notes, *notes), **fields)

    def _row(self, record: Record) -> Row:
        head, cells = self.head(record), tuple(column.of(record) for column in self.columns)
        coverage = head.coverage * len(cells) if len(head.coverage) == 1 else head.coverage
        return replace(head, cells=cells, coverage=coverage)


def cells(
    title: str, metric: str, of: Callable[[Record], Cell], better: Better | None = None, **column: Any
) -> Cells[Record]:
    """A column of one number; `metric` is its name in tidy files, `column` further fields of the column."""
    keys = {"metric": metric, **column.pop("keys", {})}
    return Cells(Column(title, better, keys=keys, **column), of)


def quantity(
    title: str, of: Callable[[Record], Cell], better: Better | None = None, *, name: str = "", **column: Any
) -> Cells[Record]:
    """A column of what is no metric; `name` is its name in tidy files, the title where empty."""
    return Cells(Column(title, better, keys={"quantity": name or title}, **column), of)


def filled(columns: Iterable[Cells[Record]], records: Sequence[Record]) -> tuple[Cells[Record], ...]:
    """The columns in which any of the records has something."""
    return tuple(cells for cells in columns if any(cells.of(one) is not None for one in records))


def estimates(
    titles: Mapping[str, str],
    of: Callable[[Record], Mapping[str, Estimate] | Mapping[str, float]],
    heading: str = "",
    /,
    better: Mapping[str, Better] = MappingProxyType({}),
    **keys: str,
) -> tuple[Cells[Record], ...]:
    """A column for each metric of a mapping, under one heading; NaN where the mapping has it not.

    `keys` say in tidy files what else the cells are of.
    """

    def cell(name: str) -> Callable[[Record], Cell]:
        return lambda record: of(record).get(name, float("nan"))

    return tuple(
        cells(title, name, cell(name), better.get(name), heading=heading, keys=keys) for name, title in titles.items()
    )


def metrics(
    several: Iterable[Metric],
    of: Callable[[Record], Mapping[str, Cell]],
    *,
    ranked: bool = True,
    unranked: Container[str] = (),
) -> tuple[Cells[Record], ...]:
    """A column for each metric, with the room that it says it needs; nothing where the mapping has it not.

    The best cell is marked where they are `ranked`, but in no column of an `unranked` name.
    """

    def cell(name: str) -> Callable[[Record], Cell]:
        return lambda record: of(record).get(name)

    return tuple(
        Cells(Column.of(metric, ranked=ranked and metric.name not in unranked), cell(metric.name)) for metric in several
    )
