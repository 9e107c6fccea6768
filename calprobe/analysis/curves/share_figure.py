"""The share of the wording against the number of samples, beside the exact one that sampled shares converge to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calprobe.analysis.plots import frame
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.style import FAINT, style_at
from calprobe.messages import counted

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_INCHES, LEAST_INCHES = 2.8, 2.6  # height, width
SHARES: Mapping[str, str] = {"ratio_of_sums": "ratio", "unbiased": "rho*", "by_chance": "by chance"}  # field -> name
EXACT = "exact"


@dataclass(frozen=True, slots=True)
class SharePanel:
    """The plans with all wordings, of one set under one variant and one way to put answers as points."""

    title: str
    wordings: int
    samples: tuple[int, ...]  # of each wording, ascending
    # By field of `SHARES`: mean and standard deviation over the draws, for each number of samples
    values: Mapping[str, tuple[tuple[float, float], ...]]
    exact: Mapping[str, float]  # by field: of label probabilities; empty where these are not known

    @property
    def across(self) -> str:
        """What stands below the axis."""
        return f"samples of each of {counted(self.wordings, 'wording')}"

    def points(self, field: str) -> list[tuple[float, int, float, float]]:
        """Of a share: place on an axis of powers of two, samples, mean and deviation; where it is defined."""
        known = zip(self.samples, self.values[field], strict=True)
        return [(math.log2(n), n, mean, spread) for n, (mean, spread) in known if math.isfinite(mean)]


def draw_shares(panels: Sequence[SharePanel], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each, with bars of one standard deviation over the draws."""
    figure, grid, columns = frame.panel_figure(len(panels), look, (LEAST_INCHES, PANEL_INCHES))
    entries: dict[str, Artist] = {}
    for axes, own in zip(grid, panels, strict=False):
        _draw(axes, own, entries)
        frame.title_panel(axes, own.title)
    across = {own.across for own in panels}
    x = across.pop() if len(across) == 1 else "samples of each wording"
    frame.outer_labels(grid, columns, x[:1].upper() + x[1:], "Share of the variance")
    frame.finish(figure, look, entries)
    return figure


def _draw(axes: Axes, own: SharePanel, entries: dict[str, Artist]) -> None:
    for place, (field, name) in enumerate(SHARES.items()):
        style = style_at(place)
        points = own.points(field)
        x, _, mean, spread = np.array(points, np.float64).reshape(-1, 4).T
        frame.interval_bars(axes, x, mean - spread, mean + spread, style.color)
        axes.plot(x, mean, **style.points(), markersize=3.5)
        entries[name] = frame.sample(**style.points(), markersize=3.5)
        if field in own.exact and field != "by_chance":
            axes.axhline(own.exact[field], color=style.color, linewidth=0.9, linestyle=(0, (1, 2)))
            entries[EXACT] = frame.sample(color=FAINT, linewidth=0.9, linestyle=(0, (1, 2)))
    axes.set_xticks([math.log2(n) for n in own.samples], [str(n) for n in own.samples])
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
