"""A heat map: variants by sets, a number in each cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calprobe.analysis.plots import frame
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from calprobe.arrays import Floats

CELL_INCHES, TITLE_INCHES = 0.3, 0.75  # heights
LEAST_INCHES = 2.0  # width
PALE = 0.6  # of the colour scale: black numbers stay readable on it


@dataclass(frozen=True, slots=True)
class Matrix:
    """A number of each variant and set, a share of 1."""

    name: str  # the metric's, as tidy files have it
    title: str
    variants: tuple[str, ...]
    sets: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]  # [variants][sets], in [0, 1]; NaN where there is none


def draw_matrices(several: Sequence[Matrix], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each matrix; the darker, the nearer to 1."""
    columns = frame.fold(max(len(several), 1), look.width, LEAST_INCHES)
    rows = -(-max(len(several), 1) // columns)
    height = CELL_INCHES * max((len(own.variants) for own in several), default=1) + TITLE_INCHES
    figure = frame.blank_figure(look.width, height * rows)
    panels = frame.panel_grid(figure, max(len(several), 1), columns)
    for at, (axes, own) in enumerate(zip(panels, several, strict=False)):
        _draw(axes, own, named=at % columns == 0)
        frame.title_panel(axes, own.title)
    frame.title_figure(figure, look)
    frame.fix_layout(figure)
    return figure


def _draw(axes: Axes, own: Matrix, *, named: bool) -> None:
    values: Floats = np.array(own.values, np.float64).reshape(len(own.variants), len(own.sets))
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1 / PALE, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        text = f"{value:.3f}" if math.isfinite(value) else "–"
        axes.text(column, row, text, ha="center", va="center", fontsize=7)
    axes.set_xticks(range(len(own.sets)), own.sets)
    axes.set_yticks(range(len(own.variants)), own.variants if named else [])
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
