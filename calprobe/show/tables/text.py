"""Tables on a terminal or in a pipe: as many columns as its width has room for.

Rows are set here and not by rich.table, which has no cell that spans columns: headings and titles of groups do.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from calprobe.messages import shortened
from calprobe.metrics import Estimate
from calprobe.show.tables.best import best_cells
from calprobe.show.tables.cell_text import cell_interval, cell_text, one_line
from calprobe.show.tables.types import Column, Row, Table, headings

GAP = 1  # blanks before a column
LEAST = len(".123-.456")  # characters of a column of estimates, with intervals or without
INDENT = "  "  # of rows in a group
MOST_OF_LABEL = 64  # characters of a row's label
STAR = " *"  # behind a significant row
SHORT = 20  # of a label that stands beside its numbers, however wide these are
BEST = "*"
PARTIAL = r"PARTIAL, [\d,]+ of [\d,]+ relations"


def print_tables(tables: Sequence[Table], console: Console) -> None:
    """Print tables with headings and notes, without fine print; below all, once, the notes that hold for several.

    A line of a heading that an earlier table has is not repeated. Of several tables, each with rows has its caption
    above it. Tables of one `stub` have rows' labels of one width.
    """
    mark = "" if console.color_system else BEST
    stubs = {
        stub: _stub_width([table for table in tables if table.stub == stub], console.width, mark)
        for stub in dict.fromkeys(table.stub for table in tables)
    }
    several, printed = len(tables) > 1, set[str]()
    closing: dict[str, None] = {}
    for place, table in enumerate(tables):
        columns, hidden = _fitting(table, console.width - stubs[table.stub], mark)
        if lines := [line for line in table.heading if line not in printed]:
            _print_lines([Text()] if printed else [], console)
            for line in lines:
                _print_heading(line, table, console)
            printed.update(lines)
        elif table.lead and place:
            console.print()
        _print_notes(table.lead, console)
        if table.rows:
            if place or lines or table.lead:
                console.print()
            if several and table.caption not in printed:
                _print_notes([table.caption], console, "bold")
            _print_lines(_grid(table, columns, stubs[table.stub]), console)
        _print_notes((*table.notes, *table.options), console, style="dim")
        closing |= dict.fromkeys((*table.general, *_notes_on_columns(table, columns, hidden, mark)))
    if any(table.fine_print for table in tables):
        closing["How all was made: --format markdown, --html or --json."] = None
    if closing:
        console.print()
        _print_notes(closing, console, style="dim")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as text: for each row a value, what stands below it, and whether it is one of the best."""

    column: Column
    values: tuple[str, ...]
    below: tuple[str, ...]
    best: frozenset[int]  # rows
    left: bool  # words, not numbers
    width: int  # with the gap before it

    @classmethod
    def of(cls, table: Table, place: int, *, beside: bool, mark: str) -> _Column:
        """The column at a place; `beside` puts its intervals beside the values."""
        column, cells = table.columns[place], [row.cells[place] for row in table.rows]
        best = frozenset(row for row, at in best_cells(table) if at == place)
        values = [f"{mark if row in best else ''}{cell_text(cell, table.decimals)}" for row, cell in enumerate(cells)]
        below = [cell_interval(cell, table) for cell in cells]
        if beside and any(below):
            width = max(map(len, below))
            values, below = [f"{v} {b:<{width}}" for v, b in zip(values, below, strict=True)], [""] * len(cells)
        filled = [cell for cell in cells if cell is not None]
        left = bool(filled) and all(isinstance(cell, str) for cell in filled)
        least = LEAST if table.intervals and any(isinstance(cell, Estimate) for cell in cells) else 0
        width = GAP + left + max([least, *map(cell_len, (column.title, *values, *below))])
        return cls(column, tuple(values), tuple(below), best, left, width)

    def set(self, text: str) -> str:
        """The text in the column's width."""
        return _padded(" " * (GAP + 1) + text, self.width, left=True) if self.left else _padded(text, self.width)


def _fitting(table: Table, room: int, mark: str) -> tuple[list[_Column], list[Column]]:
    """The columns to show, and those that do not fit.

    Columns without a priority are shown in any case; of the others, as many as fit in the order of their priorities,
    one at least. Neighbours below one heading go together.
    """
    beside = _columns_with_intervals(table) == 1
    places = [place for place, column in enumerate(table.columns) if column.printed or column.priority is not None]
    columns = [_Column.of(table, place, beside=beside, mark=mark) for place in places]
    blocks = [
        _with_room(list(group)) for _, group in groupby(columns, key=lambda column: column.column.heading or id(column))
    ]
    columns = [column for block in blocks for column in block]
    chosen = [block for block in blocks if block[0].column.priority is None]
    taken = sum(column.width for block in chosen for column in block)
    optional = [block for block in blocks if block not in chosen]
    for number, block in enumerate(sorted(optional, key=lambda block: block[0].column.priority or 0)):
        taken += sum(column.width for column in block)
        if taken <= room or not number:
            chosen.append(block)
    fitting = [column for block in blocks if block in chosen for column in block]
    return fitting, [column.column for column in columns if column not in fitting]


def _with_room(block: list[_Column]) -> list[_Column]:
    """Neighbours below one heading, wide enough for it and a gap before it."""
    lacking = GAP + cell_len(block[0].column.heading) - sum(column.width for column in block)
    if not block[0].column.heading or lacking <= 0:
        return block
    return [replace(block[0], width=block[0].width + lacking), *block[1:]]


def _columns_with_intervals(table: Table) -> int:
    columns = zip(*(row.cells for row in table.rows), strict=True)
    return sum(any(cell_interval(cell, table) for cell in cells) for cells in columns)


NAMED = 10  # columns that a note names


def _notes_on_columns(table: Table, columns: Sequence[_Column], hidden: Sequence[Column], mark: str) -> Iterator[str]:
    yield from table.notes_on([column.column for column in columns], mark or "Bold")
    by_room = sorted(hidden, key=lambda column: column.priority or 0)
    if names := list(dict.fromkeys(column.heading or column.keys.get("metric", column.title) for column in by_room)):
        more = len(names) - NAMED
        ending = f" and {more} {'other' if more == 1 else 'others'}" if more > 0 else ""
        yield f"Only with --format json or csv, or on a wider terminal: {', '.join(names[:NAMED])}{ending}."


def _grid(table: Table, columns: Sequence[_Column], stub_width: int) -> Iterator[Text]:
    """Headings, titles, and each row with what stands below it."""
    if spans := headings([column.column for column in columns]):
        yield _spanned(spans, columns, stub_width)
    titles = [column.column.title for column in columns]
    if table.stub or any(titles):
        yield _line(table.stub, stub_width, zip(columns, titles, strict=True), "bold")
    for group, rows in table.groups():
        if group:
            yield Text(one_line(group))
        for place, row in rows:
            label, note = _label(row), _indented(row.note, row)
            if cell_len(label) > stub_width:  # on a line of its own
                yield Text(label)
                label, note = note, ""
            yield _values(row, label, place, columns, stub_width)
            below = [column.below[place] for column in columns]
            if note or any(below):
                yield _line(note, stub_width, zip(columns, below, strict=True), "dim")


def _spanned(spans: Iterable[tuple[str, int]], columns: Sequence[_Column], stub_width: int) -> Text:
    """Headings, each at the right end of the columns that it spans."""
    widths = iter([column.width for column in columns])
    texts = (_padded(one_line(heading), sum(next(widths) for _ in range(span))) for heading, span in spans)
    return _stripped(Text("".join([" " * stub_width, *texts]), style="bold"))


def _values(row: Row, label: str, place: int, columns: Sequence[_Column], stub_width: int) -> Text:
    line = Text(_padded(label, stub_width, left=True))
    for column in columns:
        text = column.set(column.values[place])
        bare = text.lstrip()
        line.append(text[: len(text) - len(bare)]).append(bare, "bold" if place in column.best else None)
    return _stripped(line).append(STAR if row.significant else "")


def _line(stub: str, stub_width: int, cells: Iterable[tuple[_Column, str]], style: str) -> Text:
    texts = [_padded(one_line(stub), stub_width, left=True), *(column.set(text) for column, text in cells)]
    return _stripped(Text("".join(texts), style=style))


def _stub_width(tables: Sequence[Table], width: int, mark: str) -> int:
    """As wide as the longest label, or as there is room beside the columns that are shown in any case."""
    rows = [row for table in tables for row in table.rows]
    others = (*(table.stub for table in tables), *(_indented(row.note, row) for row in rows))
    least = max((cell_len(one_line(text)) for text in others), default=0)
    longest = max((cell_len(_label(row)) for row in rows), default=0)
    taken = max(sum(column.width for column in _fitting(table, 0, mark)[0]) for table in tables)
    taken += len(STAR) * any(row.significant for row in rows)
    return max(least, longest if width - taken < SHORT else min(longest, width - taken))


def _label(row: Row) -> str:
    """The row's label on one line, cut where it would push numbers out of sight."""
    return _indented(shortened(one_line(row.label), MOST_OF_LABEL), row)


def _indented(text: str, row: Row) -> str:
    return INDENT + text if row.group and text else text


def _print_heading(line: str, table: Table, console: Console) -> None:
    """A line of a heading, wrapped to the width; what it begins with stands out."""
    label = f"{table.keys.get('run', '')}: "
    wrapped = textwrap.wrap(
        line, console.width, subsequent_indent=INDENT, break_long_words=False, break_on_hyphens=False
    )
    for number, part in enumerate(wrapped):
        text = Text(part)
        if not number and part.startswith(label):
            text.stylize("bold", 0, len(label))
        text.highlight_regex(PARTIAL, "bold red")
        console.print(text, soft_wrap=True)


def _padded(text: str, width: int, *, left: bool = False) -> str:
    padding = " " * (width - cell_len(text))
    return text + padding if left else padding + text


def _stripped(line: Text) -> Text:
    line.rstrip()
    return line


def _print_lines(lines: Iterable[Text], console: Console) -> None:
    """Print lines as they are, however wide."""
    for line in lines:
        console.print(line, soft_wrap=True)


def _print_notes(notes: Iterable[str], console: Console, style: str = "") -> None:
    """Print sentences, wrapped to the width."""
    for note in notes:
        for line in textwrap.wrap(note, console.width, break_long_words=False, break_on_hyphens=False):
            console.print(Text(line, style=style), soft_wrap=True)
