"""The page's figures of the same facts in several ways, each the panel that paper has, too."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from calprobe.analysis.curves.quarters_figure import PLACES, QuarterBars, Quarters
from calprobe.analysis.html import svg
from calprobe.analysis.html.asked_charts import chart
from calprobe.analysis.html.panels import drawn, series_class

__all__ = ["PLACES", "dumbbells", "part_key", "quarters"]

dumbbells = chart


def quarters(several: Sequence[Quarters]) -> Markup:
    """A bar for each, its parts with their shares in percent."""
    return drawn(QuarterBars(tuple(several)).panel)


def part_key(place: int) -> Markup:
    """The sample of a part that a legend shows."""
    box = svg.element("rect", x=6, y=0, width=14, height=12, class_="bar")
    return svg.element("svg", box, viewBox="0 0 26 12", class_=f"key {series_class(place)}", aria_hidden="true")
