"""Figures of the curves: `plot` draws a frozen result, `save` writes it. Nothing is computed here.

The only package that imports matplotlib, without pyplot: no window, no figure kept alive, no setting changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from calprobe.analysis.curves.results import (
    AccuracyAce,
    AccuracyRejection,
    Calibration,
    Curves,
    Exposure,
    Markers,
    Options,
)
from calprobe.analysis.plots.accuracy_ace import draw_accuracy_ace
from calprobe.analysis.plots.accuracy_rejection import draw_accuracy_rejection
from calprobe.analysis.plots.calibration import draw_calibration
from calprobe.analysis.plots.exposure import draw_exposure
from calprobe.analysis.plots.markers import draw_markers
from calprobe.analysis.plots.options import draw_options
from calprobe.analysis.plots.saving import FIGURE_SUFFIXES, check_figure_path, save
from calprobe.analysis.plots.style import COLUMN_INCHES, PAGE_INCHES, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLUMN_INCHES", "FIGURE_SUFFIXES", "PAGE_INCHES", "check_figure_path", "plot", "save"]

_DRAW: Mapping[type[Curves], Callable[[Any, float], Figure]] = {
    AccuracyAce: draw_accuracy_ace,
    AccuracyRejection: draw_accuracy_rejection,
    Calibration: draw_calibration,
    Exposure: draw_exposure,
    Markers: draw_markers,
    Options: draw_options,
}


def plot(result: Curves, width: float = PAGE_INCHES) -> Figure:
    """Draw any of the six kinds of curves.

    What is NaN leaves a gap. More than eight series go on in further panels, or take the same styles again.

    Args:
        result: as `calprobe.analysis.curves` computes it.
        width: of the figure, inches; COLUMN_INCHES and PAGE_INCHES are those of a paper in two columns. The height
            follows from the number of panels.
    Returns:
        A figure that no pyplot knows, laid out; write it with `save`.

    >>> figure = plot(AccuracyRejection((), ()), COLUMN_INCHES)
    >>> len(figure.axes)
    2
    """
    with drawing():
        return _DRAW[type(result)](result, width)
