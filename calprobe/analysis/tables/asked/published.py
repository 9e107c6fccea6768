"""The audit's published figures with one's own below them, as tables."""

from __future__ import annotations

from calprobe.analysis.asked.published import Beside, beside_published
from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.asked.science.published import SCIENCE2026, beside_science
from calprobe.analysis.tables.labels import table_labels
from calprobe.analysis.tables.types import Column, Row, Table


def published_tables(report: AskedReport) -> tuple[Table, ...]:
    """A table for each of the paper's that survives, one's own rows in groups of their own."""
    found = beside_published(report)
    labels = table_labels("audit2026", [own.table for own in found])
    return tuple(_table(own, label, "of arXiv 2605.02038") for own, label in zip(found, labels, strict=True))


def science_tables(report: AskedReport) -> tuple[Table, ...]:
    """The published tables of the studies of science questions, one's own rows in groups of their own."""
    found = beside_science(report)
    labels = table_labels(SCIENCE2026, [f"{own.table} {own.caption}" for own in found])
    return tuple(_table(own, label, "of the published study") for own, label in zip(found, labels, strict=True))


def _table(own: Beside, label: str, of: str) -> Table:
    return Table(
        caption=f"{own.caption}: {own.table} {of}, and one's own.",
        label=label,
        kind="paper",
        stub="of",
        columns=tuple(Column(name, keys={"quantity": name}) for name in own.columns),
        rows=tuple(
            Row(row.label, row.values, group=row.of, keys={"run": row.of, "row": row.label, "paper_table": own.table})
            for row in own.rows
        ),
        best_within=None,
    )
