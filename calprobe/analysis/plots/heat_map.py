"""A heat map: cells with a colour and a number each, which stays readable on the colour."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from calprobe.analysis.plots.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calprobe.arrays import Floats


@dataclass(frozen=True, slots=True)
class Cells:
    """How the cells of a heat map are drawn.

    The colours go on beyond the values that cells have: ink has a contrast of 4.5 to 1 with the darkest one that is
    used.
    """

    colours: str  # a colour map of matplotlib
    low: float  # value of its first colour
    high: float
    points: float  # size of the numbers
    aspect: Literal["auto", "equal"] = "auto"


def draw_cells(
    axes: Axes, values: Floats, how: Cells, spelled: Callable[[float], str], bold: npt.NDArray[np.bool_] | None = None
) -> None:
    """Values [rows, columns], each as `spelled` writes it; NaN has no colour. Without grid and frame."""
    axes.imshow(values, cmap=how.colours, vmin=how.low, vmax=how.high, aspect=how.aspect)
    for (row, column), value in np.ndenumerate(values):
        weight = "bold" if bold is not None and bold[row, column] else "normal"
        text = spelled(float(value))
        axes.text(column, row, text, ha="center", va="center", color=INK, fontsize=how.points, fontweight=weight)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def signed(value: float) -> str:
    """Of a number in [-1, 1] three characters and its sign, a dash for NaN.

    >>> signed(1.0), signed(-0.25), signed(float("nan"))
    ('1.0', '−.25', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:z.2f}".replace("0.", ".", 1).replace("-", "−").replace("1.00", "1.0")
