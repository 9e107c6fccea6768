"""Panels of marks on a page: SVG of what `calprobe.show.marks` describes, series by the classes `s0` .. `s7`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from markupsafe import Markup, escape

from calprobe.show.html import svg
from calprobe.show.html.name_places import CLEAR, Box, NamePlaces
from calprobe.show.marks import (
    Boxes,
    Cells,
    Histogram,
    Line,
    Mark,
    Panel,
    Points,
    Role,
    Scale,
    Texts,
    Tiles,
    heights,
    widths,
)
from calprobe.show.palette import MAX_SERIES
from calprobe.show.plots.names import shortened

WIDTH, GROUP = 440.0, 90.0  # of a figure, and of a group in it
ROW_INCH, LONGEST, LEAST = 115.0, 30, 300  # of rows: an inch on paper, letters of a name, width beside it
NAME_LETTER = 6.9  # width of a letter of a name
STRIP, STRIP_GAP = 62, 14  # height of a strip, and what stands between it and its panel
ROW, COLUMN, NAMES, SIDE = 30, 96, 150, 40  # of a heat map: its cells, the names at its left, the cells of a square
HEAD = 26  # height of the names above it
_CLASSES: Mapping[Role, str] = {
    "series": "", "exact": "exact", "reference": "ideal", "smooth": "thin ideal", "family": "ideal"
}  # fmt: skip
_GUIDES: Mapping[Role, int] = {"gap": 1, "sure": 4, "stem": 5}  # width of lines that lead from one place to another


def series_class(place: int) -> str:
    """The class that gives a series its colour and dash, and by which it is hidden."""
    return f"s{place % MAX_SERIES}"


def drawn(panel: Panel | Cells) -> Markup:
    """A panel with its strip, if it has one, or a heat map."""
    if isinstance(panel, Cells):
        return _heat_map(panel)
    frame = _frame(panel)
    below = _strip(frame, panel.strip) if panel.strip is not None else frame
    places = _name_places(frame, panel)
    elements = [frame.axes(), *([] if panel.strip is None else [below.axes()])]
    elements += [element for mark in panel.marks for element in _mark(frame, mark, 0)]
    elements += [element for mark in panel.marks for element in _names(frame, mark, places)]
    elements += [element for mark in (panel.strip.marks if panel.strip else ()) for element in _mark(below, mark, 0)]
    strips = () if panel.strip is None else panel.strip.series
    for series, strip in zip_longest(panel.series, strips):
        inside = [element for mark in series.marks for element in _mark(frame, mark, series.place)]
        inside += [element for mark in (strip.marks if strip else ()) for element in _mark(below, mark, series.place)]
        inside += [element for mark in series.marks for element in _names(frame, mark, places)]
        elements.append(svg.element("g", *inside, class_=series_class(series.place)))
    crowd = len(strips) > 1
    return svg.drawing(frame, panel.label, *elements, class_="crowd" if crowd else None)


def _frame(panel: Panel) -> svg.Frame:
    across, upward = _axis(panel.x, widths(panel)), _axis(panel.y, heights(panel))
    if panel.strip is not None:
        bare = replace(across, title="", label=lambda _: "")
        return svg.Frame(bare, upward, WIDTH, 320 + STRIP, bottom=svg.BOTTOM + STRIP + STRIP_GAP)
    if panel.y.kind == "names":
        left = _room(_shown(panel.y)) + 18
        texts = [text for mark in panel.every if isinstance(mark, Texts) for text in mark.texts]
        width = max(WIDTH, left + LEAST, left + _room(texts))
        height = svg.TOP + svg.BOTTOM + ROW_INCH * panel.y.row * len(panel.y.names)
        return svg.Frame(across, upward, width, height, left=left)
    frame = svg.Frame(across, upward, max(WIDTH, GROUP * len(panel.x.names) * (panel.x.kind == "names")))
    return frame.with_lines(max(map(len, panel.x.lines), default=1) if panel.x.kind == "names" else 1)


def _room(names: Sequence[str]) -> float:
    """What the longest takes, on a phone, too, where letters are larger."""
    return NAME_LETTER * max(map(len, names), default=0)


def _strip(frame: svg.Frame, strip: Panel) -> svg.Frame:
    most = max(heights(strip), default=1.0) or 1.0
    upward = svg.Axis(strip.y.title, 0, most, (0.0, most), ("{:,.0f}" if most >= 10 else "{:.2g}").format)
    return replace(
        frame, x=_axis(strip.x, ()), y=upward, top=frame.height - svg.BOTTOM - STRIP, bottom=svg.BOTTOM
    )  # fmt: skip


def _axis(scale: Scale, values: Iterable[float]) -> svg.Axis:
    if scale.kind == "share":
        return svg.Axis(scale.title)
    if scale.ticks is None or scale.ends is None:
        return svg.Axis.around(scale.title, values, zero=scale.kind == "zero")
    texts = dict(zip((at for at, _ in scale.ticks), _shown(scale), strict=True))
    return svg.Axis(scale.title, *scale.ends, tuple(texts), lambda at: texts[at], scale.grid)


def _shown(scale: Scale) -> list[str]:
    """The labels of ticks as they are written: in lines below groups, short beside rows."""
    if scale.row:
        return [shortened(name, LONGEST) for name in scale.names]
    return ["\n".join(lines) for lines in scale.lines] if scale.kind == "names" else list(scale.names)


def _mark(frame: svg.Frame, mark: Mark, place: int) -> Iterator[Markup]:
    match mark:
        case Points():
            value, low, high = mark.ends
            points = list(zip(mark.x, value, strict=True))
            if mark.joined:
                yield svg.line(frame, points)
            yield svg.intervals(frame, zip(mark.x, low, high, strict=True))
            yield from (svg.mark(frame, at, tip, place) for at, tip in zip(points, mark.tips, strict=True))
        case Line() if mark.role in _GUIDES:
            path = svg.path(frame, list(zip(mark.x, mark.y, strict=True)))
            yield svg.element("path", d=path, class_="guide", stroke_width=_GUIDES[mark.role])
        case Line():
            x, y = (mark.x, mark.y) if mark.x else ((frame.x.low, frame.x.high), mark.y * 2)
            yield svg.line(frame, list(zip(x, y, strict=True)), _CLASSES[mark.role])
        case Histogram():
            bins = zip(mark.edges[:-1], mark.edges[1:], mark.heights, mark.tips, strict=True)
            yield from (svg.bar(frame, *bar) for bar in bins if bar[2])
        case Boxes():
            yield from _boxes(frame, mark)
        case Tiles():
            yield from _tiles(frame, mark)
        case Texts():
            yield from _texts(frame, mark)


def _boxes(frame: svg.Frame, mark: Boxes) -> Iterator[Markup]:
    half = mark.width / 2
    for x, box, tip in zip(mark.x, mark.boxes, mark.tips, strict=True):
        yield svg.intervals(frame, ((x, box.least, box.quartile_1), (x, box.quartile_3, box.most)))
        yield svg.box(frame, (x - half, x + half), (box.quartile_1, box.quartile_3), tip)
        yield svg.line(frame, [(x - half, box.median), (x + half, box.median)])


def _tiles(frame: svg.Frame, mark: Tiles) -> Iterator[Markup]:
    shades: Sequence[float | None] = mark.shades or [None] * len(mark.rows)
    tiles = zip(mark.rows, mark.starts, mark.widths, mark.texts, mark.tips, shades, strict=True)
    for row, start, share, text, tip, shade in tiles:
        left, right, top, foot = *map(frame.across, (start, start + share)), *map(frame.down, _ends(row, mark.thick))
        look: dict[str, str] = {"class_": "bar" if mark.shades is None else "heat rest"}
        if mark.shades is not None:
            look["fill_opacity"] = "0.25"
        if shade is not None:
            look = {"class_": "heat", "fill_opacity": f"{0.08 + 0.5 * shade:.2f}"}
        title = svg.element("title", escape(tip))
        width = max(right - left - 1, 0.0)
        yield svg.element("rect", title, x=left, y=top, width=width, height=foot - top, **look)
        if len(text) * svg.LETTER + 4 < width:
            middle = {"x": (left + right) / 2, "y": (top + foot) / 2 + 4}
            yield svg.element("text", escape(text), class_="heat-text mid", **middle)


def _ends(row: float, thick: float) -> tuple[float, float]:
    return row - thick / 2, row + thick / 2


def _texts(frame: svg.Frame, mark: Texts) -> Iterator[Markup]:
    """Texts from their place on."""
    for x, y, text in zip(mark.x, mark.y, mark.texts, strict=True) if mark.fixed else ():
        if math.isfinite(y):
            yield svg.element("text", escape(text), x=frame.across(x), y=frame.down(y), class_="note")


def _names(frame: svg.Frame, mark: Mark, places: NamePlaces) -> Iterator[Markup]:
    """Names of points beside them; one that finds no place is left out, and the point says it."""
    if not isinstance(mark, Texts) or mark.fixed:
        return
    for x, y, text in zip(mark.x, mark.y, mark.texts, strict=True):
        name = places.place(frame.across(x), frame.down(y), text) if math.isfinite(y) else None
        if name is None:
            continue
        if name.leader is not None:
            start, end = (f"{at[0]:.1f} {at[1]:.1f}" for at in ((frame.across(x), frame.down(y)), name.leader))
            yield svg.element("path", d=f"M{start}L{end}", class_="guide")
        yield svg.element("text", escape(text), x=name.x, y=name.base, class_=f"tick {name.anchor}")


def _name_places(frame: svg.Frame, panel: Panel) -> NamePlaces:
    """The places for names that points and intervals leave."""
    points, lines = [], []
    for mark in panel.every:
        if isinstance(mark, Points):
            for x, estimate in zip(mark.x, mark.values, strict=True):
                at, value, low, high = frame.across(x), *map(frame.down, (estimate.value, estimate.low, estimate.high))
                points.append(Box(at - CLEAR, value - CLEAR, at + CLEAR, value + CLEAR))
                lines.append(Box(at - 1, high, at + 1, low))
    inside = Box(frame.left, frame.top, frame.width - svg.RIGHT, frame.height - frame.bottom)
    return NamePlaces(inside, points, lines)


def _heat_map(cells: Cells) -> Markup:
    """A cell for each number; above a square, numbers stand for the names of its rows."""
    names = [f"{name} {at}" if cells.numbered else name for at, name in enumerate(cells.rows, 1)]
    left = max(NAMES, _room(names) + 14)
    # No wider letters than in other figures.
    column = SIDE if cells.square else max(COLUMN, (WIDTH - NAMES) / max(len(cells.columns), 1))
    row = SIDE if cells.square else ROW
    heads = [str(at) for at in range(1, len(cells.columns) + 1)] if cells.square else cells.columns
    elements = [
        svg.element("text", head, x=left + column * (at + 0.5), y=HEAD - 9, class_="tick mid")
        for at, head in enumerate(heads)
    ]
    for at, (name, values) in enumerate(zip(cells.rows, cells.values, strict=True)):
        top = HEAD + row * at
        elements.append(svg.element("text", names[at], x=left - 8, y=top + row / 2 + 4, class_="tick end"))
        for place, value in enumerate(values):
            tip = f"{name}, {cells.columns[place]}: {cells.spelled(value)}"
            elements += _cell(cells, value, (left + column * place, top, column, row), tip)
    size = f"0 0 {left + column * len(cells.columns)} {HEAD + row * len(cells.rows)}"
    return svg.element("svg", *elements, viewBox=size, role="img", aria_label=cells.label)


def _cell(cells: Cells, value: float, place: Sequence[float], tip: str) -> tuple[Markup, Markup]:
    left, top, width, height = place
    shade = min(abs(value), 1.0) * (0.6 if cells.square else 0.55) if math.isfinite(value) else 0.0
    below = " below" if value < 0 else ""
    return (
        svg.element(
            "rect", svg.element("title", escape(tip)), x=left + 1, y=top + 1, width=width - 2, height=height - 2,
            class_=f"heat{below}", fill_opacity=f"{shade:.2f}",
        ),
        svg.element(
            "text", cells.spelled(value), x=left + width / 2, y=top + height / 2 + 4,
            class_="heat-text mid small" if cells.square else "heat-text mid",
        ),
    )  # fmt: skip
