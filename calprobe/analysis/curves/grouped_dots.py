"""A grouped dot plot: names across, a dot with its interval for each series beside the others of its group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calprobe.analysis.plots import frame
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.style import FAINT, style_at
from calprobe.metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_INCHES, LEAST_INCHES = 2.6, 2.8  # height, width
SLANT = 35  # of names that have no room side by side, degrees
_CHANCE: dict[str, Any] = {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (4, 2))}


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

    def dots(self, place: int) -> Iterator[tuple[str, float, Estimate]]:
        """Of one series: the group, the dot's place on the axis (0, 1, .. are the middles of groups), the value."""
        shift = self.reach * (place - (len(self.series) - 1) / 2) / max(len(self.series), 1)
        for at, (group, row) in enumerate(zip(self.groups, self.values, strict=True)):
            if (found := row[place]) is not None:
                yield group, at + shift, found


def lines_of(groups: Sequence[str]) -> list[list[str]]:
    """Names of groups, broken into lines that fit below an axis."""
    return [name.replace("counterfactual", "counter-_factual").split("_") for name in groups]


@dataclass(frozen=True, slots=True)
class GroupNames:
    """How the names of groups stand below the panels of a figure: slanted where they would cover each other."""

    room: float  # width of a panel, points

    @classmethod
    def of(cls, panels: int, look: Look, least: float) -> GroupNames:
        """Those of so many panels, each at least `least` inches wide."""
        columns = frame.fold(max(panels, 1), look.width, least)
        return cls((look.width - frame.LABELS_INCHES) / columns * frame.POINTS_PER_INCH)

    def slanted(self, groups: Sequence[str]) -> bool:
        """Whether lines of the names are longer than the groups are wide."""
        longest = max((len(line) for lines in lines_of(groups) for line in lines), default=0)
        return len(groups) * longest * frame.LETTER > self.room

    def inches(self, several: Sequence[Sequence[str]]) -> float:
        """The height that slanted names of any panel take; 0 without."""
        longest = max((len(name) for own in several if self.slanted(own) for name in own), default=0)
        return longest * frame.LETTER * math.sin(math.radians(SLANT)) / frame.POINTS_PER_INCH

    def write(self, axes: Axes, groups: Sequence[str]) -> None:
        """Write them below an axis on which 0, 1, .. are the middles of groups."""
        axes.set_xticks(range(len(groups)), ["\n".join(lines) for lines in lines_of(groups)])
        if self.slanted(groups):
            axes.set_xticklabels(groups, rotation=SLANT, ha="right", rotation_mode="anchor")
        axes.set_xlim(-0.6, len(groups) - 0.4)
        axes.grid(visible=False, axis="x")


def draw_grouped_dots(several: Sequence[GroupedDots], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each, with 95 % intervals."""
    names = GroupNames.of(len(several), look, LEAST_INCHES)
    more = names.inches([own.groups for own in several])
    figure, panels, columns = frame.panel_figure(len(several), look, (LEAST_INCHES, PANEL_INCHES + more))
    entries: dict[str, Artist] = {}
    for at, (axes, own) in enumerate(zip(panels, several, strict=False)):
        _draw(axes, own, entries)
        names.write(axes, own.groups)
        frame.title_panel(axes, own.title)
        outer = at % columns == 0
        axes.tick_params(labelleft=outer)
        if outer or own.value != several[at - 1].value:
            axes.set_ylabel(own.value[:1].upper() + own.value[1:])
    if any(own.chance is not None for own in several):
        entries["chance"] = frame.sample(**_CHANCE)
    frame.finish(figure, look, entries)
    return figure


def _draw(axes: Axes, own: GroupedDots, entries: dict[str, Artist]) -> None:
    if own.chance is not None:
        axes.axhline(own.chance, **_CHANCE)
    for place, name in enumerate(own.legend):
        style = style_at(place)
        there = [(x, found) for _, x, found in own.dots(place)]
        x = np.array([at for at, _ in there], np.float64)
        low, high = (np.array([getattr(found, end) for _, found in there], np.float64) for end in ("low", "high"))
        frame.interval_bars(axes, x, low, high, style.color)
        axes.plot(x, [found.value for _, found in there], **style.dots())
        entries[name] = frame.sample(**style.dots())
    frame.share_axis(axes, "y")
