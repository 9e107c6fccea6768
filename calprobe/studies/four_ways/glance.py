"""The same facts in several ways at a glance: how often each way is right, and whether their confidences differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from calprobe.cells.asked_extent import state_of
from calprobe.cells.run_facts import RunFacts
from calprobe.show.prose import state
from calprobe.show.tables.layout import UNRANKED
from calprobe.show.tables.shorter import others_named
from calprobe.show.tables.side_by_side import Sides, differences_told
from calprobe.show.tables.types import Table
from calprobe.show.verdict import decimals_of
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.layouts import joined_notes, models_note

SHOWN = ("ways", "views")  # the tables of a first look
MOST_PAIRS = 2  # of confidences whose difference is told in words


def ways_at_a_glance(ways: FourWays, tables: Sequence[Table]) -> tuple[Table, ...]:
    """The verdict, then the accuracy of each way and of each confidence, for a terminal."""
    digits = decimals_of(len(ways.facts))
    lines = [*_runs(ways), *models_note(ways), *joined_notes(ways)]
    verdict = Table("", "verdict", "", (), (), heading=(*lines, *ways_told(ways)), **UNRANKED)
    shown = [
        replace(
            table,
            decimals=digits,
            heading=(),
            lead=(),
            notes=(),
            fine_print=(),
            general=(),
            intervals=False,
            directions=False,
        )
        for table in tables
        if table.kind in SHOWN
    ]
    return (verdict, *shown, Table("", "more", "", (), (), options=others_named(shown, tables), **UNRANKED))


def ways_told(ways: FourWays) -> Iterator[str]:
    """The verdict on the first pairs of confidences."""
    compared = "relations in common" if ways.unit == "relation" else "facts in common"
    for pair in ways.pairs[:MOST_PAIRS]:
        letters = (pair.first.way, pair.second.way)
        sides = Sides(
            pair.first.name, pair.second.name, [pair.contrasts], pair.facts, compared=compared, letters=letters
        )
        named = " and ".join(f"{view.name} of {view.way}" for view in (pair.first, pair.second))
        yield f"{named}: {differences_told(sides, ways)}"


def _runs(ways: FourWays) -> list[str]:
    """What each run is, a line each."""
    return [
        f"{run.label}: {run.model}, {state(run) if isinstance(run, RunFacts) else state_of(run.extent)}"
        for run in ways.runs
    ]
