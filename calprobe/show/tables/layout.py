"""A table's layout as data: the head of a row, and each column with where its cells are found in a row's record."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar

from calprobe.metrics import Estimate, Metric
from calprobe.metrics.error_shown import chance_value, with_chance
from calprobe.show.prose import error_notes
from calprobe.show.tables.types import Better, Cell, Column, PValue, Row, Table
from calprobe.words import AskedTable, OwnTable, ScoredTable

TableKind = ScoredTable | AskedTable | OwnTable | Literal[""]
Record = TypeVar("Record")
Name = TypeVar("Name")
_P_VALUE = re.compile("(.*[ _])?p(_holm|_max_t|_equivalence)?")  # ace_p, mcnemar_p, p_holm, max-T p
UNRANKED: Mapping[str, Any] = MappingProxyType({"best_within": None})  # for `more`: no cell is marked as the best


@dataclass(frozen=True)
class Cells(Generic[Record]):
    """A column and its cells: what it says of a row's record."""

    column: Column
    of: Callable[[Record], Cell]
    where: Callable[[Record], bool] | None = None  # left out unless this is so of a record; None: always there


@dataclass(frozen=True)
class Numbers:
    """The head of a row and its cells by name, for a table whose rows are of several kinds."""

    head: Row
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Layout(Generic[Record]):
    """A table of records of one kind, a row each. What its notes say of the numbers is given with the records.

    The heads of rows are made of the records, or given with them where a record does not know what it belongs to.

    >>> layout = Layout[str]("Words", "words", "word", Row, (cells("letters", "n", len),))
    >>> [row.cells for row in layout.table(["yes", "no"]).rows]
    [(3,), (2,)]
    """

    caption: str  # one sentence
    label: str  # to refer to it by, [a-z0-9-]+
    stub: str  # title of the column of the rows' labels
    # A row without its cells; a coverage of one number is that of all cells. None: heads are given with the records.
    head: Callable[[Record], Row] | None
    columns: Sequence[Cells[Record]]
    notes: tuple[str, ...] = ()
    kind: TableKind = ""  # what `report --tables` names it by
    more: Mapping[str, Any] = field(default_factory=dict)  # further fields of the table

    @classmethod
    def given(
        cls,
        caption: str,
        label: str,
        stub: str,
        *columns: Cells[Record],
        notes: tuple[str, ...] = (),
        kind: TableKind = "",
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> Layout[Record]:
        """A layout for `of_rows`: the heads of rows are given with their records."""
        return cls(caption, label, stub, None, columns, notes, kind, more)

    def table(self, records: Iterable[Record], *notes: str, **fields: Any) -> Table:
        """The table of these records; `notes` stand behind its own, `fields` replace those of the table."""
        if self.head is None:
            raise TypeError(f"the rows of {self.label!r} have no heads of their own: give them with the records")
        return self.of_rows([(self.head(record), record) for record in records], *notes, **fields)

    def of_rows(self, rows: Iterable[tuple[Row, Record]], *notes: str, **fields: Any) -> Table:
        """The same of records that come with the heads of their rows."""
        pairs = list(rows)
        used = [
            cells for cells in self.columns if cells.where is None or any(cells.where(record) for _, record in pairs)
        ]
        columns = tuple(cells.column for cells in used)
        filled = tuple(
            _row(head, [_cell(cells.of(record), head, cells.column) for cells in used]) for head, record in pairs
        )
        table = Table(self.caption, self.label, self.stub, columns, filled, kind=self.kind, **self.more)
        return replace(table, notes=(*self.notes, *notes), **fields)


def _row(head: Row, cells: Sequence[Cell]) -> Row:
    coverage = head.coverage * len(cells) if len(head.coverage) == 1 else head.coverage
    return replace(head, cells=tuple(cells), coverage=coverage)


def _cell(cell: Cell, head: Row, column: Column) -> Cell:
    """The cell, as a p-value where column or row say that it is one."""
    names = (keys.get(key, "") for keys in (column.keys, head.keys) for key in ("metric", "quantity"))
    value = cell.value if isinstance(cell, Estimate) else cell
    if not isinstance(value, float) or math.isnan(value) or not any(map(_P_VALUE.fullmatch, names)):
        return cell
    return PValue(value)


def below(groups: Mapping[str, Mapping[str, Record]], label: str) -> Iterator[tuple[Row, Record]]:
    """Records with their heads, for `Layout.of_rows`, by variant and by what `label` names.

    >>> [row.keys for row, _ in below({"direct": {"raw": 1, "normalised": 2}}, "way")]
    [{'variant': 'direct', 'way': 'raw'}, {'variant': 'direct', 'way': 'normalised'}]
    """
    for title, records in groups.items():
        for name, record in records.items():
            yield Row(name, group=title, keys={"variant": title, label: name}), record


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
    return tuple(cells for cells in columns if any(cells.of(record) is not None for record in records))


def each(
    titles: Mapping[Name, str],
    of: Callable[[Record, Name], Cell],
    keys: Callable[[Name], Mapping[str, str]],
    better: Better | None = None,
    **column: Any,
) -> tuple[Cells[Record], ...]:
    """A column for each of some things that records have numbers of, with its title; `keys` are its own in tidy files.

    >>> columns = each({"a": "As", "b": "Bs"}, str.count, lambda letter: {"letter": letter}, "larger")
    >>> [cells.of("banana") for cells in columns], columns[1].column.keys
    ([3, 1], {'letter': 'b'})
    """

    def cell(name: Name) -> Callable[[Record], Cell]:
        return lambda record: of(record, name)

    return tuple(Cells(Column(title, better, keys=keys(name), **column), cell(name)) for name, title in titles.items())


def by_name(titles: Mapping[str, str]) -> tuple[Cells[Numbers], ...]:
    """The columns of `Numbers`: quantities by their names in tidy files."""
    return each(titles, lambda row, name: row.cells.get(name), lambda name: {"quantity": name})


def where(condition: Callable[[Record], bool], *several: Cells[Record]) -> tuple[Cells[Record], ...]:
    """Columns that are left out unless the condition holds of a record, one at least."""

    def both(column: Cells[Record]) -> Callable[[Record], bool]:
        inner = column.where
        return condition if inner is None else lambda record: condition(record) and inner(record)

    return tuple(replace(column, where=both(column)) for column in several)


def estimates(
    titles: Mapping[str, str],
    of: Callable[[Record], Mapping[str, Estimate] | Mapping[str, float]],
    heading: str = "",
    /,
    better: Mapping[str, Better] = MappingProxyType({}),
    questions: Callable[[Record], int] | None = None,
    **keys: str,
) -> tuple[Cells[Record], ...]:
    """A column for each metric of a mapping, under one heading; NaN where the mapping has it not.

    `keys` say in tidy files what else the cells are of. With the number of `questions` of a record, each calibration
    error has beside it what chance makes of it, where the questions are few and that was drawn.
    """

    def cell(name: str) -> Callable[[Record], Cell]:
        return lambda record: of(record).get(name, float("nan"))

    def column(title: str, name: str, value: Callable[[Record], Cell]) -> Cells[Record]:
        return cells(title, name, value, better.get(name), heading=heading, keys=keys)

    def by_chance(title: str, name: str) -> tuple[Cells[Record], ...]:
        def value(record: Record) -> Cell:
            return None if questions is None else chance_value(name, questions(record), of(record))

        return where(lambda record: value(record) is not None, column(title, name, value))

    def columns(title: str, name: str) -> tuple[Cells[Record], ...]:
        _, size, p = with_chance(name)
        return (column(title, name, cell(name)), *by_chance(f"{title} if cal.", size), *by_chance(f"{title} p", p))

    return tuple(cells for name, title in titles.items() for cells in columns(title, name))


def with_chance_note(table: Table) -> Table:
    """The table with a note on what chance makes of errors, where that stands beside one."""
    names = {column.keys.get("metric", "") for column in table.columns}
    chance = any(with_chance(name)[1] in names for name in names)
    return replace(table, notes=(*table.notes, *error_notes(few_values=False, chance=chance)))


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
