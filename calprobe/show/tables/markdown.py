"""Tables in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from calprobe.show.tables.best import best_cells
from calprobe.show.tables.cell_text import cell_interval, cell_text, one_line
from calprobe.show.tables.types import Row, Table

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# A backslash in front; underscores only where they could begin or end emphasis, which within a word they cannot.
_SPECIAL = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
_BLOCK = re.compile(r"^(\d+(?=[.)])|(?=[#+=-]))")  # what would begin a heading or a list


def markdown(tables: Sequence[Table]) -> str:
    """Each table as its heading, caption, rows and notes; best cells are bold.

    Markup in text is escaped: pipes, HTML, emphasis, links, formulas.
    """
    return "\n\n".join("\n\n".join(_parts(table)) for table in tables)


def escape(text: str) -> str:
    """The text such that Markdown shows it as it is, on one line.

    >>> print(escape("a|b <i>_x_</i> average_vote_2"))
    a\\|b &lt;i&gt;\\_x\\_&lt;/i&gt; average_vote_2
    """
    marked = _SPECIAL.sub(lambda match: f"\\{match[0]}", one_line(text))
    return re.sub("[&<>]", lambda match: _ENTITIES[match[0]], marked)


def _line(text: str) -> str:
    """The text as a line of its own, not as a heading or a list."""
    return _BLOCK.sub(r"\1\\", escape(text).strip())


def _parts(table: Table) -> Iterator[str]:
    """Paragraphs."""
    if table.heading:
        yield "\\\n".join(map(_line, table.heading))
    yield f"**{escape(table.caption)}**"
    yield "\n".join(_grid(table))
    if table.printed_notes:
        yield "\n".join(f"- {_line(note)}" for note in table.printed_notes)


def _grid(table: Table) -> Iterator[str]:
    """The lines of the table, its columns aligned in the source too."""
    titles = [f"{column.heading} {column.title}".strip() for _, column in table.printed_columns]
    rows = [[escape(table.stub), *map(escape, titles)]]
    best = best_cells(table)
    for group, members in table.groups():
        if group:
            rows.append([f"*{escape(group)}*", *("" for _ in titles)])
        rows += [[_label(row), *_cells(table, row, place, best)] for place, row in members]
    counted = [rows[0], *(cells for cells in rows if any(cells[1:]))]  # the name of a group may stand out
    widths = [max(map(len, column)) for column in zip(*counted, strict=True)]
    rule = ["-" * widths[0], *(f"{'-' * max(1, width - 1)}:" for width in widths[1:])]
    for cells in (rows[0], rule, *rows[1:]):
        aligned = [cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))]
        yield f"| {' | '.join(aligned)} |"


def _label(row: Row) -> str:
    return escape(f"{row.label} ({row.note})" if row.note else row.label)


def _cells(table: Table, row: Row, place: int, best: frozenset[tuple[int, int]]) -> Iterator[str]:
    for column, _ in table.printed_columns:
        text = escape(cell_text(row.cells[column]))
        interval = cell_interval(row.cells[column], table)
        marked = f"**{text}**" if (place, column) in best else text
        yield f"{marked} ({interval})" if interval else marked
