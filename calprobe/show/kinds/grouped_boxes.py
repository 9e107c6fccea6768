"""A grouped box plot: for each run or set, a box for each series, between the quartiles, with the median in it."""

from __future__ import annotations

from dataclasses import dataclass

from calprobe.show.marks import Box, Boxes, Panel, Scale, Series, beside

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

    @property
    def panel(self) -> Panel:
        """Boxes of a series beside those of the others; lines at both ends reach to the least and the most."""
        across, upward = Scale.of_names(self.group, self.groups), Scale(self.value, "zero")
        series = tuple(_series(self, at, name) for at, name in enumerate(self.series))
        label = f"{self.title} by {self.group}: quartiles, median and ends."
        return Panel(self.title, across, upward, series, label=label, size=(2.6, 2.4))


def _series(data: GroupedBoxes, place: int, name: str) -> Series:
    shift, width = beside(place, len(data.series), REACH), min(WIDEST, 0.85 * REACH / len(data.series))
    boxes = {at: box for at, row in enumerate(data.values) if (box := row[place]) is not None}
    tips = tuple(f"{data.groups[at]}, {name}: {box.said}" for at, box in boxes.items())
    return Series(name, place, (Boxes(tuple(at + shift for at in boxes), tuple(boxes.values()), tips, width),))
