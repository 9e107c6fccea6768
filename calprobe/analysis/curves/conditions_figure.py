"""Mean confidence by what stood in the answer's place: a panel for each run, marks for right and for wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calprobe.analysis.plots import frame
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.style import style_at
from calprobe.metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_INCHES, LEAST_INCHES = 2.6, 3.0  # height, width
REACH = 0.45  # of a condition's place, what its marks are spread over


@dataclass(frozen=True, slots=True)
class Conditions:
    """Mean confidences of one run."""

    title: str
    conditions: tuple[str, ...]
    splits: tuple[str, ...]  # of the questions: all, those that the model's own answer is right on, wrong on
    means: tuple[tuple[Estimate | None, ...], ...]  # [conditions][splits]

    def shift(self, place: int) -> float:
        """How far the marks of a split stand beside the middle of a condition's place."""
        return REACH * (place - (len(self.splits) - 1) / 2) / max(len(self.splits), 1)


def draw_conditions(several: Sequence[Conditions], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each run, with 95 % intervals."""
    columns = 2 if len(several) > 1 and look.width >= 2 * LEAST_INCHES else 1
    rows = -(-max(len(several), 1) // columns)
    figure = frame.blank_figure(look.width, PANEL_INCHES * rows + 0.5)
    panels = frame.panel_grid(figure, max(len(several), 1), columns)
    entries: dict[str, Artist] = {}
    for at, (axes, own) in enumerate(zip(panels, several, strict=False)):
        _draw(axes, own, entries)
        frame.title_panel(axes, own.title)
        axes.tick_params(labelleft=at % columns == 0)
        if at % columns == 0:
            axes.set_ylabel("Mean confidence")
    frame.title_figure(figure, look)
    frame.legend_below(figure, entries)
    frame.fix_layout(figure)
    return figure


def _draw(axes: Axes, own: Conditions, entries: dict[str, Artist]) -> None:
    for place, split in enumerate(own.splits):
        style = style_at(place)
        known = [(at + own.shift(place), row[place]) for at, row in enumerate(own.means)]
        there = [(at, found) for at, found in known if found is not None]
        x = np.array([at for at, _ in there], np.float64)
        low, high = (np.array([getattr(found, end) for _, found in there], np.float64) for end in ("low", "high"))
        frame.interval_bars(axes, x, low, high, style.color)
        axes.plot(x, [found.value for _, found in there], **style.dots())
        entries[f"{split} answers"] = frame.sample(**style.dots())
    axes.set_xticks(
        range(len(own.conditions)), [name.replace("counterfactual", "counter-\nfactual") for name in own.conditions]
    )
    axes.set_xlim(-0.6, len(own.conditions) - 0.4)
    axes.grid(visible=False, axis="x")
    frame.share_axis(axes, "y")
