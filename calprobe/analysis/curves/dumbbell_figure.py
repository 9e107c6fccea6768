"""A dumbbell plot: two shares of each name as dots on a line, the gap between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.analysis.marks import Line, Panel, Points, Scale, Series
from calprobe.analysis.plots import paper
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.names import shortened
from calprobe.metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW_INCHES, SIZE = 0.16, (2.6, 0.75)  # height of a row; width of a panel, and its height without rows
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


def composed(own: Dumbbells) -> Panel:
    """A row for each name; where the gap is significant the line is thick."""
    rows = Scale.of_rows([f"{shortened(row.name, LONGEST)} ({row.facts})" for row in own.rows], ROW_INCHES)
    chance = () if math.isnan(own.chance) else ((own.chance, own.chance),)
    marks = tuple(Line(x, (len(own.rows) - 0.4, -0.6), "reference", "chance of the answers") for x in chance)
    marks += tuple(
        Line((row.first, row.second), (at, at), *(("sure", "corrected p < 0.05") if row.sure else ("gap",)))
        for at, row in enumerate(own.rows)
    )
    series = (
        _dots(own, FIRST, own.first, [row.first for row in own.rows]),
        _dots(own, SECOND, own.second, [row.second for row in own.rows]),
    )
    return Panel(own.title, Scale("share of the facts", "share"), rows, series, marks)


def _dots(own: Dumbbells, place: int, name: str, shares: Sequence[float]) -> Series:
    said = tuple(
        f"{row.name}: {share:.3f} {name}, of {row.facts:,} facts" for row, share in zip(own.rows, shares, strict=True)
    )
    heights = tuple(Estimate(float(at)) for at in range(len(own.rows)))
    return Series(name, place, (Points(tuple(shares), heights, said, ring=place == SECOND),))


def draw_dumbbells(several: Sequence[Dumbbells], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each."""
    return paper.draw([composed(own) for own in several], look, SIZE)
