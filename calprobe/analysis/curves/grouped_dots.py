"""A grouped dot plot: names across, a dot with its interval for each series beside the others of its group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.analysis.marks import Line, Panel, Points, Scale, Series, beside
from calprobe.analysis.number_text import spelled
from calprobe.analysis.plots import paper
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = 2.8, 2.6  # of a panel, inches


@dataclass(frozen=True, slots=True)
class GroupedDots:
    """The values of one panel."""

    title: str
    value: str  # what is measured, in [0, 1]
    group: str  # what a group is: a variant, an answer
    groups: tuple[str, ...]
    series: tuple[str, ...]
    values: tuple[tuple[Estimate | None, ...], ...]  # [groups][series]; None: there is none, and no dot
    chance: float | None = None
    reach: float = 0.5  # of a group's width, what its dots are spread over
    of: str = ""  # what the series are of, behind their names in a legend

    @property
    def legend(self) -> tuple[str, ...]:
        """What a legend calls the series."""
        return tuple(f"{name} {self.of}".rstrip() for name in self.series)


def composed(own: GroupedDots) -> Panel:
    """A dot for each series in each group, with chance as a line."""
    chance = () if own.chance is None else (Line((), (own.chance,), "reference", "chance"),)
    series = tuple(Series(name, place, (_dots(own, place),)) for place, name in enumerate(own.legend))
    return Panel(own.title, Scale.of_names(own.group, own.groups), Scale(own.value, "share"), series, chance)


def _dots(own: GroupedDots, place: int) -> Points:
    shift = beside(place, len(own.series), own.reach)
    dots = {at: value for at, row in enumerate(own.values) if (value := row[place]) is not None}
    said = tuple(f"{own.groups[at]}, {own.series[place]}: {spelled(value)}" for at, value in dots.items())
    return Points(tuple(at + shift for at in dots), tuple(dots.values()), said)


def draw_grouped_dots(several: Sequence[GroupedDots], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each, with 95 % intervals."""
    return paper.draw([composed(own) for own in several], look, SIZE)
