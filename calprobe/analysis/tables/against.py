"""A run's numbers beside those of the paper, as a table."""

from __future__ import annotations

from calprobe.analysis.paper_figures import RunAgainst
from calprobe.analysis.prose import against_footnotes, against_notes, figure_name, heading, size_and_state
from calprobe.analysis.tables.labels import TableName, about
from calprobe.analysis.tables.types import Column, Row, Table
from calprobe.cells.run_facts import RunFacts
from calprobe.metrics import Difference

PAPER_TABLES = {
    "1": "Table 1",
    "2": "Table 2",
    "3": "Table 3",
    "4": "Table 4",
    "6": "Table 6, FACTOR",
    "B": "Appendix B",
}
INSIDE = {True: "yes", False: "no", None: ""}
COLUMNS = tuple(Column(name, keys={"quantity": name}) for name in ("ours", "paper", "difference", "inside"))


def against_table(run: RunFacts, found: RunAgainst, name: TableName) -> Table:
    """A row a number of the paper's tables: ours, theirs, and the difference; before them, what the run departs in."""
    return Table(
        caption=f"Numbers of {name.of} beside the paper's: {size_and_state(run)}.",
        label=f"{name.label}-against",
        kind="paper",
        stub="number",
        columns=COLUMNS,
        rows=tuple(
            Row(
                figure_name(row.figure),
                (row.ours, row.figure.value, Difference(row.difference), INSIDE[row.inside]),
                group=PAPER_TABLES[row.figure.table],
                keys={
                    "paper_table": row.figure.table,
                    "estimator": row.figure.estimator,
                    "metric": row.figure.metric,
                    "of": row.figure.of or "",
                },
            )
            for row in found.rows
        ),
        heading=heading(run)[:1],
        lead=tuple(against_notes(found)),
        notes=tuple(against_footnotes(found)),
        keys={"run": run.label, "model": run.model},
        about=about(run),
        best_within=None,
    )
