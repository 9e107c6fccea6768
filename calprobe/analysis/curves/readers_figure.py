"""Accuracy under each reader of answers: variants across, a mark for each reader, chance as a line."""

from __future__ import annotations

from collections.abc import Sequence
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

PANEL_INCHES = 2.6  # height
LEAST_INCHES = 2.8  # width
REACH = 0.5  # of a variant's place, what its marks are spread over
_CHANCE: dict[str, Any] = {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (4, 2))}


@dataclass(frozen=True, slots=True)
class Readers:
    """Accuracies of one set by variant and reader."""

    title: str
    variants: tuple[str, ...]
    readers: tuple[str, ...]
    accuracy: tuple[tuple[Estimate | None, ...], ...]  # [variants][readers]; None where a reader has nothing to read
    chance: float

    def shift(self, place: int) -> float:
        """How far the marks of a reader stand beside the middle of a variant's place."""
        return REACH * (place - (len(self.readers) - 1) / 2) / max(len(self.readers), 1)


def draw_readers(several: Sequence[Readers], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each set."""
    columns = frame.fold(max(len(several), 1), look.width, LEAST_INCHES)
    rows = -(-max(len(several), 1) // columns)
    figure = frame.blank_figure(look.width, PANEL_INCHES * rows + 0.5)
    panels = frame.panel_grid(figure, max(len(several), 1), columns)
    entries: dict[str, Artist] = {}
    for at, (axes, own) in enumerate(zip(panels, several, strict=False)):
        _draw(axes, own, entries)
        frame.title_panel(axes, own.title)
        axes.tick_params(labelleft=at % columns == 0)
        if at % columns == 0:
            axes.set_ylabel("Accuracy")
    frame.title_figure(figure, look)
    frame.legend_below(figure, entries | {"chance": frame.sample(**_CHANCE)})
    frame.fix_layout(figure)
    return figure


def _draw(axes: Axes, own: Readers, entries: dict[str, Artist]) -> None:
    axes.axhline(own.chance, **_CHANCE)
    for place, reader in enumerate(own.readers):
        style = style_at(place)
        known = [(at + own.shift(place), row[place]) for at, row in enumerate(own.accuracy)]
        there = [(at, found) for at, found in known if found is not None]
        x = np.array([at for at, _ in there], np.float64)
        low, high = (np.array([getattr(found, end) for _, found in there], np.float64) for end in ("low", "high"))
        frame.interval_bars(axes, x, low, high, style.color)
        axes.plot(x, [found.value for _, found in there], **style.dots())
        entries[reader] = frame.sample(**style.dots())
    axes.set_xticks(range(len(own.variants)), [name.replace("_", "\n") for name in own.variants])
    axes.set_xlim(-0.6, len(own.variants) - 0.4)
    axes.grid(visible=False, axis="x")
    frame.share_axis(axes, "y")
