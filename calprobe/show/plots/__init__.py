"""What figures are made of: panels, styles, names at points, files. The kinds of curves draw themselves with it.

matplotlib is imported when something is drawn, without pyplot: no window, no figure kept alive, no setting changed.
"""

from __future__ import annotations

from calprobe.show.plots.look import COLUMN_INCHES, DEFAULT_LOOK, PAGE_INCHES, Look
from calprobe.show.plots.saving import FIGURE_SUFFIXES, check_figure_path, save
from calprobe.show.plots.style import drawing

__all__ = [
    "COLUMN_INCHES",
    "DEFAULT_LOOK",
    "FIGURE_SUFFIXES",
    "PAGE_INCHES",
    "Look",
    "check_figure_path",
    "drawing",
    "save",
]
