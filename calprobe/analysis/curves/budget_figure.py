"""AUROC against the number of wordings at a fixed number of answers: a panel for each budget, a line a measure."""

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

PANEL_INCHES, LEAST_INCHES = 2.8, 2.6  # height, width
APART = 0.06  # between the lines of two measures, of the distance of two plans


@dataclass(frozen=True, slots=True)
class BudgetPanel:
    """The plans of one number of answers, of one set under one variant."""

    title: str
    reading: str  # pooled, majority, greedy: which correctness the AUROC takes
    plans: tuple[str, ...]  # (n_p, n_s), by number of wordings
    measures: tuple[str, ...]
    places: tuple[int, ...]  # [measures], in the palette, the same in all panels
    values: tuple[tuple[Estimate | None, ...], ...]  # [measures][plans]; None: the plan has no such part

    def line(self, place: int) -> list[tuple[float, str, Estimate]]:
        """Of one measure: where each of its points stands (0, 1, .. are the plans), the plan, the value."""
        shift = APART * (place - (len(self.measures) - 1) / 2)
        points = zip(self.plans, self.values[place], strict=True)
        return [(at + shift, plan, found) for at, (plan, found) in enumerate(points) if found is not None]


def draw_budgets(panels: Sequence[BudgetPanel], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each, with 95 % intervals over questions."""
    figure, grid, columns = frame.panel_figure(len(panels), look, (LEAST_INCHES, PANEL_INCHES))
    entries: dict[str, Artist] = {}
    for axes, own in zip(grid, panels, strict=False):
        _draw(axes, own, entries)
        frame.title_panel(axes, own.title)
    frame.outer_labels(grid, columns, "Wordings and samples of each", f"AUROC, {panels[0].reading}" if panels else "")
    frame.finish(figure, look, entries)
    return figure


def _draw(axes: Axes, own: BudgetPanel, entries: dict[str, Artist]) -> None:
    for at, name in enumerate(own.measures):
        style = style_at(own.places[at])
        points = own.line(at)
        x = np.array([place for place, _, _ in points], np.float64)
        low, high = (np.array([getattr(found, end) for _, _, found in points], np.float64) for end in ("low", "high"))
        frame.interval_bars(axes, x, low, high, style.color)
        axes.plot(x, [found.value for _, _, found in points], **style.points(), markersize=3.5)
        entries[name] = frame.sample(**style.points(), markersize=3.5)
    axes.set_xticks(range(len(own.plans)), own.plans)
    axes.set_xlim(-0.4, len(own.plans) - 0.6)
    axes.grid(visible=False, axis="x")
