"""The page's figures of the same facts in several ways as SVG: stacked bars, dumbbells."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from calprobe.analysis.curves.dumbbell_figure import FIRST, SECOND, DumbbellRow, Dumbbells
from calprobe.analysis.curves.quarters_figure import NARROW, Quarters
from calprobe.analysis.html import svg
from calprobe.analysis.html.panels import series_class

WIDTH, BAR, BAR_ROW, BAR_HEAD = 560.0, 26.0, 58.0, 20.0
PLACES = (0, 1, 2, 7)  # of the parts, in the palette
ROW, LONGEST = 19.0, 24  # of a dumbbell: height, letters of its name


def quarters(several: Sequence[Quarters]) -> Markup:
    """A bar for each, its parts with their shares in percent."""
    frame = svg.Frame(
        svg.Axis("share of the facts"),
        svg.Axis("", ticks=()),
        width=WIDTH,
        height=BAR_ROW * len(several) + svg.BOTTOM + svg.TOP,
        left=svg.RIGHT,
    )
    parts = [frame.axes()]
    for at, own in enumerate(several):
        top = svg.TOP + BAR_ROW * at
        said = f"{own.title}, {own.facts:,} facts"
        parts.append(svg.element("text", escape(said), x=frame.left, y=top + BAR_HEAD - 6, class_="note"))
        parts += _bar(frame, own, top + BAR_HEAD)
    return svg.drawing(frame, "Shares of the facts that both ways, one or neither get right, a bar a pair.", *parts)


def _bar(frame: svg.Frame, own: Quarters, top: float) -> list[Markup]:
    parts, start = [], 0.0
    for place, name, share in zip(PLACES, own.names, own.shares, strict=True):
        left, right = frame.across(start), frame.across(start + share)
        said = svg.element("title", escape(f"{name}: {share:.3f} of {own.facts:,} facts"))
        box = svg.element("rect", said, x=left, y=top, width=max(right - left - 1, 0.0), height=BAR, class_="bar")
        inside = [box]
        if share >= NARROW:
            middle = (left + right) / 2
            inside.append(
                svg.element("text", f"{100 * share:.0f}", x=middle, y=top + BAR / 2 + 4, class_="heat-text mid")
            )
        parts.append(svg.element("g", *inside, class_=series_class(place)))
        start += share
    return parts


def part_key(place: int) -> Markup:
    """The sample of a part that a legend shows."""
    box = svg.element("rect", x=6, y=0, width=14, height=12, class_="bar")
    return svg.element("svg", box, viewBox="0 0 26 12", class_=f"key {series_class(place)}", aria_hidden="true")


def dumbbells(own: Dumbbells) -> Markup:
    """Two dots for each relation, with the gap between them; thick where it is significant."""
    names = [_named(row) for row in own.rows]
    ticks = tuple(-float(place) for place in range(len(names)))
    down = svg.Axis("", 0.5 - len(names), 0.5, ticks, lambda place: names[round(-place)])
    left = svg.LETTER * max(map(len, names), default=0) + 18
    height = ROW * len(names) + svg.TOP + svg.BOTTOM
    frame = svg.Frame(svg.Axis("share of the facts"), down, width=WIDTH, height=height, left=left)
    parts = [frame.axes()]
    if math.isfinite(own.chance):
        parts.append(svg.line(frame, [(own.chance, down.low), (own.chance, down.high)], "ideal"))
    for place, row in enumerate(own.rows):
        height = -float(place)
        ends = f"M{frame.at((row.first, height))}L{frame.at((row.second, height))}"
        parts.append(svg.element("path", d=ends, class_="guide", stroke_width=4 if row.sure else 1))
        for name, share, series in ((own.first, row.first, FIRST), (own.second, row.second, SECOND)):
            said = f"{row.name}: {share:.3f} {name}, of {row.facts:,} facts"
            parts.append(
                svg.element("g", svg.mark(frame, (share, height), said, shape=series), class_=series_class(series))
            )
    return svg.drawing(frame, f"{own.title}: shares {own.first} and {own.second}, a row a relation.", *parts)


def _named(row: DumbbellRow) -> str:
    name = row.name if len(row.name) <= LONGEST else f"{row.name[: LONGEST - 2]}.."
    return f"{name} ({row.facts})"
