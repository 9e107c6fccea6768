"""A grouped box plot: for each run or set, a box for each series, between the quartiles, with the median in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.analysis.curves.grouped_dots import GroupNames
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.style import style_at

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_INCHES, LEAST_INCHES = 2.4, 2.6  # height, width
REACH = 0.7  # of a group's width, what its boxes fill
WIDEST = 0.3  # of a box, in groups


@dataclass(frozen=True, slots=True)
class Box:
    """The five numbers that a box shows."""

    least: float
    quartile_1: float
    median: float
    quartile_3: float
    most: float

    @property
    def said(self) -> str:
        """The numbers in words."""
        middle = f"median {self.median:g}, quartiles {self.quartile_1:g} and {self.quartile_3:g}"
        return f"{middle}, from {self.least:g} to {self.most:g}"


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
    def width(self) -> float:
        """Of a box, in groups."""
        return min(WIDEST, 0.85 * REACH / max(len(self.series), 1))

    def boxes(self, place: int) -> Iterator[tuple[str, float, Box]]:
        """Of one series: the group, the middle of the box on the axis (0, 1, .. are the middles of groups), the box."""
        shift = REACH * ((place + 0.5) / max(len(self.series), 1) - 0.5)
        for at, (group, row) in enumerate(zip(self.groups, self.values, strict=True)):
            if (found := row[place]) is not None:
                yield group, at + shift, found


def draw_grouped_boxes(several: Sequence[GroupedBoxes], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each; lines at both ends of a box reach to the least and the most."""
    names = GroupNames.of(len(several), look, LEAST_INCHES)
    more = names.inches([own.groups for own in several])
    figure, panels, columns = frame.panel_figure(len(several), look, (LEAST_INCHES, PANEL_INCHES + more))
    entries: dict[str, Artist] = {}
    for at, (axes, own) in enumerate(zip(panels, several, strict=False)):
        _draw(axes, own, entries)
        names.write(axes, own.groups)
        frame.title_panel(axes, own.title)
        if at % columns == 0 or own.value != several[at - 1].value:
            axes.set_ylabel(own.value[:1].upper() + own.value[1:])
    named = len({own.series for own in several}) > 1 or len(entries) > 1
    frame.finish(figure, look, entries if named else {})
    return figure


def _draw(axes: Axes, own: GroupedBoxes, entries: dict[str, Artist]) -> None:
    from matplotlib.patches import Patch

    for place, name in enumerate(own.series):
        color = style_at(place).color
        line = {"color": color, "linewidth": 0.9}
        found = list(own.boxes(place))
        axes.bxp(
            [
                {"med": box.median, "q1": box.quartile_1, "q3": box.quartile_3, "whislo": box.least, "whishi": box.most}
                for _, _, box in found
            ],
            positions=[x for _, x, _ in found],
            widths=own.width,
            showfliers=False,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": (color, 0.3), "edgecolor": color, "linewidth": 0.9},
            medianprops=line | {"linewidth": 1.6},
            whiskerprops=line,
            capprops=line,
        )
        entries[name] = Patch(facecolor=(color, 0.3), edgecolor=color)
    axes.set_ylim(bottom=0)
