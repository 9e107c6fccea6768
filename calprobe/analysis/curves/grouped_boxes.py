"""A grouped box plot: for each run or set, a box for each series, between the quartiles, with the median in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.analysis.marks import Box, Boxes, Panel, Scale, Series, beside
from calprobe.analysis.plots import paper
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = 2.6, 2.4  # of a panel, inches
REACH = 0.7  # of a group's width, what its boxes fill
WIDEST = 0.3  # of a box, in groups


@dataclass(frozen=True, slots=True)
class GroupedBoxes:
    """One panel."""

    title: str
    value: str  # what is counted
    group: str  # what a group is: a set, a run
    groups: tuple[str, ...]
    series: tuple[str, ...]
    values: tuple[tuple[Box | None, ...], ...]  # [groups][series]


def composed(own: GroupedBoxes) -> Panel:
    """Boxes of a series beside those of the others; lines at both ends reach to the least and the most."""
    across, upward = Scale.of_names(own.group, own.groups), Scale(own.value, "zero")
    return Panel(own.title, across, upward, tuple(_series(own, at, name) for at, name in enumerate(own.series)))


def _series(own: GroupedBoxes, place: int, name: str) -> Series:
    shift, width = beside(place, len(own.series), REACH), min(WIDEST, 0.85 * REACH / len(own.series))
    boxes = {at: box for at, row in enumerate(own.values) if (box := row[place]) is not None}
    said = tuple(f"{own.groups[at]}, {name}: {box.said}" for at, box in boxes.items())
    return Series(name, place, (Boxes(tuple(at + shift for at in boxes), tuple(boxes.values()), said, width),))


def draw_grouped_boxes(several: Sequence[GroupedBoxes], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each; without a legend where one name is in all."""
    names = {name for own in several for name in own.series}
    return paper.draw([composed(own) for own in several], look, SIZE, legend=len(names) > 1)
