"""Published figures with one's own below them, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from calprobe.analysis.asked.published import Beside, BesideRow, beside_published
from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.asked.science.published import SCIENCE2026, beside_science
from calprobe.analysis.asked.stated.published import STATED2025, StatedBeside, StatedRow, beside_stated
from calprobe.analysis.asked.stated.results import StatedStudy
from calprobe.analysis.tables.labels import table_labels
from calprobe.analysis.tables.layout import UNRANKED, Layout, each
from calprobe.analysis.tables.types import Row, Table


def published_tables(report: AskedReport) -> tuple[Table, ...]:
    """A table for each of the audit's that survives, one's own rows in groups of their own."""
    found = beside_published(report)
    return _tables(found, table_labels("audit2026", [own.table for own in found]), "arXiv 2605.02038")


def science_tables(report: AskedReport) -> tuple[Table, ...]:
    """The published tables of the studies of science questions, one's own rows in groups of their own."""
    found = beside_science(report)
    labels = table_labels(SCIENCE2026, [f"{own.table} {own.caption}" for own in found])
    return _tables(found, labels, "the published study")


def published_stated_tables(study: StatedStudy) -> tuple[Table, ...]:
    """The published tables of the study of stated confidence, one's own runs in groups of their own."""
    found = beside_stated(study)
    return _tables(found, table_labels(STATED2025, [own.table for own in found]), "the published study")


def _tables(found: Sequence[Beside | StatedBeside], labels: Iterable[str], of: str) -> tuple[Table, ...]:
    return tuple(_table(beside, label, of) for beside, label in zip(found, labels, strict=True))


def _table(beside: Beside | StatedBeside, label: str, of: str) -> Table:
    names = beside.columns
    layout = Layout[BesideRow | StatedRow](
        f"{beside.caption}: {beside.table} of {of}, and one's own.",
        label,
        "of",
        lambda row: Row(row.label, group=row.of, keys={"run": row.of, "row": row.label, "paper_table": beside.table}),
        each(dict(enumerate(names)), lambda row, place: row.values[place], lambda place: {"quantity": names[place]}),
        kind="paper",
        more=UNRANKED,
    )
    return layout.table(beside.rows, *[f"{beside.note}."] * bool(beside.note))
