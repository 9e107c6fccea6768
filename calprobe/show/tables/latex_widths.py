"""How wide a LaTeX table becomes, and where its names are broken so that it fits on a page.

Widths are those of Computer Modern, estimated by numbers of letters; nothing is scaled, so letters keep their size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from calprobe.show.tables.cell_text import cell_interval, cell_text
from calprobe.show.tables.types import Table

COLUMN_POINTS, PAGE_POINTS = 229, 460  # of a paper in two columns: one of them, and both
LEAST_LETTERS = 12  # of a line of a name
_SMALL, _SCRIPT = 4.3, 3.8  # points a letter in \footnotesize and \scriptsize
_PIECES = re.compile(r"[^-_/. ]*[-_/. ]?")


@dataclass(frozen=True, slots=True)
class Setting:
    """How a table is set."""

    small: bool  # \scriptsize, else \footnotesize
    gap: int  # points at each side of a column
    names: int | None = None  # letters of a line of a row's name; None: they stay on one line
    heads: int | None = None  # letters of a line of a column's title; None: two lines at the most
    both_columns: bool = False  # of a paper in two columns


def setting_of(table: Table, *, small: bool, gap: int) -> Setting:
    """The setting with which the table fits on a page, its names broken only if they have to be."""
    columns = [column.title for _, column in table.printed_columns]
    letter = _SCRIPT if small else _SMALL
    longest = max((len(row.label) for row in table.rows), default=0)
    cells = [_cell_letters(table, place) for place, _ in table.printed_columns]

    def points(gap: int, heads: int | None, names: int) -> float:
        titles = [max(map(len, title_lines(title, heads))) for title in columns]
        letters = names + sum(map(max, titles, cells))
        return letters * letter + 2 * gap * (len(columns) + 1)

    width = points(gap, None, longest)
    if width <= PAGE_POINTS:
        return Setting(small, gap, both_columns=width > COLUMN_POINTS)
    ways = [(gap, None), (gap, 8), (1, 8), (1, 6)]
    gap, heads = next((way for way in ways if points(*way, LEAST_LETTERS) <= PAGE_POINTS), ways[-1])
    names = max(LEAST_LETTERS, int((PAGE_POINTS - points(gap, heads, 0)) / letter))
    return Setting(small, gap, names, heads, both_columns=True)


def title_lines(title: str, letters: int | None) -> list[str]:
    """The lines of a column's title: at the first underscore or blank of a long one, or of at most so many letters.

    >>> title_lines("consistency_vote_2", None), title_lines("consistency_vote_2", 8)
    (['consistency', 'vote_2'], ['consist-', 'ency', 'vote_2'])
    """
    if letters is not None:
        words = [word for word in re.split("[_ ]", title, maxsplit=1) if word]
        return [line for word in words for line in _hyphenated(word, letters)]
    for mark in ("_", " "):
        first, separator, tail = title.partition(mark)
        if separator and len(title) > len("mean conf"):
            return [first, tail]
    return [title]


def name_lines(name: str, letters: int | None) -> list[str]:
    """A name in lines of at most so many letters, broken behind its signs where it can be; joined they are the name.

    >>> name_lines("tiny-clm-and-seed-1", 10), name_lines("a/b", None)
    (['tiny-clm-', 'and-seed-1'], ['a/b'])
    """
    if letters is None or len(name) <= letters:
        return [name]
    lines = [""]
    for piece in _PIECES.findall(name):
        if lines[-1] and len(lines[-1]) + len(piece) > letters:
            lines.append("")
        lines[-1] += piece
        while len(lines[-1]) > letters:
            lines[-1:] = [lines[-1][:letters], lines[-1][letters:]]
    return lines


def _hyphenated(word: str, letters: int) -> Sequence[str]:
    return [word] if len(word) <= letters else [f"{word[: letters - 1]}-", *_hyphenated(word[letters - 1 :], letters)]


def _cell_letters(table: Table, place: int) -> int:
    """Letters of the widest cell of a column, intervals among them."""
    cells = [row.cells[place] for row in table.rows]
    return max((max(len(cell_text(cell)), len(cell_interval(cell, table))) for cell in cells), default=0)
