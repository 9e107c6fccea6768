"""Heat maps: cells with a colour and a number each, which stays readable on the colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calprobe.show.marks import Cells
from calprobe.show.plots import frame
from calprobe.show.plots.look import Look
from calprobe.show.plots.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from calprobe.arrays import Floats

CELL_INCHES, TITLE_INCHES = 0.3, 0.75  # heights: of a row, and of a title with the names below
LEAST_INCHES, NUMBER_INCHES = 2.0, 0.35  # width of a panel, and of a number in it
SQUARE_INCHES, LARGEST_INCHES, LEFT_INCHES = 2.6, 4.2, 1.0  # of a square: its sides, and its names at least
SQUARE_TITLE_INCHES = 0.5
POINTS, NUMBER = 6.5, 2.8  # size of a square's numbers at most; width of one with its gap, in their size


@dataclass(frozen=True, slots=True)
class Shades:
    """How the cells of a heat map are drawn.

    The colours go on beyond the values that cells have: ink has a contrast of 4.5 to 1 with the darkest one that is
    used.
    """

    colours: str  # a colour map of matplotlib
    low: float  # value of its first colour
    high: float
    points: float  # size of the numbers


SHARES = Shades("Blues", 0, 1.7, 7)


@dataclass(frozen=True, slots=True)
class _Layout:
    columns: int  # how many panels stand side by side
    height: float  # of the figure, inches
    upright: bool  # whether names below are: side by side they would cover each other
    side: float  # width of a cell, inches

    @classmethod
    def of(cls, several: Sequence[Cells], look: Look) -> _Layout:
        across, down = max(len(cells.columns) for cells in several), max(len(cells.rows) for cells in several)
        left = _inches([name for cells in several for name in cells.rows])
        below = _inches([name for cells in several for name in cells.columns])
        square = several[0].square
        if square:
            left = below = max(LEFT_INCHES, left + 2 * frame.LETTER / frame.POINTS_PER_INCH)
        least = SQUARE_INCHES if square else max(LEAST_INCHES, NUMBER_INCHES * across)
        columns = frame.fold(len(several), look.width - left + frame.LABELS_INCHES, least)
        rows, side = -(-len(several) // columns), (look.width - left) / columns / max(across, 1)
        if square:
            side = min(side, LARGEST_INCHES / max(across, 1))
            return cls(columns, (side * down + SQUARE_TITLE_INCHES) * rows + below, True, side)
        upright = below > side
        return cls(columns, (CELL_INCHES * down + TITLE_INCHES + upright * below) * rows, upright, side)

    @property
    def shades(self) -> Shades:
        return Shades("RdBu_r", -1.9, 1.9, min(POINTS, self.side * frame.POINTS_PER_INCH / NUMBER))


def draw_heat_maps(several: Sequence[Cells], look: Look) -> Figure:
    """A panel for each; of squares, all of one kind, the lowest alone have names below."""
    layout = _Layout.of(several, look)
    figure = frame.blank_figure(look.width, layout.height)
    panels = frame.panel_grid(figure, len(several), layout.columns)
    for at, (axes, cells) in enumerate(zip(panels, several, strict=True)):
        values = np.array(cells.values, np.float64).reshape(len(cells.rows), len(cells.columns))
        draw_cells(axes, values, layout.shades if cells.square else SHARES, cells.spelled)
        axes.set_aspect("equal" if cells.square else "auto")
        if cells.square and at + layout.columns < len(several):
            axes.set_xticks([])
        else:
            axes.set_xticks(range(len(cells.columns)), cells.columns, rotation=90 if layout.upright else 0)
        axes.set_yticks(range(len(cells.rows)), cells.rows if at % layout.columns == 0 else [])
        frame.title_panel(axes, cells.title)
    frame.title_figure(figure, look)
    frame.fix_layout(figure)
    return figure


def _inches(names: Sequence[str]) -> float:
    """What the longest name takes."""
    return (max(map(len, names), default=0) + 2) * frame.LETTER / frame.POINTS_PER_INCH


def draw_cells(
    axes: Axes, values: Floats, how: Shades, spelled: Callable[[float], str], bold: npt.NDArray[np.bool_] | None = None
) -> None:
    """Values [rows, columns], each as `spelled` writes it; NaN has no colour. Without grid and frame."""
    axes.imshow(values, cmap=how.colours, vmin=how.low, vmax=how.high, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        weight = "bold" if bold is not None and bold[row, column] else "normal"
        text = spelled(float(value))
        axes.text(column, row, text, ha="center", va="center", color=INK, fontsize=how.points, fontweight=weight)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
