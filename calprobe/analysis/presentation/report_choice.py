"""What of a report is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from calprobe.analysis.tables import Table
from calprobe.errors import UsageError


@dataclass(frozen=True, slots=True)
class ReportChoice:
    """What of a report is shown."""

    estimators: tuple[str, ...] | None = None  # None: all
    metrics: tuple[str, ...] | None = None
    tables: tuple[str, ...] | None = None  # kinds
    beside: str | None = None  # published numbers
    labels: Mapping[str, str] = field(default_factory=dict)  # names that runs were given, by what they are called
    figures: bool = False  # whether figures will be called for
    page: bool = False  # likewise


def tables_of_kinds(tables: Sequence[Table], kinds: Sequence[str] | None, needs: str) -> Sequence[Table]:
    """The tables of the kinds; None: all. Raises UsageError for none."""
    chosen = [table for table in tables if kinds is None or table.kind in kinds]
    if not chosen:
        raise UsageError(f"--tables {','.join(kinds or ())}: the report has no such table; {needs}")
    # A file of numbers leaves out a table of numbers that others have; alone it has them.
    return chosen if any(table.tidy for table in chosen) else [replace(table, tidy=True) for table in chosen]
