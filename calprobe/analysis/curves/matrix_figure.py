"""A heat map: variants by sets, a number in each cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calprobe.analysis.plots import frame
from calprobe.analysis.plots.heat_map import Cells, draw_cells
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from calprobe.arrays import Floats

CELL_INCHES, TITLE_INCHES = 0.3, 0.75  # heights
LEAST_INCHES, NUMBER_INCHES = 2.0, 0.35  # width of a panel, and of a number in it
SHARES = Cells("Blues", 0, 1.7, points=7)


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
    names, sets = [name for own in several for name in own.variants], [name for own in several for name in own.sets]
    across = max((len(own.sets) for own in several), default=1)
    room = look.width - _inches(names)
    columns = frame.fold(max(len(several), 1), room + frame.LABELS_INCHES, max(LEAST_INCHES, NUMBER_INCHES * across))
    upright = _inches(sets) > room / columns / across  # names of sets that stand side by side would cover each other
    rows = -(-max(len(several), 1) // columns)
    height = CELL_INCHES * max((len(own.variants) for own in several), default=1) + TITLE_INCHES
    figure = frame.blank_figure(look.width, (height + upright * _inches(sets)) * rows)
    panels = frame.panel_grid(figure, max(len(several), 1), columns)
    for at, (axes, own) in enumerate(zip(panels, several, strict=False)):
        _draw(axes, own, named=at % columns == 0, upright=upright)
        frame.title_panel(axes, own.title)
    frame.title_figure(figure, look)
    frame.fix_layout(figure)
    return figure


def _inches(names: Sequence[str]) -> float:
    """What the longest name takes."""
    return (max(map(len, names), default=0) + 2) * frame.LETTER / frame.POINTS_PER_INCH


def _draw(axes: Axes, own: Matrix, *, named: bool, upright: bool) -> None:
    values: Floats = np.array(own.values, np.float64).reshape(len(own.variants), len(own.sets))
    draw_cells(axes, values, SHARES, lambda value: f"{value:.3f}" if math.isfinite(value) else "–")
    axes.set_xticks(range(len(own.sets)), own.sets, rotation=90 if upright else 0)
    axes.set_yticks(range(len(own.variants)), own.variants if named else [])
