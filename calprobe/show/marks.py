"""Figures as marks: what a panel shows, as plain data. `plots.paper` draws it on paper, `html.panels` on a page.

Places of series are those of the palette; from eight on their colours come again, with other markers and dashes. Marks
of no series are faint. Axis titles begin with a small letter, which paper makes a capital.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from calprobe.measures.number_text import spelled
from calprobe.messages import cleaned, shortened
from calprobe.metrics import Estimate

LONGEST, MOST_LINES = 22, 6  # letters of a line of a name below an axis, and its lines

Numbers = tuple[float, ...]
# How lines look: as their series, at a value that is known apart from it, at what all is held against, smoothed,
# between models of one family, between two marks of a row, so for a gap that is significant, or up to a count.
Role = Literal["series", "exact", "reference", "smooth", "family", "gap", "sure", "stem"]


@dataclass(frozen=True, slots=True)
class Points:
    """Values with their intervals; what is NaN is left out."""

    x: Numbers
    values: tuple[Estimate, ...]
    tips: tuple[str, ...]  # what each stands for, in words
    joined: bool = False  # whether a line goes through them
    ring: bool = False  # whether they are rings, which another mark at their place leaves to be seen
    name: str = ""  # in a legend; empty: that of the series

    @property
    def ends(self) -> tuple[Numbers, Numbers, Numbers]:
        """The values, and the lower and the upper ends of the intervals."""
        value, low, high = (
            tuple(getattr(estimate, end) for estimate in self.values) for end in ("value", "low", "high")
        )
        return value, low, high


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points, with a gap where a coordinate is NaN; where x is empty, level over the whole width."""

    x: Numbers
    y: Numbers
    role: Role = "series"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Histogram:
    """A count for each bin; outlines where several series would cover each other."""

    edges: Numbers  # [bins + 1]
    heights: Numbers
    tips: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """The five numbers that a box shows."""

    least: float
    quartile_1: float
    median: float
    quartile_3: float
    most: float

    @property
    def said(self) -> str:
        """The numbers in words."""
        middle = f"median {self.median:g}, quartiles {self.quartile_1:g} and {self.quartile_3:g}"
        return f"{middle}, from {self.least:g} to {self.most:g}"


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes between quartiles, the median in each, with lines to the least and the most."""

    x: Numbers
    boxes: tuple[Box, ...]
    tips: tuple[str, ...]
    width: float
    name: str = ""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Rectangles in rows, each with a text where it has room."""

    rows: Numbers
    starts: Numbers
    widths: Numbers
    texts: tuple[str, ...]
    tips: tuple[str, ...]
    shades: tuple[float, ...] | None = None  # how dark, in [0, 1]; none: all grey. None: the colour of the series
    thick: float = 0.8  # of a row
    name: str = ""


@dataclass(frozen=True, slots=True)
class Texts:
    """Names of points, beside them where they cover nothing; or texts that begin at a place."""

    x: Numbers
    y: Numbers
    texts: tuple[str, ...]
    fixed: bool = False
    name: str = ""


Mark = Points | Line | Histogram | Boxes | Tiles | Texts


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis of a panel."""

    title: str = ""
    kind: Literal["free", "zero", "share", "names"] = "free"  # free: about what is drawn; zero: from 0; share: 0 to 1
    ends: tuple[float, float] | None = None  # None: as the kind has it
    ticks: tuple[tuple[float, str], ...] | None = None  # None: round numbers
    row: float = 0.0  # height of a name on a vertical axis, inches
    grid: bool = True  # whether there is a thin line at each

    @classmethod
    def of_names(cls, title: str, names: Sequence[str]) -> Scale:
        """Groups at 0, 1, .., with room beside the first and the last."""
        ticks = tuple((float(at), name) for at, name in enumerate(names))
        return cls(title, "names", (-0.6, len(names) - 0.4), ticks)

    @classmethod
    def of_rows(cls, names: Sequence[str], row: float, *, grid: bool = True) -> Scale:
        """The same down a vertical axis."""
        ticks = tuple((float(at), name) for at, name in enumerate(names))
        return cls("", "names", (len(names) - 0.4, -0.6), ticks, row, grid)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels of the ticks that are given."""
        return tuple(name for _, name in self.ticks or ())

    @property
    def lines(self) -> list[list[str]]:
        """The names, broken into lines that fit below an axis."""
        broken = (name.replace("counterfactual", "counter-_factual").split("_") for name in self.names)
        return [[shortened(cleaned(line), LONGEST) for line in lines[:MOST_LINES]] for lines in broken]


@dataclass(frozen=True, slots=True)
class Series:
    """Marks of one name and style, which a page shows or hides together."""

    name: str
    place: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel."""

    title: str
    x: Scale
    y: Scale
    series: tuple[Series, ...] = ()
    marks: tuple[Mark, ...] = ()  # of no series, behind them
    note: str = ""  # below the title
    heading: str = ""  # above the titles of a row
    strip: Panel | None = None  # a low one below it, with the same horizontal axis and the same series
    label: str = ""  # what it shows, in a sentence for those who do not see it
    size: tuple[float, float] = (2.6, 2.6)  # inches: least width with its texts, and height without rows of names

    @property
    def every(self) -> tuple[Mark, ...]:
        """All marks."""
        return (*self.marks, *(mark for series in self.series for mark in series.marks))


@dataclass(frozen=True, slots=True)
class Cells:
    """A heat map: rows of cells with a number in each, the darker the farther from 0."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[Numbers, ...]  # [rows][columns], in [-1, 1], below 0 of another colour; NaN has no colour
    spelled: Callable[[float], str]
    square: bool = False  # whether rows and columns are the same names
    numbered: bool = False  # whether a page, which has numbers above a square, puts them behind the names of rows, too
    label: str = ""  # as of a panel


class Drawable(Protocol):
    """The data of a figure, which say how they are shown."""

    @property
    def title(self) -> str:
        """Of the panel."""

    @property
    def panel(self) -> Panel | Cells:
        """The panel."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one kind: a panel each, and what a page says of them.

    In its texts `{0.NAME}` is what the data of a panel have under this name, `{1}` their title with a capital.
    """

    kind: str  # in the names of files
    panels: Sequence[Drawable]
    title: str  # of each panel, on a page
    caption: str
    spoken: str = ""  # what a screen reader says of a panel; empty: the caption


def grouped(groups: Sequence[str], name: str, values: Sequence[Estimate | None], shift: float) -> Points:
    """The points of one series, one for each group that has a value: groups are at 0, 1, .., and it a little beside."""
    points = {at: value for at, value in enumerate(values) if value is not None}
    tips = tuple(f"{groups[at]}, {name}: {spelled(value)}" for at, value in points.items())
    return Points(tuple(at + shift for at in points), tuple(points.values()), tips)


def beside(place: int, count: int, reach: float) -> float:
    """How far from the middle of its group a series stands, where so many share this part of the group's width."""
    return reach * (place - (count - 1) / 2) / max(count, 1)


def widths(panel: Panel) -> Iterator[float]:
    """The finite coordinates along the horizontal axis."""
    for mark in panel.every:
        match mark:
            case Points() | Line() | Boxes() | Texts():
                ends = mark.x
            case Histogram():
                ends = mark.edges
            case Tiles():
                ends = (*mark.starts, *(start + width for start, width in zip(mark.starts, mark.widths, strict=True)))
        yield from filter(math.isfinite, ends)


def heights(panel: Panel) -> Iterator[float]:
    """The finite coordinates along the vertical axis."""
    for mark in panel.every:
        match mark:
            case Points():
                ends = tuple(end for row in mark.ends for end in row)
            case Line():
                ends = mark.y
            case Histogram():
                ends = mark.heights
            case Boxes():
                ends = tuple(end for box in mark.boxes for end in (box.least, box.most))
            case Tiles() | Texts():
                ends = ()
        yield from filter(math.isfinite, ends)
