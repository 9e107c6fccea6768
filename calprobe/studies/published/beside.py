"""Published tables with the rows of one's own runs below them.

A study's JSON file holds its tables as they are printed, all in one form: `tables` by key, each with its number there
(`table`), what it is of (`of`, if not that of the file), `caption`, `columns` and `rows`; `divisor` where what is
printed are counts or percentages; `deviations` of the rows, with what they are `over`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from calprobe.metrics import Estimate

PUBLISHED = "published"  # what a study's own rows are of

Numbers = tuple[Estimate | float | None, ...]  # a cell for each column; None: none


@dataclass(frozen=True, slots=True)
class BesideRow:
    """A row of numbers, a study's or one's own."""

    of: str  # published, or a run
    label: str
    values: Numbers
    deviations: Numbers = ()  # standard deviations of the values; empty: not known
    over: str = ""  # what deviations are over


@dataclass(frozen=True, slots=True)
class Beside:
    """A published table; one's own rows stand below its rows."""

    key: str  # in the study's file
    table: str  # as the paper numbers it
    of: str  # the paper
    caption: str
    columns: tuple[str, ...]
    rows: tuple[BesideRow, ...]
    notes: tuple[str, ...] = ()

    def below(self, rows: Iterable[BesideRow], *notes: str) -> Beside:
        """The table with these rows below its own, and notes on both."""
        return replace(self, rows=(*self.rows, *rows), notes=(*self.notes, *notes))

    def values(self) -> dict[str, tuple[float, ...]]:
        """The published values of its rows, by label; the cells without a number left out."""
        published = [row for row in self.rows if row.of == PUBLISHED]
        return {row.label: tuple(cell for cell in row.values if isinstance(cell, float | int)) for row in published}


@cache
def published(study: str) -> Mapping[str, Beside]:
    """The tables of a study by key, without rows of one's own.

    Args:
        study: name of its JSON file beside this one, such as `audit2026`.
    """
    text = files("calprobe.studies.published").joinpath(f"{study}.json").read_text("utf-8")
    content = json.loads(text)
    return {key: _table(key, table, content.get("of", "")) for key, table in content["tables"].items()}


def _table(key: str, read: Mapping[str, Any], of: str) -> Beside:
    divisor, columns = read.get("divisor", 1), tuple(read["columns"])
    deviations = read.get("deviations", {})
    rows = tuple(
        BesideRow(
            PUBLISHED,
            label,
            _shown(values, divisor, len(columns)),
            _shown(deviations[label], divisor, len(columns)) if label in deviations else (),
            read.get("over", ""),
        )
        for label, values in read["rows"].items()
    )
    return Beside(key, read["table"], read.get("of", of), read["caption"], columns, rows)


def _shown(values: Sequence[float | None], divisor: float, columns: int) -> Numbers:
    """The values over the divisor, as many as there are columns."""
    numbers = [None if value is None else value / divisor for value in values]
    return (*numbers, *[None] * (columns - len(numbers)))
