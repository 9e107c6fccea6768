"""The page's figures of asked runs as SVG: dots and boxes in groups, stacked shares, matrices, size and spread."""

from __future__ import annotations

import math
from dataclasses import replace

from markupsafe import Markup, escape

from calprobe.analysis.curves.budget_figure import BudgetPanel
from calprobe.analysis.curves.grouped_boxes import GroupedBoxes
from calprobe.analysis.curves.grouped_boxes import composed as composed_boxes
from calprobe.analysis.curves.grouped_dots import GroupedDots
from calprobe.analysis.curves.grouped_dots import composed as composed_dots
from calprobe.analysis.curves.matrix_figure import Correlations, Matrix
from calprobe.analysis.curves.share_figure import SHARES, SharePanel
from calprobe.analysis.curves.size_figure import SizePanel, short_count, size_ticks
from calprobe.analysis.curves.stacked_shares import StackedShares
from calprobe.analysis.html import svg
from calprobe.analysis.html.panels import drawn, heat_map, series_class
from calprobe.analysis.number_text import number, spelled
from calprobe.analysis.plots.names import shortened

ROW = 30  # height of a bar
HEAD = 26  # height of the names above them
LEAST_WIDTH = 440  # as other figures


def grouped_dots(own: GroupedDots, label: str) -> Markup:
    """A dot for each series in each group; `label` says what the figure shows."""
    return drawn(composed_dots(own), label)


def stacked_shares(own: StackedShares) -> Markup:
    """A bar for each set or run, its parts side by side; the larger a value, the darker."""
    width, height = LEAST_WIDTH, ROW * len(own.bars) + HEAD
    frame = svg.Frame(svg.Axis("share of the confidences"), svg.Axis("", 0, 1, ()), width, height + svg.BOTTOM)
    room = min(max(map(len, own.bars), default=0) * svg.LETTER + 14, width / 3)
    frame = replace(frame, left=room, top=0)
    parts = [frame.axes()]
    for at, name in enumerate(own.bars):
        top = ROW * at + 4
        shown = shortened(name, int((room - 14) / svg.LETTER))
        parts.append(svg.element("text", shown, x=room - 8, y=top + ROW / 2 + 2, class_="tick end"))
        for start, part in own.placed(at):
            left, right = frame.across(start), frame.across(start + part.share)
            said = svg.element("title", escape(f"{name}, {part.said}"))
            shade = {"class_": "heat rest", "fill_opacity": "0.25"}
            if part.value is not None:
                shade = {"class_": "heat", "fill_opacity": f"{0.08 + 0.5 * part.shade:.2f}"}
            parts.append(svg.element("rect", said, x=left, y=top, width=right - left, height=ROW - 6, **shade))
            if len(part.name) * svg.LETTER + 4 < right - left:
                parts.append(svg.element("text", part.name, x=(left + right) / 2, y=top + 16, class_="heat-text mid"))
    return svg.drawing(frame, f"How often each value of {own.title} comes, by {own.of}.", *parts, class_="s0")


def grouped_boxes(own: GroupedBoxes) -> Markup:
    """A box between the quartiles for each series in each group, with the median in it."""
    return drawn(composed_boxes(own), f"{own.title} by {own.group}: quartiles, median and ends.")


def sizes(own: SizePanel) -> Markup:
    """The spread of each model under each reader, against its number of parameters on an axis of powers of ten."""
    ends = own.exponents
    across = svg.Axis("parameters", *ends, size_ticks(ends), lambda at: short_count(10**at))
    tops = [max(found.value, found.high) for series in own.series for found in series.spread]
    frame = svg.Frame(across, svg.Axis.around("spread", [*tops, 0.0], zero=True))
    at = [math.log10(size) for size in own.parameters]
    first = [found.value for found in own.series[0].spread]
    paths = [svg.line(frame, [(at[n], first[n]) for n in path], "ideal") for path in own.family_paths]
    names = [_name(frame, name, (x, y)) for name, x, y in zip(own.names, at, first, strict=True)]
    parts = [frame.axes(), *paths, *names]
    for series in own.series:
        drawn = []
        for name, size, x, found in zip(own.names, own.parameters, at, series.spread, strict=True):
            said = f"{name}, {size:,} parameters, {series.reader}: {spelled(found)}"
            drawn.append(svg.intervals(frame, [(x, found.low, found.high)]))
            drawn.append(svg.mark(frame, (x, found.value), said, shape=series.place))
        parts.append(svg.element("g", *drawn, class_=series_class(series.place)))
    return svg.drawing(frame, f"Parameters and spread on {own.title}, by reader of answers.", *parts)


def budget(own: BudgetPanel) -> Markup:
    """The AUROC of each measure under each plan."""
    count = len(own.plans)
    ticks = tuple(float(at) for at in range(count))
    across = svg.Axis("wordings and samples of each", -0.4, count - 0.6, ticks, lambda at: own.plans[round(at)])
    ends = [end for row in own.values for found in row if found for end in (found.value, found.low, found.high)]
    frame = svg.Frame(across, svg.Axis.around(f"AUROC, {own.reading}", ends))
    parts = [frame.axes()]
    for at, name in enumerate(own.measures):
        points = own.line(at)
        drawn = [svg.line(frame, [(x, found.value) for x, _, found in points])]
        drawn.append(svg.intervals(frame, [(x, found.low, found.high) for x, _, found in points]))
        drawn += [
            svg.mark(frame, (x, found.value), f"{name}, {plan}: {spelled(found)}", shape=own.places[at])
            for x, plan, found in points
        ]
        parts.append(svg.element("g", *drawn, class_=series_class(own.places[at])))
    return svg.drawing(frame, f"AUROC of each uncertainty by plan, {own.title}.", *parts)


def share(own: SharePanel) -> Markup:
    """The share of the wording by number of samples, with lines at the exact shares."""
    ticks = tuple(math.log2(n) for n in own.samples)
    known = {field: own.points(field) for field in SHARES}
    ends = [end for points in known.values() for _, _, mean, spread in points for end in (mean - spread, mean + spread)]
    ends = [end for end in ends if math.isfinite(end)] + list(own.exact.values())
    across = svg.Axis(own.across, ticks[0] - 0.2, ticks[-1] + 0.2, ticks, lambda at: f"{round(2**at)}")
    frame = svg.Frame(across, svg.Axis.around("share of the variance", ends, zero=True))
    parts = [frame.axes()]
    for place, (field, name) in enumerate(SHARES.items()):
        points = known[field]
        drawn = [svg.line(frame, [(x, mean) for x, _, mean, _ in points])]
        drawn.append(svg.intervals(frame, [(x, mean - spread, mean + spread) for x, _, mean, spread in points]))
        drawn += [
            svg.mark(frame, (x, mean), f"{name}, {n} samples: {number(mean)}", shape=place) for x, n, mean, _ in points
        ]
        if field in own.exact and field != "by_chance":
            value = own.exact[field]
            drawn.append(svg.line(frame, [(across.low, value), (across.high, value)], "exact"))
        parts.append(svg.element("g", *drawn, class_=series_class(place)))
    return svg.drawing(frame, f"Share of the wording by number of samples, {own.title}.", *parts)


def _name(frame: svg.Frame, name: str, point: svg.Point) -> Markup:
    """A name above its point, on the side where the figure has more room."""
    if not math.isfinite(point[1]):
        return Markup("")
    side = "end" if frame.x.share(point[0]) > 0.5 else "start"
    gap = -6 if side == "end" else 6
    place = {"x": frame.across(point[0]) + gap, "y": frame.down(point[1]) - 6}
    return svg.element("text", escape(name), class_=f"tick {side}", **place)


def matrix(own: Matrix) -> Markup:
    """A cell for each variant and set, the darker the nearer to 1, with its number."""
    return heat_map(own.cells, f"{own.title}, variants by sets.")


def correlations(own: Correlations) -> Markup:
    """A cell for each two prompts, the darker the farther from 0, of another colour below 0; columns by number."""
    return heat_map(own.cells, f"{own.of}.")
