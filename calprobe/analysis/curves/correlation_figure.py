"""A heat map of correlations: prompts by prompts, a panel for each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calprobe.analysis.plots import frame
from calprobe.analysis.plots.heat_map import Cells, draw_cells, signed
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_INCHES, MOST_INCHES = 3.0, 4.2  # width of a panel
LABEL_INCHES = 1.0  # what names of prompts take beside a panel, at least
TITLE_INCHES = 0.5
POINTS, NUMBER = 6.5, 2.8  # size of the numbers at most; width of one with its gap, in their size
MOST = 1.9  # value of the darkest colours


@dataclass(frozen=True, slots=True)
class Correlations:
    """Correlations of the confidences under each two prompts, or of each two confidences."""

    title: str
    prompts: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]  # [prompts][prompts], in [-1, 1]; NaN where undefined
    of: str = "Pearson's correlation of the confidences under each two prompts"
    numbered: bool = True  # whether a page puts numbers behind the names; False: they have them


def draw_correlations(several: Sequence[Correlations], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each; red above 0, blue below, the darker the farther from 0."""
    columns = 2 if len(several) > 1 and look.width >= 2 * LEAST_INCHES else 1
    longest = max((len(name) for own in several for name in own.prompts), default=0)
    labels = max(LABEL_INCHES, (longest + 4) * frame.LETTER / frame.POINTS_PER_INCH)
    rows = -(-max(len(several), 1) // columns)
    side = min((look.width - labels) / columns, MOST_INCHES)
    figure = frame.blank_figure(look.width, (side + TITLE_INCHES) * rows + labels)
    panels = frame.panel_grid(figure, max(len(several), 1), columns)
    for at, (axes, own) in enumerate(zip(panels, several, strict=False)):
        below = at + columns >= len(several)
        cell = side / max(len(own.prompts), 1) * frame.POINTS_PER_INCH
        _draw(axes, own, named=at % columns == 0, below=below, points=min(POINTS, cell / NUMBER))
        frame.title_panel(axes, own.title)
    frame.title_figure(figure, look)
    frame.fix_layout(figure)
    return figure


def _draw(axes: Axes, own: Correlations, *, named: bool, below: bool, points: float) -> None:
    size = len(own.prompts)
    values = np.array(own.values, np.float64).reshape(size, size)
    draw_cells(axes, values, Cells("RdBu_r", -MOST, MOST, points, "equal"), signed)
    axes.set_xticks(range(size), own.prompts if below else [], rotation=90)
    axes.set_yticks(range(size), own.prompts if named else [])
