"""Which cells of a table are the best of their column: the same rule in every form."""

from __future__ import annotations

import math
from collections.abc import Sequence

from calprobe.show.tables.types import Better, Table, value_of

DECIMALS = 4  # as numbers are printed

Place = tuple[int, int]  # row, column


def best_cells(table: Table) -> frozenset[Place]:
    """The cells that are the best of their column, within the table or within their group of rows.

    Only rows of the largest coverage in a column take part: who answers less has smaller errors for it.
    """
    if table.best_within is None:
        return frozenset()
    sections: dict[str, list[int]] = {}
    for place, row in enumerate(table.rows):
        if row.ranked:
            sections.setdefault(row.group if table.best_within == "group" else "", []).append(place)
    return frozenset(
        (rows[best], column_place)
        for section in sections.values()
        for column_place, column in enumerate(table.columns)
        if column.ranked
        for rows in [_most_answered(table, section, column_place)]
        for best in best_places([value_of(table.rows[row].cells[column_place]) for row in rows], column.better)
    )


def _most_answered(table: Table, rows: Sequence[int], column: int) -> list[int]:
    """The rows with something in the column that are of as many instances as any other."""
    filled = [row for row in rows if table.rows[row].cells[column] is not None]
    coverage = {row: table.rows[row].coverage[column] if table.rows[row].coverage else 1.0 for row in filled}
    return [row for row in filled if coverage[row] == max(coverage.values())]


def best_places(values: Sequence[float | None], better: Better | None) -> frozenset[int]:
    """The places of the best numbers, going by what is printed: four decimals.

    Numbers that are printed alike are equally good, and all of them are the best. None is where all are printed alike,
    where only one is defined, or where there is no direction. NaN is undefined, None no number: neither is ever the
    best.

    >>> sorted(best_places([0.25, 0.12341, float("nan"), 0.12339], "smaller"))
    [1, 3]
    >>> sorted(best_places([0.5, 0.5], "larger"))
    []
    """
    printed = {place: round(v, DECIMALS) for place, v in enumerate(values) if v is not None and not math.isnan(v)}
    if better is None or len(set(printed.values())) < 2:
        return frozenset()
    best = min(printed.values()) if better == "smaller" else max(printed.values())
    return frozenset(place for place, value in printed.items() if value == best)
