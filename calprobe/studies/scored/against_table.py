"""A run's numbers beside those of the paper, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.cells.run_facts import RunFacts
from calprobe.metrics import Difference
from calprobe.show.prose import heading, size_and_state
from calprobe.show.tables.labels import TableName, of_run
from calprobe.show.tables.layout import UNRANKED, Layout, quantity
from calprobe.show.tables.types import Row, Table
from calprobe.studies.scored.paper_figures import BesidePaper, Figure, RunAgainst

PAPER_TABLES = {
    "1": "Table 1",
    "2": "Table 2",
    "3": "Table 3",
    "4": "Table 4",
    "6": "Table 6, FACTOR",
    "B": "Appendix B",
}
METRICS = {"ace": "ACE", "brier": "Brier", "accuracy": "accuracy", "bear_score": "BEAR score"}
EXPLAINED = "Difference: ours minus the paper's. Inside: the paper's number is within our interval."
INSIDE = {True: "yes", False: "no", None: ""}


def against_table(run: RunFacts, found: RunAgainst, name: TableName) -> Table:
    """A row a number of the paper's tables: ours, theirs, and the difference; before them, what the run departs in."""
    layout = Layout[BesidePaper](
        f"Numbers of {name.of} beside the paper's: {size_and_state(run)}.",
        f"{name.label}-against",
        "number",
        _head,
        (
            quantity("ours", lambda row: row.ours),
            quantity("paper", lambda row: row.figure.value),
            quantity("difference", lambda row: Difference(row.difference)),
            quantity("inside", lambda row: INSIDE[row.inside]),
        ),
        (EXPLAINED,) if found.rows else (),
        kind="paper",
        more=UNRANKED,
    )
    return layout.table(found.rows, heading=heading(run)[:1], lead=tuple(against_notes(found)), **of_run(run))


def _head(row: BesidePaper) -> Row:
    figure = row.figure
    of = {"estimator": figure.estimator, "metric": figure.metric, "of": figure.of or ""}
    return Row(_name(figure), group=PAPER_TABLES[figure.table], keys={"paper_table": figure.table, **of})


def _name(figure: Figure) -> str:
    """The name of a figure of the paper.

    >>> _name(Figure("2", "margin", "brier", 0.179, "Economic"))
    'margin Brier, Economic'
    """
    name = " ".join(filter(None, (figure.estimator, METRICS[figure.metric])))
    return ", ".join(filter(None, (name, figure.of)))


def against_notes(found: RunAgainst) -> Iterator[str]:
    """Notes above the rows."""
    yield f"Against {found.source}{f', model {found.model}' if found.model else ''}."
    if found.departures:
        yield f"DIFFERENT FROM THE PAPER: {'; '.join(found.departures)}."
    yield from found.left_out
