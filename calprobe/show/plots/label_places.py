"""Names at points, placed so that none covers another, a point, a line or the panel's edge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from calprobe.show.plots.style import FAINT, FONT_POINTS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

    from calprobe.arrays import Floats

Offset = tuple[float, float]

# Directions in the order of preference: to the right as one reads, then above and below, then the rest of a circle.
_DIRECTIONS = (0, 90, 270, 180, 45, 315, 135, 225, 22, 338, 68, 292, 112, 248, 158, 202)
_NOTHING, _LINES, _POINTS, _NAMES = range(4)  # what a name may cover: all up to this
_PAD = 1.0  # points that stay free around a name
_STEP = 4.0  # points from one place that is tried to the next, and along lines that are kept free


@dataclass(frozen=True, slots=True)
class Label:
    """A name and the point that it belongs to, in the data's own units."""

    text: str
    x: float
    y: float
    color: str = INK


@dataclass(frozen=True, slots=True)
class Placing:
    """How names may be placed."""

    size: float = 7.0  # of letters, points
    reach: float = 70.0  # farthest place that is tried, points from the point
    clearance: float = 3.5  # nearest place, and half the side of what a point keeps free
    leader_from: float = 14.0  # points; names as far as this get a line to their point
    over_lines: bool = False  # a name that finds no free place may cover lines, rather than be left out
    always: bool = False  # such a name is written at the place that covers least, even other names


DEFAULT_PLACING = Placing()


@dataclass(frozen=True, slots=True)
class Written:
    """Names in a panel, and the lines to their points."""

    notes: tuple[Annotation, ...]
    leaders: tuple[Line2D, ...]

    def remove(self) -> None:
        """Take them off the panel again."""
        for artist in (*self.notes, *self.leaders):
            artist.remove()


def place_labels(axes: Axes, labels: Sequence[Label], placing: Placing = DEFAULT_PLACING) -> Written:
    """Write each name at the nearest free place by its point, with a thin line to it where that is far.

    The figure's layout must be fixed. Points of all labels and lines of the axes are kept free. A name that finds no
    place within reach is left out, unless `always`; what was written is returned.
    """
    import matplotlib

    canvas = cast("FigureCanvasAgg", axes.figure.canvas)
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    pixels = axes.figure.dpi / 72
    taken = _Taken(axes, labels, placing.clearance * pixels, placing.leader_from * pixels)
    size = placing.size * matplotlib.rcParams["font.size"] / FONT_POINTS
    written = []
    for label in labels:
        note = axes.annotate(
            label.text,
            (label.x, label.y),
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=size,
            color=label.color,
        )
        box = note.get_window_extent(renderer).padded(_PAD * pixels)
        offset = taken.place(box, axes.transData.transform((label.x, label.y)), _offsets(box, placing, pixels), placing)
        if offset is None:
            note.remove()
            continue
        note.set_position((offset[0] / pixels, offset[1] / pixels))
        written.append(note)
    leaders = [
        axes.plot(*axes.transData.inverted().transform(ends).T, color=FAINT, linewidth=0.5, zorder=1.5)[0]
        for ends in taken.leaders
    ]
    return Written(tuple(written), tuple(leaders))


def place_all(panels: Sequence[tuple[Axes, Sequence[Label]]], placing: Placing) -> bool:
    """Write the names in all panels; if one finds no place, write none and return False."""
    attempts = [place_labels(axes, labels, placing) for axes, labels in panels]
    if all(len(attempt.notes) == len(labels) for attempt, (_, labels) in zip(attempts, panels, strict=True)):
        return True
    for attempt in attempts:
        attempt.remove()
    return False


def place_numbers(axes: Axes, labels: Sequence[Label], numbers: Mapping[str, int], placing: Placing) -> Written:
    """Write the number of each name in its place: every one, in colours that the legend repeats."""
    return place_labels(
        axes, [replace(label, text=str(numbers[label.text])) for label in labels], replace(placing, always=True)
    )


class _Taken:
    """What is covered already, in pixels."""

    def __init__(self, axes: Axes, labels: Sequence[Label], clearance: float, leader_from: float) -> None:
        from matplotlib.collections import LineCollection

        self.inside = axes.get_window_extent()
        points = np.array([[label.x, label.y] for label in labels]).reshape(-1, 2)
        self.points = axes.transData.transform(points)
        self.clearance = clearance
        self.leader_from = leader_from
        paths = [line.get_xydata() for line in axes.lines]
        bars = [collection for collection in axes.collections if isinstance(collection, LineCollection)]
        # NaN: no bar
        paths += [segment for collection in bars for segment in collection.get_segments() if len(segment)]
        self.lines = np.concatenate([np.empty((0, 2)), *(_along(axes.transData.transform(path)) for path in paths)])
        self.boxes: list[Bbox] = [text.get_window_extent() for text in axes.texts]
        self.leaders: list[Floats] = []  # [2 ends, 2 coordinates] each

    def place(self, box: Bbox, point: Floats, offsets: Sequence[Offset], placing: Placing) -> Offset | None:
        """The first of the offsets that moves the box to a free place, which is then taken; None: there is none."""
        from matplotlib.transforms import Bbox

        for allowed in _allowances(placing):
            for offset in offsets:
                moved = Bbox.from_bounds(box.x0 + offset[0], box.y0 + offset[1], box.width, box.height)
                leader = self._leader(point, moved)
                if self._is_free(moved, allowed) and (allowed >= _POINTS or self._leads_clear(leader)):
                    self.boxes.append(moved)
                    if len(leader):
                        self.lines = np.concatenate([self.lines, leader])
                        self.leaders.append(leader[[0, -1]])
                    return offset
        return None

    def _is_free(self, box: Bbox, allowed: int) -> bool:
        inside = self.inside
        if box.x0 < inside.x0 or box.y0 < inside.y0 or box.x1 > inside.x1 or box.y1 > inside.y1:
            return False
        if allowed < _NAMES and any(box.overlaps(obstacle) for obstacle in self.boxes):
            return False
        if allowed < _POINTS and _within(box, self.points, self.clearance):
            return False
        return allowed >= _LINES or not _within(box, self.lines, 1.0)

    def _leads_clear(self, leader: Floats) -> bool:
        """Whether the line keeps off all names, and off all points but its own, which it does not reach."""
        aside = np.abs(self.points[:, None] - leader[None]).max(axis=2)  # [points, points of the line]
        return bool((aside > 0.9 * self.clearance).all()) and not any(_within(box, leader, 0) for box in self.boxes)

    def _leader(self, point: Floats, box: Bbox) -> Floats:
        """Points on a line from the point's rim to the nearest spot of a box that is far; none if it is near."""
        end = np.clip(point, (box.x0, box.y0), (box.x1, box.y1))
        distance = math.dist(point, end)
        if distance < self.leader_from:
            return np.empty((0, 2))
        return _along(np.array([point + (end - point) * 1.4 * self.clearance / distance, end]))


def _allowances(placing: Placing) -> Iterator[int]:
    """What a name may cover, one thing after the other: nothing, lines, points, names."""
    yield _NOTHING
    if placing.over_lines or placing.always:
        yield _LINES
    if placing.always:
        yield from (_POINTS, _NAMES)


def _within(box: Bbox, points: Floats, reach: float) -> bool:
    """Whether any of the points lies in the box, or as near as the reach."""
    x, y = points.T
    return bool(((x > box.x0 - reach) & (x < box.x1 + reach) & (y > box.y0 - reach) & (y < box.y1 + reach)).any())


def _along(path: npt.ArrayLike) -> Floats:
    """Points on a line in pixels, so close together that no name slips between them; those of gaps left out."""
    corners: Floats = np.asarray(path, dtype=np.float64)
    corners = corners[np.isfinite(corners).all(axis=1)]
    pieces = [corners[:1]]
    for start, end in pairwise(corners):
        steps = max(1, math.ceil(math.dist(start, end) / _STEP))
        pieces.append(start + (end - start) * (np.arange(1, steps + 1) / steps)[:, None])
    return np.concatenate(pieces)


def _offsets(box: Bbox, placing: Placing, pixels: float) -> list[Offset]:
    """Where a box's middle may go, in pixels from the point, the nearest first: its rim is as far as the ring says."""
    return [
        (
            math.cos(math.radians(direction)) * (ring * pixels + box.width / 2),
            math.sin(math.radians(direction)) * (ring * pixels + box.height / 2),
        )
        for ring in np.arange(placing.clearance + _PAD, placing.reach, _STEP).tolist()
        for direction in _DIRECTIONS
    ]
