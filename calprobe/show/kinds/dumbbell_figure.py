"""A dumbbell plot: two shares of each name as dots on a line, the gap between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calprobe.metrics import Estimate
from calprobe.show.marks import Line, Panel, Points, Scale, Series
from calprobe.show.plots.names import shortened

ROW_INCHES, REST_INCHES = 0.16, 0.75  # heights: of a row, and of title and axis
LONGEST = 24  # letters of a name
FIRST, SECOND = 0, 1  # places in the palette


@dataclass(frozen=True, slots=True)
class DumbbellRow:
    """One name with its two shares."""

    name: str
    first: float  # in [0, 1]
    second: float
    facts: int
    sure: bool  # whether the gap is significant after its correction


@dataclass(frozen=True, slots=True)
class Dumbbells:
    """One panel."""

    title: str
    first: str  # what the first share is of
    second: str
    rows: tuple[DumbbellRow, ...]  # the uppermost first
    chance: float = float("nan")  # of the second; NaN: none

    @property
    def panel(self) -> Panel:
        """A row for each name; where the gap is significant the line is thick."""
        rows = Scale.of_rows([f"{shortened(row.name, LONGEST)} ({row.facts})" for row in self.rows], ROW_INCHES)
        chance = () if math.isnan(self.chance) else ((self.chance, self.chance),)
        marks = tuple(Line(x, (len(self.rows) - 0.4, -0.6), "reference", "chance of the answers") for x in chance)
        marks += tuple(
            Line((row.first, row.second), (at, at), *(("sure", "corrected p < 0.05") if row.sure else ("gap",)))
            for at, row in enumerate(self.rows)
        )
        series = (
            _dots(self, FIRST, self.first, [row.first for row in self.rows]),
            _dots(self, SECOND, self.second, [row.second for row in self.rows]),
        )
        label = f"{self.title}: shares {self.first} and {self.second}, a row a relation."
        across = Scale("share of the facts", "share")
        return Panel(self.title, across, rows, series, marks, label=label, size=(2.6, REST_INCHES))


def _dots(data: Dumbbells, place: int, name: str, shares: Sequence[float]) -> Series:
    tips = tuple(
        f"{row.name}: {share:.3f} {name}, of {row.facts:,} facts" for row, share in zip(data.rows, shares, strict=True)
    )
    heights = tuple(Estimate(float(at)) for at in range(len(data.rows)))
    return Series(name, place, (Points(tuple(shares), heights, tips, ring=place == SECOND),))
