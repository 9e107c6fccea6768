"""A grouped dot plot: names across, a dot with its interval for each series beside the others of its group."""

from __future__ import annotations

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

    def group_lines(self) -> list[list[str]]:
        """The names of the groups, broken into lines that fit below an axis."""
        return [name.replace("counterfactual", "counter-_factual").split("_") for name in self.groups]

    def dots(self, place: int) -> Iterator[tuple[str, float, Estimate]]:
        """Of one series: the group, the dot's place on the axis (0, 1, .. are the middles of groups), the value."""
        shift = self.reach * (place - (len(self.series) - 1) / 2) / max(len(self.series), 1)
        for at, (group, row) in enumerate(zip(self.groups, self.values, strict=True)):
            if (found := row[place]) is not None:
                yield group, at + shift, found


def draw_grouped_dots(several: Sequence[GroupedDots], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each, with 95 % intervals."""
    figure, panels, columns = frame.panel_figure(len(several), look, (LEAST_INCHES, PANEL_INCHES))
    entries: dict[str, Artist] = {}
    for at, (axes, own) in enumerate(zip(panels, several, strict=False)):
        _draw(axes, own, entries)
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
    axes.set_xticks(range(len(own.groups)), ["\n".join(lines) for lines in own.group_lines()])
    axes.set_xlim(-0.6, len(own.groups) - 0.4)
    axes.grid(visible=False, axis="x")
    frame.share_axis(axes, "y")
