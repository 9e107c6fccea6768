"""The best cells of a table."""

from __future__ import annotations

from calprobe.analysis.best import best_places
from calprobe.analysis.tables.types import Table, value_of

Place = tuple[int, int]  # row, column


def best_cells(table: Table) -> frozenset[Place]:
    """The cells that are the best of their column, within the table or within their group of rows."""
    if table.best_within is None:
        return frozenset()
    sections: dict[str, list[int]] = {}
    for place, row in enumerate(table.rows):
        if row.ranked:
            sections.setdefault(row.group if table.best_within == "group" else "", []).append(place)
    return frozenset(
        (rows[best], column_place)
        for rows in sections.values()
        for column_place, column in enumerate(table.columns)
        if column.ranked
        for best in best_places([value_of(table.rows[row].cells[column_place]) for row in rows], column.better)
    )
