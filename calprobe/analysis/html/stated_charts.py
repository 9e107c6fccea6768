"""The page's figure of correlations of prompts as SVG."""

from __future__ import annotations

import math

from markupsafe import Markup

from calprobe.analysis.curves.correlation_figure import Correlations
from calprobe.analysis.html import svg

SIDE, NAMES = 40, 150  # sizes of a matrix: of its cells, and of the names at its left
HEAD = 26  # height of the numbers above it


def correlations(own: Correlations) -> Markup:
    """A cell for each two prompts, the darker the farther from 0, of another colour below 0; columns by number."""
    size = len(own.prompts)
    parts = [
        svg.element("text", f"{at + 1}", x=NAMES + SIDE * (at + 0.5), y=HEAD - 9, class_="tick mid")
        for at in range(size)
    ]
    for row, (prompt, values) in enumerate(zip(own.prompts, own.values, strict=True)):
        top = HEAD + SIDE * row
        name = f"{prompt} {row + 1}" if own.numbered else prompt
        parts.append(svg.element("text", name, x=NAMES - 8, y=top + SIDE / 2 + 4, class_="tick end"))
        for column, value in enumerate(values):
            parts += _cell(value, NAMES + SIDE * column, top, f"{prompt}, {own.prompts[column]}")
    width, height = NAMES + SIDE * size, HEAD + SIDE * size
    label = f"{own.of}."
    return svg.element("svg", *parts, viewBox=f"0 0 {width} {height}", role="img", aria_label=label)


def _cell(value: float, left: float, top: float, of: str) -> tuple[Markup, Markup]:
    known = math.isfinite(value)
    text = f"{value:.2f}".replace("0.", ".", 1) if known else "–"
    shade = f"{0.6 * abs(value):.2f}" if known else "0"
    cell = svg.element(
        "rect",
        svg.element("title", f"{of}: {text}"),
        x=left + 1,
        y=top + 1,
        width=SIDE - 2,
        height=SIDE - 2,
        class_="heat below" if known and value < 0 else "heat",
        fill_opacity=shade,
    )
    number = svg.element("text", text, x=left + SIDE / 2, y=top + SIDE / 2 + 4, class_="heat-text mid small")
    return cell, number
