"""The page's figures of asked runs, each the panel that paper has, too."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from calprobe.analysis.curves.grouped_dots import GroupedDots
from calprobe.analysis.html.panels import drawn
from calprobe.analysis.marks import Drawable


def chart(own: Drawable) -> Markup:
    """Any kind."""
    return drawn(own.panel)


def grouped_dots(own: GroupedDots, label: str) -> Markup:
    """A dot for each series in each group; `label` says what the figure shows."""
    return drawn(replace(own.panel, label=label))


stacked_shares = grouped_boxes = sizes = budget = share = matrix = correlations = chart
