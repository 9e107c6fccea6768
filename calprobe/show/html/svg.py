"""Figures as inline SVG: a frame with two axes, and lines, bands, bars and points in it.

Nothing here knows what is drawn. Colours come from classes (`s0`, `s1`, .. for series), so that a style sheet can make
them light or dark; what a point stands for is its `<title>`, which a browser shows without any script.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup, escape

Point = tuple[float, float]  # in the units of the axes

LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 44  # margins of the plotted area: room for tick labels and titles
RADIUS = 3.4
LETTER = 5.6  # about as wide as a letter of a tick label is
LINE = 13.0  # the distance of two lines of such a label
FLAG = 15.0  # the distance of two names above a figure
# Shapes of points, so that series differ in more than colour: circle, square, triangle, diamond, cross, plus.
SHAPES = (
    "",  # an element of its own
    "m-{r}-{r}h{d}v{d}h-{d}z",
    "m0-{r}l{r} {d}h-{d}z",
    "m0-{w}l{w} {w}l-{w} {w}l-{w}-{w}z",
    "m-{r}-{r}l{d} {d}m0-{d}l-{d} {d}",
    "m-{w} 0h{W}m-{w}-{w}v{W}",
)


def element(tag: str, *children: str, **attributes: str | float | None) -> Markup:
    """An element; text and values are escaped, None leaves an attribute out, `class_` is class, `_` a hyphen.

    >>> element("text", "a < b", class_="tick", x=1.50)
    Markup('<text class="tick" x="1.5">a &lt; b</text>')
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(children)
    form = Markup("<{0}{1}>{2}</{0}>") if inside else Markup("<{0}{1}/>")
    return form.format(Markup(tag), Markup(named), inside)


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: its title, its ends, and where its labels stand."""

    title: str
    low: float = 0.0
    high: float = 1.0
    ticks: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    label: Callable[[float], str] = "{:g}".format
    grid: bool = True  # whether there is a thin line at each tick

    @classmethod
    def around(cls, title: str, values: Iterable[float], *, zero: bool = False) -> Axis:
        """An axis that holds the finite values, with three to seven round ticks; [0, 1] without any.

        >>> Axis.around("accuracy", [0.12, 0.31]).ticks
        (0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
        """
        finite = [value for value in values if math.isfinite(value)]
        if not finite:
            return cls(title)
        low, high = min(finite), max(finite)
        low = min(low, 0.0) if zero else low
        step = _round_step((high - low) or abs(high) or 1.0)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        last = max(last, first + 1)
        ticks = tuple(round(place * step, 10) for place in range(first, last + 1))
        return cls(title, ticks[0], ticks[-1], ticks)

    def share(self, value: float) -> float:
        """Where a value lies between the ends: 0 to 1."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Frame:
    """The plotted area of a figure."""

    x: Axis
    y: Axis
    width: float = 440
    height: float = 330
    top: float = TOP
    bottom: float = BOTTOM
    left: float = LEFT

    def across(self, value: float) -> float:
        """The distance from the figure's left edge."""
        return self.left + self.x.share(value) * (self.width - self.left - RIGHT)

    def down(self, value: float) -> float:
        """The distance from the figure's top edge."""
        return self.height - self.bottom - self.y.share(value) * (self.height - self.top - self.bottom)

    def at(self, point: Point) -> str:
        """A point as SVG writes it in a path."""
        return f"{_plain(self.across(point[0]))} {_plain(self.down(point[1]))}"

    def with_lines(self, count: int) -> Frame:
        """The frame with room for labels of so many lines below it."""
        more = (count - 1) * LINE
        return replace(self, height=self.height + more, bottom=self.bottom + more)

    def axes(self) -> Markup:
        """Grid lines, tick labels and titles."""
        room = (self.width - self.left - RIGHT) / max(len(self.x.ticks), 1)
        labels = [self.x.label(tick).split("\n") for tick in self.x.ticks]
        long = max((len(line) for lines in labels for line in lines), default=0) * LETTER > room
        left, right = self.left, self.width - RIGHT
        low, high = self.height - self.bottom, self.top
        elements = []
        for tick, lines in zip(self.x.ticks, labels, strict=True):
            place = self.across(tick)
            elements.append(element("path", d=f"M{_plain(place)} {_plain(low)}V{_plain(high)}", class_="grid"))
            for row, text in enumerate(lines):
                at = low + 17 + row * LINE
                elements.append(element("text", text, x=place, y=at, class_=f"tick mid{' small' if long else ''}"))
        for tick in self.y.ticks:
            place = self.down(tick)
            if self.y.grid:
                elements.append(element("path", d=f"M{_plain(left)} {_plain(place)}H{_plain(right)}", class_="grid"))
            elements.append(element("text", self.y.label(tick), x=left - 7, y=place + 4, class_="tick end"))
        elements.append(
            element("text", self.x.title, x=(left + right) / 2, y=self.height - 6, class_="title mid"),
        )
        middle = (low + high) / 2
        turned = f"translate(13 {_plain(middle)}) rotate(-90)"
        elements.append(element("text", self.y.title, transform=turned, class_="title mid"))
        return element("g", *elements, class_="axes", aria_hidden="true")


def drawing(frame: Frame, label: str, *parts: Markup, class_: str | None = None) -> Markup:
    """The figure; `label` says in a sentence what it shows, for those who do not see it."""
    size = f"0 0 {_plain(frame.width)} {_plain(frame.height)}"
    return element("svg", *parts, viewBox=size, role="img", aria_label=label, class_=class_)


def line(frame: Frame, points: Sequence[Point], class_: str = "") -> Markup:
    """A line through the points; it breaks where a coordinate is NaN."""
    drawn = path(frame, points)
    return element("path", d=drawn, class_=f"line {class_}".strip()) if drawn else Markup("")


def path(frame: Frame, points: Sequence[Point]) -> str:
    """What draws such a line."""
    return " ".join("M" + "L".join(map(frame.at, stretch)) for stretch in _whole_parts(points) if len(stretch) > 1)


def band(frame: Frame, lower: Sequence[Point], upper: Sequence[Point]) -> Markup:
    """The area between two lines over the same places; places where either is NaN are left out."""
    complete = [
        (below, above) for below, above in zip(lower, upper, strict=True) if all(map(math.isfinite, (*below, *above)))
    ]
    if len(complete) < 2:
        return Markup("")
    around = [*(above for _, above in complete), *(below for below, _ in reversed(complete))]
    return element("path", d="M" + "L".join(map(frame.at, around)) + "z", class_="band")


def intervals(frame: Frame, ends: Iterable[tuple[float, float, float]]) -> Markup:
    """Vertical intervals, each (place, low, high); none where an end is NaN."""
    drawn = (f"M{frame.at((x, low))}V{_plain(frame.down(high))}" for x, low, high in ends if _finite(x, low, high))
    return element("path", d="".join(drawn), class_="interval")


def spread(frame: Frame, height: float, low: float, high: float) -> Markup:
    """A horizontal interval; nothing where an end is NaN."""
    if not _finite(height, low, high):
        return Markup("")
    return element("path", d=f"M{frame.at((low, height))}H{_plain(frame.across(high))}", class_="interval")


def flags(frame: Frame, points: Sequence[Point], texts: Sequence[str]) -> Markup:
    """Short names above the plotted area, side by side, each with a line down to its point.

    Names of points that are close to each other move apart, so that they do not overlap. Nothing where a coordinate is
    NaN.
    """
    anchors = sorted(
        (frame.across(x), frame.down(y), text)
        for (x, y), text in zip(points, texts, strict=True)
        if math.isfinite(x) and math.isfinite(y)
    )
    elements = []
    places = _apart([x for x, _, _ in anchors], FLAG, frame.width - RIGHT)
    for place, (x, y, text) in zip(places, anchors, strict=True):
        elements.append(
            element(
                "path",
                d=f"M{_plain(place)} {_plain(frame.top - 8)}L{_plain(x)} {_plain(frame.top + 4)}V{_plain(y)}",
                class_="guide",
            )
        )
        elements.append(element("text", escape(text), x=place, y=frame.top - 11, class_="tick mid small"))
    return element("g", *elements)


def _apart(places: Sequence[float], gap: float, end: float) -> list[float]:
    """Ascending places moved as little to the right, and back from the end, that neighbours are `gap` apart.

    >>> _apart([10, 12, 95], 10, 100)
    [10, 20, 95]
    >>> _apart([90, 95, 99], 10, 100)
    [80, 90, 100]
    """
    moved: list[float] = []
    for place in places:
        moved.append(place if not moved else max(place, moved[-1] + gap))
    for at in range(len(moved) - 1, -1, -1):
        limit = end if at == len(moved) - 1 else moved[at + 1] - gap
        moved[at] = min(moved[at], limit)
    return moved


def bar(frame: Frame, left: float, right: float, height: float, said: str) -> Markup:
    """A bar from the axis's low end, at least one pixel wide, that says what it stands for."""
    return box(frame, (left, right), (frame.y.low, height), said)


def box(frame: Frame, across: tuple[float, float], upward: tuple[float, float], said: str) -> Markup:
    """A rectangle between two places on each axis, at least one pixel wide, that says what it stands for."""
    start, end = map(frame.across, across)
    foot, top = map(frame.down, upward)
    return element(
        "rect",
        element("title", escape(said)),
        x=start,
        y=top,
        width=max(end - start - 0.6, 1.0),
        height=max(foot - top, 0.0),
        class_="bar",
    )


def mark(frame: Frame, point: Point, said: str, shape: int = 0) -> Markup:
    """A point that says what it stands for, if anything; nothing where a coordinate is NaN. Shapes repeat after six."""
    if not all(map(math.isfinite, point)):
        return Markup("")
    titled = [element("title", escape(said))] if said else []
    if shape % len(SHAPES) == 0:
        x, y = frame.across(point[0]), frame.down(point[1])
        return element("circle", *titled, cx=x, cy=y, r=RADIUS, class_="mark")
    sizes = {"r": RADIUS, "d": 2 * RADIUS, "w": RADIUS * 1.3, "W": RADIUS * 2.6}
    outline = SHAPES[shape % len(SHAPES)].format(**{name: _plain(size) for name, size in sizes.items()})
    return element("path", *titled, d=f"M{frame.at(point)}{outline}", class_="mark")


def _finite(*values: float) -> bool:
    return all(map(math.isfinite, values))


def _whole_parts(points: Iterable[Point]) -> Iterable[list[Point]]:
    """The points between one that is NaN and the next."""
    stretch: list[Point] = []
    for point in points:
        if all(map(math.isfinite, point)):
            stretch.append(point)
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _round_step(span: float) -> float:
    """The distance of ticks, 1, 2 or 5 times a power of ten, that divides a span into three to seven."""
    power = 10.0 ** math.floor(math.log10(span / 4))
    return next((factor * power for factor in (1, 2, 5) if span / (factor * power) <= 5), 10 * power)


def _plain(value: str | float) -> str:
    """A number to a tenth of a pixel, without a needless .0; text as it is."""
    if isinstance(value, str):
        return value
    return f"{value:z.1f}".removesuffix(".0")
