"""Panels of marks on paper: matplotlib draws what `calprobe.show.marks` describes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calprobe.show.marks import (
    Boxes,
    Cells,
    Drawable,
    Histogram,
    Line,
    Mark,
    Panel,
    Points,
    Role,
    Scale,
    Texts,
    Tiles,
)
from calprobe.show.plots import frame
from calprobe.show.plots.heat_map import draw_heat_maps
from calprobe.show.plots.label_places import Label
from calprobe.show.plots.look import DEFAULT_LOOK, Look
from calprobe.show.plots.named_points import write_names
from calprobe.show.plots.style import FAINT, INK, SeriesStyle, style_at

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SLANT = 35  # of names that have no room side by side, degrees
TILE_LETTER = 4.2  # width of a letter in a tile, points
SHADES = 0.1, 0.6  # of the values 0 and 1, of the colour map: that of 0 is seen, and ink is readable on that of 1
REST = (FAINT, 0.35)  # the colour of tiles without one
_RING: Mapping[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.2, "markersize": 6.5, "zorder": 1.9}
LONG, HIGH_ROWS = 7, 2  # letters of a title that is long beside a strip; rows with room for it
_ROLES: Mapping[Role, Mapping[str, Any]] = {
    "series": {},
    "exact": {"linewidth": 0.9, "linestyle": (0, (1, 2))},
    "reference": {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (4, 2))},
    "smooth": {"color": FAINT, "linewidth": 1.6, "linestyle": "-"},
    "family": {"color": FAINT, "linewidth": 0.8, "zorder": 1.1},
    "gap": {"color": FAINT, "linewidth": 0.8, "zorder": 1},
    "sure": {"color": FAINT, "linewidth": 2.2, "zorder": 1},
    "stem": {"color": FAINT, "linewidth": 2.5, "solid_capstyle": "butt"},
}
_INK = SeriesStyle(INK, "o", (0, ()))  # of what no series has, or several have


def draw(several: Sequence[Drawable], look: Look = DEFAULT_LOOK) -> Figure:
    """A figure with a panel for each, all of one kind, and a legend below."""
    panels = [data.panel for data in several]
    cells = [panel for panel in panels if isinstance(panel, Cells)]
    return (
        draw_heat_maps(cells, look) if cells else _draw([panel for panel in panels if isinstance(panel, Panel)], look)
    )


def _draw(panels: Sequence[Panel], look: Look) -> Figure:
    width, height = panels[0].size if panels else (2.6, 2.6)
    rows = max((panel.y.row * len(panel.y.names) for panel in panels), default=0)
    names, make = _Names.of(panels, look, width), frame.row_figure if rows else frame.panel_figure
    figure, grid, columns = make(len(panels), look, (width, height + names.inches + rows))
    entries = _Legend()
    for at, (axes, panel) in enumerate(zip(grid, panels, strict=False)):
        _draw_panel(axes, panel, entries)
        names.write(axes, panel.x)
        frame.title_panel(axes, panel.title, panel.note)
        if panel.y.kind == "share":
            axes.tick_params(labelleft=at % columns == 0)
        if at % columns == 0 or panel.y.title != panels[at - 1].y.title:
            axes.set_ylabel(_capital(panel.y.title))
        if panel.x.kind != "names" and (at + columns >= len(panels) or panel.x.title != panels[at + columns].x.title):
            axes.set_xlabel(frame.wrapped(axes, _capital(panel.x.title)))
    frame.title_figure(figure, look)
    _write(figure, [(axes, panel) for axes, panel in zip(grid, panels, strict=False)], entries.all)
    return figure


def _write(figure: Figure, drawn: Sequence[tuple[Axes, Panel]], entries: Mapping[str, Artist]) -> None:
    """The legend below the panels, and the texts in them, which need to know where all stands."""
    labelled = [(axes, [label for mark in panel.every for label in _labels(mark)]) for axes, panel in drawn]
    if any(labels for _, labels in labelled):
        named = {label.text: frame.sample(linestyle="none") for _, labels in labelled for label in labels}
        write_names(figure, labelled, named, entries)
    else:
        frame.legend_below(figure, entries)
        frame.fix_layout(figure)
    for axes, panel in drawn:
        for tiles in (mark for mark in panel.every if isinstance(mark, Tiles)):
            _write_tiles(axes, tiles)


def _labels(mark: Mark) -> list[Label]:
    """The names of points."""
    if not isinstance(mark, Texts) or mark.fixed:
        return []
    return [Label(text, x, y) for x, y, text in zip(mark.x, mark.y, mark.texts, strict=True)]


def _write_tiles(axes: Axes, mark: Tiles) -> None:
    """The texts of those that are wide enough for them."""
    low, high = axes.get_xlim()
    points = axes.get_window_extent().width / axes.figure.dpi * frame.POINTS_PER_INCH / (high - low)
    for row, start, width, text in zip(mark.rows, mark.starts, mark.widths, mark.texts, strict=True):
        if width * points > len(text) * TILE_LETTER:
            axes.text(start + width / 2, row, text, ha="center", va="center", color=INK, fontsize=6.5)


def draw_strips(
    blocks: Sequence[Sequence[Panel]], look: Look, sizes: frame.PairSizes, title: str = "", remark: str = ""
) -> Figure:
    """A figure of panels with strips, a block of rows for each run; `remark` is a line of the legend alone."""
    figure, grids = frame.panel_pairs([len(block) for block in blocks], look, sizes)
    entries = _Legend()
    pairs = [pair for grid in grids for pair in grid]
    for grid, block in zip(grids, blocks, strict=False):
        for at, (pair, panel) in enumerate(zip(grid, block, strict=True)):
            _draw_panel(pair.curve, panel, entries)
            if panel.strip is not None:
                _draw_panel(pair.counts, panel.strip, _Legend())
            in_first_row = bool(block[0].heading) and not any(neighbour.left for neighbour in grid[1 : at + 1])
            frame.title_panel(pair.curve, panel.title, panel.note, panel.heading, room=in_first_row)
    for pair, panel in zip(pairs, [panel for block in blocks for panel in block], strict=False):
        _label(pair, panel, short=sum(pair.left for pair in pairs) > HIGH_ROWS)
    most = max((pair.counts.get_ylim()[1] for pair in pairs), default=1.0)
    for pair in pairs:
        pair.counts.set_ylim(0, most)
    frame.finish(figure, look, entries.all | ({remark: frame.sample(linestyle="none")} if remark else {}), title)
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
        names = cls((look.width - frame.LABELS_INCHES) / columns * frame.POINTS_PER_INCH)
        named = [panel.x.names for panel in panels if names.slanted(panel.x)]
        longest = max((len(name) for scale in named for name in scale), default=0)
        return cls(names.room, longest * frame.LETTER * math.sin(math.radians(SLANT)) / frame.POINTS_PER_INCH)

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
        legend.others[mark.name] = _draw_mark(axes, mark, _INK, alone=True)
    for series in panel.series:
        for mark in series.marks:
            drawn = _draw_mark(axes, mark, style_at(series.place), alone=len(panel.series) == 1)
            legend.series[mark.name or series.name] = drawn
    _set_scale(axes, "x", panel.x)
    _set_scale(axes, "y", panel.y)


def _draw_mark(axes: Axes, mark: Mark, style: SeriesStyle, *, alone: bool) -> Artist:
    """Draw a mark, and return the sample of it that a legend shows."""
    match mark:
        case Points():
            value, low, high = (np.array(ends, np.float64) for ends in mark.ends)
            frame.interval_bars(axes, np.array(mark.x, np.float64), low, high, style.color)
            axes.plot(mark.x, value, **_dots(style, mark))
            return frame.sample(**_dots(_INK if mark.name else style, mark))
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
        case Tiles():
            return _draw_tiles(axes, mark, style.color)
        case Texts():
            for x, y, text in zip(mark.x, mark.y, mark.texts, strict=True) if mark.fixed else ():
                axes.text(x, y, text, color=INK)
            return frame.sample(linestyle="none")


def _dots(style: SeriesStyle, mark: Points) -> dict[str, Any]:
    return (style.points() if mark.joined else style.dots()) | (dict(_RING) if mark.ring else {})


def _draw_tiles(axes: Axes, mark: Tiles, color: str) -> Artist:
    from matplotlib import colormaps
    from matplotlib.patches import Patch

    colors: list[Any] = [(color, 0.65) if mark.shades is None else REST] * len(mark.rows)
    if mark.shades:
        colors = [colormaps["Blues"](SHADES[0] + shade * (SHADES[1] - SHADES[0])) for shade in mark.shades]
    for row, start, width, shade in zip(mark.rows, mark.starts, mark.widths, colors, strict=True):
        axes.barh(row, width, mark.thick, start, color=shade, edgecolor="white", linewidth=0.6)
    return Patch(facecolor=colors[0] if colors else REST)


def _draw_boxes(axes: Axes, mark: Boxes, color: str) -> Artist:
    from matplotlib.patches import Patch

    line = {"color": color, "linewidth": 0.9}
    axes.bxp(
        [
            {"med": box.median, "q1": box.quartile_1, "q3": box.quartile_3, "whislo": box.least, "whishi": box.most}
            for box in mark.boxes
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


def _set_scale(axes: Axes, axis: Literal["x", "y"], scale: Scale) -> None:
    if scale.kind == "share":
        frame.share_axis(axes, axis)
    elif scale.kind == "names":
        axes.grid(visible=axis == "y" and scale.grid, axis=axis)
        if axis == "y":
            axes.tick_params(axis=axis, length=0)
            axes.spines["left"].set_visible(scale.grid)
    elif scale.kind == "zero" and axis == "x" and not axes.dataLim.x0 < 0:
        axes.set_xlim(left=0)
    elif scale.kind == "zero" and axis == "y" and not axes.dataLim.y0 < 0:
        axes.set_ylim(bottom=0)
    if scale.ticks is not None:
        axes.set(**{f"{axis}ticks": [at for at, _ in scale.ticks], f"{axis}ticklabels": scale.names})
    if scale.ends is not None:
        axes.set(**{f"{axis}lim": scale.ends})
