"""Tables in HTML without style or script, as notebooks show results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from calprobe.show.tables.best import best_cells
from calprobe.show.tables.cell_text import cell_interval, cell_text
from calprobe.show.tables.types import Row, Table


def html(tables: Sequence[Table]) -> str:
    """Each table as its heading, caption, rows and notes; best cells are bold. All text is escaped."""
    return "\n".join(line for table in tables for line in _lines(table))


def _lines(table: Table) -> Iterator[str]:
    if table.heading:
        yield Markup("<p>{}</p>").format(Markup("<br>").join(table.heading))
    if table.columns:
        yield Markup("<table><caption>{}</caption><thead>{}</thead><tbody>{}</tbody></table>").format(
            table.caption, _head(table), Markup("").join(_rows(table))
        )
    yield from (Markup("<p><small>{}</small></p>").format(note) for note in table.printed_notes)


def _head(table: Table) -> Markup:
    titles = [f"{column.heading} {column.title}".strip() for _, column in table.printed_columns]
    return Markup("<tr>{}</tr>").format(_each("<th>{}</th>", [table.stub, *titles]))


def _rows(table: Table) -> Iterator[Markup]:
    best = best_cells(table)
    for group, members in table.groups():
        if group:
            yield Markup('<tr><th colspan="{}">{}</th></tr>').format(len(table.printed_columns) + 1, group)
        for place, row in members:
            note = Markup(" <small>{}</small>").format(row.note) if row.note else ""
            head = Markup("<th>{}{}</th>").format(row.label, note)
            yield Markup("<tr>{}{}</tr>").format(head, _each("<td>{}</td>", _cells(table, row, place, best)))


def _cells(table: Table, row: Row, place: int, best: frozenset[tuple[int, int]]) -> Iterator[Markup]:
    for column, _ in table.printed_columns:
        shape = "<b>{}</b>" if (place, column) in best else "{}"
        text = Markup(shape).format(cell_text(row.cells[column], table.decimals))
        interval = cell_interval(row.cells[column], table)
        yield text + Markup("<br><small>{}</small>").format(interval) if interval else text


def _each(shape: str, texts: Sequence[str] | Iterator[Markup]) -> Markup:
    return Markup("").join(Markup(shape).format(text) for text in texts)
