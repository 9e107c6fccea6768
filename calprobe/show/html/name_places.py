"""Names of points in an SVG figure, at places where they cover neither each other nor a point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

LETTER, TALL = 6.9, 13.0  # of a name, on a phone, too, where letters are larger
BASE = 3.5  # from a name's lower edge up to the line that its letters stand on
CLEAR = 6.0  # half the side of the square that a point keeps free
GAPS = (7.0, 18.0, 30.0, 42.0)  # from a point to its name, the nearest first; from the second on a line leads there
_SLANT = math.sqrt(0.5)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in a figure's units, downward as in SVG."""

    left: float
    top: float
    right: float
    foot: float

    def overlaps(self, other: Box) -> bool:
        """Whether the two share more than an edge."""
        return self.left < other.right and other.left < self.right and self.top < other.foot and other.top < self.foot


@dataclass(frozen=True, slots=True)
class Name:
    """A name in its place, whose letters begin, end or have their middle at x."""

    text: str
    x: float
    base: float
    anchor: str  # "start", "end" or "mid"
    leader: tuple[float, float] | None  # where a line from the point ends, if the name is far from it


@dataclass(slots=True)
class NamePlaces:
    """What is taken in a figure: its points, its intervals, and the names that are there already."""

    inside: Box
    points: Sequence[Box]
    lines: Sequence[Box]  # which names cover only where there is no other place
    names: list[Box] = field(default_factory=list)

    def place(self, x: float, y: float, text: str) -> Name | None:
        """The nearest free place for the name of a point, which is then taken; None: there is none."""
        candidates = [*self._candidates(x, y, text)]
        for taken in ((*self.points, *self.lines), self.points):
            for name, box in candidates:
                if not any(map(box.overlaps, (*taken, *self.names))):
                    self.names.append(box)
                    return name
        return None

    def _candidates(self, x: float, y: float, text: str) -> Iterator[tuple[Name, Box]]:
        """Around the point, on the side with more room first; those that reach over the edge are left out."""
        side = -1 if 2 * x > self.inside.left + self.inside.right else 1
        width = LETTER * len(text)
        for gap in GAPS:
            for right, down in ((side, -1), (side, 0), (side, 1), (-side, -1), (-side, 0), (-side, 1), (0, -1), (0, 1)):
                reach = gap * (_SLANT if right and down else 1.0)
                near, middle = x + right * reach, y + down * (reach + (not right) * TALL / 2)
                left = near - width * (1 - right) / 2
                box = Box(left, middle - TALL / 2, left + width, middle + TALL / 2)
                if (
                    box.left >= self.inside.left
                    and box.right <= self.inside.right + CLEAR
                    and (box.top >= self.inside.top and box.foot <= self.inside.foot)
                ):
                    anchor = {1: "start", -1: "end", 0: "mid"}[right]
                    leader = (near, middle - down * (not right) * TALL / 2) if gap > GAPS[0] else None
                    yield Name(text, near, box.foot - BASE, anchor, leader), box
