"""The page's figures of the same facts in several ways, each of the composition that paper has, too."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from calprobe.analysis.curves import dumbbell_figure, quarters_figure
from calprobe.analysis.curves.quarters_figure import PLACES
from calprobe.analysis.html import svg
from calprobe.analysis.html.panels import drawn, series_class

__all__ = ["PLACES", "dumbbells", "part_key", "quarters"]


def quarters(several: Sequence[quarters_figure.Quarters]) -> Markup:
    """A bar for each, its parts with their shares in percent."""
    label = "Shares of the facts that both ways, one or neither get right, a bar a pair."
    return drawn(quarters_figure.composed(several), label)


def part_key(place: int) -> Markup:
    """The sample of a part that a legend shows."""
    box = svg.element("rect", x=6, y=0, width=14, height=12, class_="bar")
    return svg.element("svg", box, viewBox="0 0 26 12", class_=f"key {series_class(place)}", aria_hidden="true")


def dumbbells(own: dumbbell_figure.Dumbbells) -> Markup:
    """Two dots for each relation, with the gap between them; thick where it is significant."""
    label = f"{own.title}: shares {own.first} and {own.second}, a row a relation."
    return drawn(dumbbell_figure.composed(own), label)
