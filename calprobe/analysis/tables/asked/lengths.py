"""The table of token counts: how long replies and thoughts are, and how many were cut."""

from __future__ import annotations

from calprobe.analysis.asked.lengths import Lengths, StageLengths
from calprobe.analysis.asked.results import SetReport
from calprobe.analysis.tables.types import Cell, Column, Row, Table

COLUMNS = {"mean": "mean", "quartile_1": "25 %", "median": "median", "quartile_3": "75 %", "most": "most"}


def lengths_table(own: SetReport) -> Table:
    """A row a stage, grouped by variant."""
    rows = [(cell.variant, found) for cell in own.cells.values() for found in cell.lengths]
    thoughts = any(found.thoughts is not None for _, found in rows)
    parts = {"tokens": "tokens of the reply"} | ({"thoughts": "tokens of the thought"} if thoughts else {})
    return Table(
        "Tokens of replies" + (" and thoughts" if thoughts else ""),
        "lengths",
        "stage",
        (
            Column("replies", keys={"metric": "replies"}),
            *(
                Column(title, heading=heading, keys={"metric": name, "of": part})
                for part, heading in parts.items()
                for name, title in COLUMNS.items()
            ),
            Column("cut", "smaller", keys={"metric": "cut"}),
            *([Column("no end", "smaller", heading="thoughts", keys={"metric": "open_thoughts"})] if thoughts else []),
            *([Column("ended", heading="thoughts", keys={"metric": "ended_thoughts"})] if thoughts else []),
        ),
        tuple(
            Row(
                found.stage,
                (
                    found.replies,
                    *(value for part in parts for value in _values(getattr(found, part))),
                    found.cut,
                    *(_of_thoughts(found) if thoughts else ()),
                ),
                group=variant,
                keys={"variant": variant, "stage": found.stage},
            )
            for variant, found in rows
        ),
        kind="lengths",
        notes=(
            "Cut: share of the replies that ended at their budget."
            + (" No end: thoughts that did; ended: thoughts that were ended by --think-tokens." if thoughts else ""),
        ),
        best_within=None,
    )


def _values(own: Lengths | None) -> tuple[Cell, ...]:
    return tuple(None if own is None else getattr(own, name) for name in COLUMNS)


def _of_thoughts(own: StageLengths) -> tuple[Cell, ...]:
    return own.open_thoughts, own.ended_thoughts
