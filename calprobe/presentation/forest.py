"""The figure of a comparison: each difference with its interval, a row for each number of its table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from calprobe.measures.number_text import signed, signed_interval
from calprobe.metrics import Difference, Metric
from calprobe.presentation import charts
from calprobe.show.html import svg
from calprobe.show.html.panels import series_class
from calprobe.show.html.views import Choice, FigureView
from calprobe.show.tables import Table

ROW = 22.0  # height of a row
FAVOURS_A, FAVOURS_B, FAVOURS_NONE = 0, 1, 7  # places in the palette
LONGEST = 26  # letters of a name at the left
ELSEWHERE = ("nll",)  # on a scale of its own: in the table alone


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of the figure: the name of a group, or a difference."""

    name: str
    metric: str = ""
    difference: Difference | None = None  # None: the name of a group
    significant: bool = False
    favours: bool = True  # whether one side of it can be better


def forest(table: Table, metrics: Sequence[Metric]) -> FigureView | None:
    """The differences of a table of two runs as a forest plot; None without any."""
    entries = list(_entries(table))
    differences = [entry.difference for entry in entries if entry.difference is not None]
    if not differences:
        return None
    better: dict[str, str | None] = {metric.name: metric.better for metric in metrics}
    better |= {"accuracy": "larger", "bear_score": "larger"}
    ends = [end for d in differences for end in (d.value, d.low, d.high) if math.isfinite(end)]
    across = svg.Axis.around("A \u2212 B", [0.0, *ends])
    names = [_short(entry.name) for entry in entries]
    # Rows go down, values of an axis up.
    ticks = tuple(-float(place) for place, entry in enumerate(entries) if entry.difference is not None)
    down = svg.Axis("", 0.5 - len(entries), 0.5, ticks, lambda place: names[round(-place)])
    left = max(svg.LETTER * max(map(len, names)) + 18, svg.LEFT)
    height = ROW * len(entries) + svg.TOP + svg.BOTTOM
    frame = svg.Frame(across, down, width=560, height=height, left=left)
    elements = [frame.axes(), svg.line(frame, [(0, down.low), (0, down.high)], "zero")]
    for place, entry in enumerate(entries):
        elements.append(_row(frame, -float(place), entry, better))
    label = "Differences between A and B with their intervals, a row for each number."
    return FigureView("Differences", svg.drawing(frame, label, *elements), _caption(table), _LEGEND, choosable=False)


def _entries(table: Table) -> Iterator[_Entry]:
    for group, rows in table.groups():
        entries = [
            _Entry(row.label, row.keys.get("metric", ""), cell, row.significant, row.ranked)
            for _, row in rows
            for cell in row.cells
            if isinstance(cell, Difference) and row.keys.get("metric") not in ELSEWHERE
        ]
        if entries:
            yield from ([_Entry(group)] if group else [])
            yield from entries


def _row(frame: svg.Frame, height: float, entry: _Entry, better: Mapping[str, str | None]) -> Markup:
    if entry.difference is None:
        place = frame.down(height) + 4
        return svg.element("text", escape(entry.name), x=0, y=place, class_="note")
    value, low, high = entry.difference.value, entry.difference.low, entry.difference.high
    tip = f"{entry.name}: {signed(value)} ({signed_interval(entry.difference)})" if math.isfinite(low) else entry.name
    wanted = better.get(entry.metric) if entry.favours else None
    favoured = _favoured(entry.difference, wanted, significant=entry.significant)
    drawn = (
        svg.spread(frame, height, low, high),
        svg.mark(frame, (value, height), tip, shape=favoured if favoured != FAVOURS_NONE else 0),
    )
    sure = " sure" if entry.significant else ""
    return svg.element("g", *drawn, class_=f"{series_class(favoured)}{sure}")


def _favoured(difference: Difference, better: str | None, *, significant: bool) -> int:
    """The side with the better number, where the interval does not hold 0, or without one the p-value is small."""
    proven = significant if math.isnan(difference.low) else difference.low > 0 or difference.high < 0
    if better is None or not proven:
        return FAVOURS_NONE
    return FAVOURS_A if (difference.value > 0) == (better == "larger") else FAVOURS_B


def _caption(table: Table) -> str:
    filled = " Filled: significant after the correction." if any(row.significant for row in table.rows) else ""
    left_out = [row.label for row in table.rows if row.keys.get("metric") in ELSEWHERE]
    elsewhere = f" On another scale, in the table alone: {', '.join(dict.fromkeys(left_out))}." if left_out else ""
    return f"Differences with their 95 % intervals; no difference at 0.{filled}{elsewhere}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 2]}.."


_LEGEND = (
    Choice("A is better", FAVOURS_A, charts.key(FAVOURS_A)),
    Choice("B is better", FAVOURS_B, charts.key(FAVOURS_B)),
    Choice("the interval holds 0", FAVOURS_NONE, charts.key(FAVOURS_NONE)),
)
