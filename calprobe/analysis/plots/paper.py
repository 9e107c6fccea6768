"""Panels of marks on paper: matplotlib draws what `calprobe.analysis.marks` describes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calprobe.analysis.marks import Boxes, Histogram, Line, Mark, Panel, Points, Role, Scale
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.look import Look
from calprobe.analysis.plots.style import FAINT, INK, SeriesStyle, style_at

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SLANT = 35  # of names that have no room side by side, degrees
LONG, HIGH_ROWS = 7, 2  # letters of a title that is long beside a strip; rows with room for it
_ROLES: Mapping[Role, Mapping[str, Any]] = {
    "series": {},
    "exact": {"linewidth": 0.9, "linestyle": (0, (1, 2))},
    "reference": {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (4, 2))},
    "smooth": {"color": FAINT, "linewidth": 1.6, "linestyle": "-"},
    "family": {"color": FAINT, "linewidth": 0.8, "zorder": 1.1},
}
_INK = SeriesStyle(INK, "o", (0, ()))  # of what no series has, or several have


def draw(panels: Sequence[Panel], look: Look, size: tuple[float, float], *, legend: bool = True) -> Figure:
    """A figure of panels with a legend below; `size` is the least width of one with its texts, and its height."""
    names = _Names.of(panels, look, size[0])
    figure, grid, columns = frame.panel_figure(len(panels), look, (size[0], size[1] + names.inches))
    entries = _Legend()
    for at, (axes, panel) in enumerate(zip(grid, panels, strict=False)):
        _draw_panel(axes, panel, entries)
        names.write(axes, panel.x)
        frame.title_panel(axes, panel.title, panel.note)
        first, lowest = at % columns == 0, at + columns >= len(panels)
        if panel.y.kind == "share":
            axes.tick_params(labelleft=first)
        if first or panel.y.title != panels[at - 1].y.title:
            axes.set_ylabel(_capital(panel.y.title))
        if lowest and panel.x.kind != "names":
            axes.set_xlabel(frame.wrapped(axes, _capital(panel.x.title)))
    frame.finish(figure, look, entries.all if legend else {})
    return figure


def draw_strips(
    blocks: Sequence[Sequence[Panel]], look: Look, sizes: frame.PairSizes, title: str = "", said: str = ""
) -> Figure:
    """A figure of panels with strips, a block of rows for each run; `said` is a line of the legend without a sample."""
    figure, grids = frame.panel_pairs([len(block) for block in blocks], look, sizes)
    entries = _Legend()
    pairs = [pair for grid in grids for pair in grid]
    for grid, block in zip(grids, blocks, strict=False):
        for at, (pair, panel) in enumerate(zip(grid, block, strict=True)):
            _draw_panel(pair.curve, panel, entries)
            if panel.strip is not None:
                _draw_panel(pair.counts, panel.strip, _Legend())
            in_first_row = bool(block[0].heading) and not any(other.left for other in grid[1 : at + 1])
            frame.title_panel(pair.curve, panel.title, panel.note, panel.heading, room=in_first_row)
    for pair, panel in zip(pairs, [panel for block in blocks for panel in block], strict=False):
        _label(pair, panel, short=sum(pair.left for pair in pairs) > HIGH_ROWS)
    most = max((pair.counts.get_ylim()[1] for pair in pairs), default=1.0)
    for pair in pairs:
        pair.counts.set_ylim(0, most)
    frame.finish(figure, look, entries.all | ({said: frame.sample(linestyle="none")} if said else {}), title)
    return figure


def _label(pair: frame.PanelPair, panel: Panel, *, short: bool) -> None:
    """Numbers and titles of axes at the left and at the lowest panels; n for a word that would not fit into its row."""
    pair.curve.tick_params(labelleft=pair.left)
    pair.counts.tick_params(labelleft=pair.left, labelbottom=pair.lowest or panel.x.kind != "share")
    counted = "" if panel.strip is None else panel.strip.y.title
    if pair.left:
        pair.curve.set_ylabel(_capital(panel.y.title))
        pair.counts.set_ylabel("n" if short and len(counted) >= LONG else _capital(counted))
    if pair.lowest:
        pair.counts.set_xlabel(_capital(panel.x.title))


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]


@dataclass(frozen=True, slots=True)
class _Names:
    """How the names of groups stand below the panels of a figure: slanted where they would cover each other."""

    room: float  # width of a panel, points
    inches: float = 0.0  # height that slanted names of any panel take

    @classmethod
    def of(cls, panels: Sequence[Panel], look: Look, least: float) -> _Names:
        """Those of these panels, each at least `least` inches wide."""
        columns = frame.fold(max(len(panels), 1), look.width, least)
        own = cls((look.width - frame.LABELS_INCHES) / columns * frame.POINTS_PER_INCH)
        named = [panel.x.names for panel in panels if own.slanted(panel.x)]
        longest = max((len(name) for names in named for name in names), default=0)
        return cls(own.room, longest * frame.LETTER * math.sin(math.radians(SLANT)) / frame.POINTS_PER_INCH)

    def slanted(self, scale: Scale) -> bool:
        """Whether lines of the names are longer than the groups are wide."""
        longest = max((len(line) for lines in scale.lines for line in lines), default=0)
        return scale.kind == "names" and len(scale.names) * longest * frame.LETTER > self.room

    def write(self, axes: Axes, scale: Scale) -> None:
        """Write them below an axis."""
        if scale.kind != "names":
            return
        axes.set_xticklabels(["\n".join(lines) for lines in scale.lines])
        if self.slanted(scale):
            axes.set_xticklabels(scale.names, rotation=SLANT, ha="right", rotation_mode="anchor")


@dataclass(frozen=True, slots=True)
class _Legend:
    """Samples by name, those of marks of no series last."""

    series: dict[str, Artist] = field(default_factory=dict)
    others: dict[str, Artist] = field(default_factory=dict)

    @property
    def all(self) -> dict[str, Artist]:
        return {name: sample for name, sample in (self.series | self.others).items() if name}


def _draw_panel(axes: Axes, panel: Panel, legend: _Legend) -> None:
    """Draw the marks of a panel and set its axes."""
    for mark in panel.marks:
        legend.others[mark.name] = _draw(axes, mark, _INK, alone=True)
    for series in panel.series:
        for mark in series.marks:
            drawn = _draw(axes, mark, style_at(series.place), alone=len(panel.series) == 1)
            legend.series[mark.name or series.name] = drawn
    _set_scale(axes, "x", panel.x)
    _set_scale(axes, "y", panel.y)


def _draw(axes: Axes, mark: Mark, style: SeriesStyle, *, alone: bool) -> Artist:
    """Draw a mark, and return the sample of it that a legend shows."""
    match mark:
        case Points():
            value, low, high = (np.array(own, np.float64) for own in mark.ends)
            how = style.points() if mark.joined else style.dots()
            frame.interval_bars(axes, np.array(mark.x, np.float64), low, high, style.color)
            axes.plot(mark.x, value, **how)
            sample = _INK if mark.name else style
            return frame.sample(**(sample.points() if mark.joined else sample.dots()))
        case Line():
            how = style.line() | dict(_ROLES[mark.role])
            if mark.x:
                axes.plot(mark.x, mark.y, **how)
            else:
                axes.axhline(*mark.y, **how)
            return frame.sample(**(how | ({"color": FAINT} if mark.role == "exact" else {})))
        case Histogram():
            outline = {"fill": True, "alpha": 0.55} if alone else {"linestyle": style.dash, "linewidth": 0.9}
            return axes.stairs(mark.heights, mark.edges, color=style.color, **outline)
        case Boxes():
            return _draw_boxes(axes, mark, style.color)


def _draw_boxes(axes: Axes, mark: Boxes, color: str) -> Artist:
    from matplotlib.patches import Patch

    line = {"color": color, "linewidth": 0.9}
    axes.bxp(
        [
            {"med": own.median, "q1": own.quartile_1, "q3": own.quartile_3, "whislo": own.least, "whishi": own.most}
            for own in mark.boxes
        ],
        positions=mark.x,
        widths=mark.width,
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": (color, 0.3), "edgecolor": color, "linewidth": 0.9},
        medianprops=line | {"linewidth": 1.6},
        whiskerprops=line,
        capprops=line,
    )
    return Patch(facecolor=(color, 0.3), edgecolor=color)


def _set_scale(axes: Axes, which: Literal["x", "y"], scale: Scale) -> None:
    if scale.kind == "share":
        frame.share_axis(axes, which)
    elif scale.kind == "names":
        axes.grid(visible=False, axis=which)
        if which == "y":
            axes.tick_params(axis=which, length=0)
    elif scale.kind == "zero" and not axes.dataLim.y0 < 0:
        axes.set_ylim(bottom=0)
    if scale.ticks is not None:
        axes.set(**{f"{which}ticks": [at for at, _ in scale.ticks], f"{which}ticklabels": scale.names})
    if scale.ends is not None:
        axes.set(**{f"{which}lim": scale.ends})
