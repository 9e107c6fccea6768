"""Published tables with one's own rows below them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from calprobe.show.tables.labels import table_labels
from calprobe.show.tables.types import Column, Row, Table
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.published.beside import Beside, BesideRow
from calprobe.studies.published.beside_audit import beside_audit
from calprobe.studies.published.beside_science import beside_science
from calprobe.studies.published.beside_stated import beside_stated
from calprobe.studies.published.beside_wording import beside_wording
from calprobe.studies.stated.results import StatedStudy

# By the name that `--against` has for a study.
PUBLISHED: Mapping[str, Callable[[AskedReport], tuple[Beside, ...]]] = {
    "audit2026": beside_audit,
    "stated2025": lambda report: beside_stated(report.stated or StatedStudy((), ())),
    "science2026": beside_science,
    "wording2025": beside_wording,
}


def published_tables(study: str, report: AskedReport) -> tuple[Table, ...]:
    """A table for each of the study's, one's own rows in groups of their own; a row of deviations below its means."""
    tables = PUBLISHED[study](report)
    numbers = [beside.table for beside in tables]
    repeated = len(set(numbers)) < len(numbers)
    names = [f"{beside.table} {beside.caption}" if repeated else beside.table for beside in tables]
    labels = table_labels(study, names)
    return tuple(_table(beside, label) for beside, label in zip(tables, labels, strict=True))


def _table(beside: Beside, label: str) -> Table:
    return Table(
        caption=f"{beside.caption}: {beside.table} of {beside.of}, and one's own.",
        label=label,
        kind="paper",
        stub="of",
        columns=tuple(Column(name, keys={"quantity": name}) for name in beside.columns),
        rows=tuple(row for record in beside.rows for row in _rows(record, beside)),
        notes=beside.notes,
        best_within=None,
    )


def _rows(row: BesideRow, beside: Beside) -> Iterator[Row]:
    keys = {"run": row.of, "row": row.label, "paper_table": beside.table}
    statistic = [{"statistic": name} for name in ("mean", "sd")] if row.over else [{}, {}]
    yield Row(row.label, row.values, group=row.of, keys=keys | statistic[0])
    if any(isinstance(value, float) and not math.isnan(value) for value in row.deviations):
        label = f"  SD over {row.over}"
        yield Row(label, row.deviations, group=row.of, keys=keys | statistic[1], of=row.label)
