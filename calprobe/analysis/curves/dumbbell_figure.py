"""A dumbbell plot: two shares of each name as dots on a line, the gap between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calprobe.analysis.plots import frame
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.names import shortened
from calprobe.analysis.plots.style import FAINT, style_at

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_INCHES, REST_INCHES, LEAST_INCHES = 0.16, 0.75, 2.6
LONGEST = 24  # letters of a name
FIRST, SECOND = 0, 1  # places in the palette
# Around the other dot, where both stand at one place.
_RING: Mapping[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.2, "markersize": 6.5, "zorder": 2}


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


def draw_dumbbells(several: Sequence[Dumbbells], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each; where the gap is significant the line is thick."""
    columns = frame.fold(max(len(several), 1), look.width, LEAST_INCHES)
    rows = -(-max(len(several), 1) // columns)
    height = ROW_INCHES * max((len(own.rows) for own in several), default=1) + REST_INCHES
    figure = frame.blank_figure(look.width, height * rows + 0.35)
    entries: dict[str, Artist] = {}
    for axes, own in zip(frame.panel_grid(figure, max(len(several), 1), columns), several, strict=False):
        _draw(axes, own, entries)
        frame.title_panel(axes, own.title)
    frame.finish(figure, look, entries)
    return figure


def _draw(axes: Axes, own: Dumbbells, entries: dict[str, Artist]) -> None:
    first, second = style_at(FIRST), style_at(SECOND)
    if not math.isnan(own.chance):
        axes.axvline(own.chance, color=FAINT, linewidth=0.9, linestyle=(0, (4, 2)))
        entries["chance of the answers"] = frame.sample(color=FAINT, linewidth=0.9, linestyle=(0, (4, 2)))
    for at, row in enumerate(own.rows):
        width = 2.2 if row.sure else 0.8
        axes.plot([row.first, row.second], [at, at], color=FAINT, linewidth=width, marker="none", zorder=1)
        axes.plot(row.first, at, **first.dots(), zorder=3)
        axes.plot(row.second, at, **second.dots(), **_RING)
    entries[own.first] = frame.sample(**first.dots())
    entries[own.second] = frame.sample(**second.dots(), **_RING)
    if any(row.sure for row in own.rows):
        entries["corrected p < 0.05"] = frame.sample(color=FAINT, linewidth=2.2)
    axes.set_ylim(len(own.rows) - 0.4, -0.6)
    axes.set_yticks(range(len(own.rows)), [f"{shortened(row.name, LONGEST)} ({row.facts})" for row in own.rows])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("Share of the facts")
    frame.share_axis(axes, "x")
