"""What every figure of the package has: panels in a grid, axes of shares, a legend off the data, a fixed layout."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from calprobe.show.plots.look import Look
from calprobe.show.plots.style import FAINT

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    from calprobe.arrays import Floats

POINTS_PER_INCH = 72
LETTER, SAMPLE, GAP = 4.0, 28.0, 8.5  # widths in a legend, points: of a letter, of a line with its space, of a gap
LABEL_LETTER, TITLE_LETTER = 4.0, 5.2  # widths of a letter of an axis label and of a panel's title, points
BOLD_LETTER = 5.8  # width of a letter of a figure's title, points
LINE_POINTS = 9.6  # height of a line of a panel's title
LEGEND_ROW_INCHES, LEGEND_INCHES = 0.165, 0.5  # height of a row, and of the legend that figures have room for
NOTE_POINTS, HEADING_POINTS = 7, 8.5
LABELS_INCHES = 0.5  # what the labels of the vertical axis take
MOST_INCHES = 8.0  # height of a figure: that of a paper's page without the caption
LOWEST_INCHES = 1.6  # height of a panel with its texts
NARROWEST_INCHES = 1.2  # width of a panel
MARGIN = 0.03  # of a share axis beyond 0 and 1, so that points on them are not cut


def blank_figure(width: float, height: float) -> Figure:
    """A figure of its own, in inches, that no pyplot knows; its layout makes room for what stands around panels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def fold(n_panels: int, width: float, least: float) -> int:
    """How many of these panels stand side by side, each `least` inches wide: as many as have room, in full rows.

    A last row that is more than half full is as good as a full one: the legend may stand in its place.

    >>> [fold(n, 6.8, 1.4) for n in (1, 3, 4, 5, 6)], [fold(n, 3.3, 1.3) for n in (1, 3, 4)]
    ([1, 3, 4, 3, 3], [1, 1, 2])
    """
    most = max(1, min(n_panels, int((width - LABELS_INCHES) // least)))
    return next(columns for columns in range(most, 0, -1) if 2 * (-n_panels % columns) < columns)


def fitted(blocks: Sequence[int], width: float, size: tuple[float, float], rest: float) -> tuple[int, float]:
    """How many panels stand side by side, and how high the figure is, in inches: no higher than a page if it can be.

    Rows of panels are made lower, and where that is not enough panels are made narrower, so that more stand side by
    side. Only with more panels than a page holds is a figure higher.

    Args:
        blocks: of panels, each so many; a block begins in a new row.
        width: of the figure.
        size: of a panel with its texts: the least width, and the height where there is room.
        rest: height of the legend and of the title.

    >>> fitted([2], 6.8, (1.9, 2.5), 0.5), fitted([4], 3.3, (1.9, 2.5), 0.5), fitted([6], 3.3, (1.9, 2.5), 0.5)
    ((2, 3.0), (1, 8.0), (2, 8.0))
    """
    most, (least, high) = max(max(blocks, default=1), 1), size
    columns = fold(most, width, least)
    rows = _rows(blocks, columns)
    while (
        rows * min(high, LOWEST_INCHES) + rest > MOST_INCHES
        and columns < most
        and (width - LABELS_INCHES) / (columns + 1) >= NARROWEST_INCHES
    ):
        columns += 1
        rows = _rows(blocks, columns)
    return columns, min(rows * high, max(MOST_INCHES - rest, rows * min(high, LOWEST_INCHES))) + rest


def _rows(blocks: Sequence[int], columns: int) -> int:
    return max(1, sum(-(-n // columns) for n in blocks))


def panel_figure(
    n_panels: int, look: Look, size: tuple[float, float], rest: float = 0.5
) -> tuple[Figure, list[Axes], int]:
    """A figure of so many panels, one at least, as `fitted` places them; and how many stand side by side."""
    figure, (panels,), columns = block_figure([max(n_panels, 1)], look, size, rest)
    return figure, panels, columns


def row_figure(n_panels: int, look: Look, size: tuple[float, float]) -> tuple[Figure, list[Axes], int]:
    """The same of panels of rows: as high as these need, even beyond a page."""
    columns = fold(max(n_panels, 1), look.width, size[0])
    figure = blank_figure(look.width, size[1] * -(-max(n_panels, 1) // columns) + 0.35)
    return figure, panel_grid(figure, max(n_panels, 1), columns), columns


def block_figure(
    blocks: Sequence[int], look: Look, size: tuple[float, float], rest: float = 0.5
) -> tuple[Figure, list[list[Axes]], int]:
    """The same of panels in blocks, each of which begins in a new row."""
    columns, height = fitted(blocks, look.width, size, rest)
    figure = blank_figure(look.width, height)
    return figure, panel_blocks(figure, blocks, columns), columns


def panel_grid(figure: Figure, n_panels: int, columns: int) -> list[Axes]:
    """Axes in rows, from the upper left; places of the last row that stay over are left empty."""
    (panels,) = panel_blocks(figure, [n_panels], columns)
    return panels


def panel_blocks(figure: Figure, blocks: Sequence[int], columns: int) -> list[list[Axes]]:
    """Axes in rows, for each block so many of them; a block begins in a new row, and leaves its last places empty."""
    rows = [-(-n // columns) for n in blocks]
    grid = iter(figure.subplots(sum(rows), columns, squeeze=False))
    grids = []
    for n, n_rows in zip(blocks, rows, strict=True):
        places = [axes for _ in range(n_rows) for axes in next(grid)]
        for unused in places[n:]:
            unused.remove()
        grids.append(places[:n])
    return grids


@dataclass(frozen=True, slots=True)
class PanelPair:
    """A panel of a curve and a low one below it, of counts, with one horizontal axis."""

    curve: Axes
    counts: Axes
    left: bool  # whether it stands first in its row
    lowest: bool  # whether none stands below it


@dataclass(frozen=True, slots=True)
class PairSizes:
    """How large pairs are, in inches."""

    width: float = 1.3  # the least
    height: float = 2.4  # of a curve with its counts and its title
    counts: float = 0.25  # height of the counts as a share of the curve's


def panel_pairs(blocks: Sequence[int], look: Look, sizes: PairSizes) -> tuple[Figure, list[list[PanelPair]]]:
    """A figure of pairs: for each run a block of so many of them, which begins in a new row."""
    columns, height = fitted(blocks, look.width, (sizes.width, sizes.height), 0.6)
    places = [
        (sum(-(-n // columns) for n in blocks[:at]) + place // columns, place % columns)
        for at, n in enumerate(blocks)
        for place in range(n)
    ] or [(0, 0)]
    rows = 1 + max(row for row, _ in places)
    figure = blank_figure(look.width, height)
    grid = figure.subplots(2 * rows, columns, squeeze=False, height_ratios=(1, sizes.counts) * rows)
    lowest = {column: max(row for row, at in places if at == column) for _, column in places}
    by_place = {(row, column): _pair(grid, row, column, lowest[column] == row) for row, column in places}
    for at, axes in enumerate(grid.ravel()):
        if (at // columns // 2, at % columns) not in by_place:
            axes.remove()
    pairs = iter(by_place.values())
    return figure, [[next(pairs) for _ in range(n)] for n in blocks or (1,)]


def _pair(grid: Any, row: int, column: int, lowest: bool) -> PanelPair:
    from matplotlib.ticker import MaxNLocator

    pair = PanelPair(grid[2 * row, column], grid[2 * row + 1, column], column == 0, lowest)
    pair.counts.sharex(pair.curve)
    pair.curve.tick_params(labelbottom=False)
    pair.counts.yaxis.set_major_locator(MaxNLocator(2, integer=True))
    return pair


def share_axis(axes: Axes, which: Literal["x", "y", "both"]) -> None:
    """From 0 to 1, ticks at fifths, or at halves where the panel is narrow."""
    from matplotlib.ticker import MultipleLocator

    for name in ("x", "y") if which == "both" else (which,):
        axis = axes.xaxis if name == "x" else axes.yaxis
        axes.set(**{f"{name}lim": (-MARGIN, 1 + MARGIN)})
        axis.set_major_locator(MultipleLocator(0.2))
        axis.set_major_formatter("{x:.1f}")


def shares_from(panels: Sequence[Axes], values: Iterable[float]) -> None:
    """A vertical axis of shares that begins below the least of the values, the same in all panels.

    An axis that does not begin at 0 is marked as broken.
    """
    from matplotlib.ticker import MultipleLocator

    finite = [value for value in values if math.isfinite(value)]
    start = max(0.0, math.floor(10 * (min(finite, default=0.0) - 0.02)) / 10)
    start = 0.0 if start < 0.15 else min(start, 0.9)
    for axes in panels:
        axes.set_ylim(start - (2 * MARGIN if start else MARGIN) * (1 - start), 1 + MARGIN * (1 - start))
        axes.yaxis.set_major_locator(MultipleLocator(0.2 if start < 0.4 else 0.1 if start < 0.8 else 0.05))
        axes.yaxis.set_major_formatter("{x:.1f}" if start < 0.8 else "{x:.2f}")
        if start:
            break_mark(axes)


def break_mark(axes: Axes) -> None:
    """Two short strokes at the foot of the vertical axis: it does not begin at 0."""
    for height in (0.016, 0.038):
        axes.plot(
            [-0.025, 0.025], [height - 0.012, height + 0.012], transform=axes.transAxes, color=FAINT, linewidth=0.8,
            clip_on=False, gid="break", scalex=False, scaley=False,
        )  # fmt: skip


def legend_below(figure: Figure, entries: Mapping[str, Artist]) -> None:
    """The legend under the panels, in as many columns as the width holds; none for no entries.

    A figure with a long legend becomes higher, up to a page.
    """
    if not entries:
        return
    width = figure.get_figwidth() * POINTS_PER_INCH
    widest = max(len(label) for label in entries) * LETTER + SAMPLE + GAP
    columns = max(1, min(len(entries), int((width + GAP) // widest)))
    rows = -(-len(entries) // columns)
    height = figure.get_figheight()
    more = max(0.0, rows * LEGEND_ROW_INCHES - LEGEND_INCHES)
    figure.set_figheight(max(height, min(height + more, MOST_INCHES)))
    figure.legend(
        handles=list(entries.values()),
        labels=list(entries),
        loc="outside lower center",
        ncols=-(-len(entries) // rows),
        borderaxespad=0.2,
        columnspacing=1.2,
    )


def legends_in_gaps(
    figure: Figure, blocks: Sequence[Sequence[Axes]], columns: int, entries: Sequence[Mapping[str, Artist]]
) -> None:
    """The legend of each block in the places that its last row leaves empty; below the panels if one has no room.

    Fixes the layout.
    """
    fix_layout(figure)
    if all(_fills_gap(figure, panels, columns, entry) for panels, entry in zip(blocks, entries, strict=True)):
        figure.draw_without_rendering()
        return
    for legend in list(figure.legends):
        legend.remove()
    figure.set_layout_engine("constrained")
    legend_below(figure, {label: artist for entry in entries for label, artist in entry.items()})
    fix_layout(figure)


def _fills_gap(figure: Figure, panels: Sequence[Axes], columns: int, entries: Mapping[str, Artist]) -> bool:
    """Whether a block has empty places, and they hold its legend, which then stands there."""
    from matplotlib.transforms import Bbox

    if not len(panels) % columns or len(panels) < columns:
        return False
    row, above = panels[-1].get_position(), panels[-columns].get_position()
    gap = Bbox([[above.x0, row.y0], [panels[columns - 1].get_position().x1, row.y1]])
    legend = figure.legend(
        entries.values(), entries, loc="center left", bbox_to_anchor=gap, borderaxespad=0, borderpad=0
    )
    extent = legend.get_window_extent().transformed(figure.transFigure.inverted())
    return bool(extent.width <= gap.width + 0.01 and extent.height <= gap.height + 0.01)


def finish(figure: Figure, look: Look, entries: Mapping[str, Artist], title: str = "") -> None:
    """The title, the legend below the panels, and a layout that stays."""
    title_figure(figure, look, title)
    legend_below(figure, entries)
    fix_layout(figure)


def sample(**how: Any) -> Line2D:
    """What a legend shows of a line or of markers that are drawn with these arguments."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **how)


def interval_bars(axes: Axes, x: Floats, low: Floats, high: Floats, color: str) -> None:
    """A thin upright bar for each interval; none where it is NaN."""
    axes.vlines(x, low, high, color=color, linewidth=0.8)


def fix_layout(figure: Figure) -> None:
    """Lay the figure out once and for all: what is placed by its positions stays there, in every format."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def title_figure(figure: Figure, look: Look, default: str = "") -> None:
    """The title that was asked for, else the default, over all panels; in as many lines as it needs."""
    title = default if look.title is None else look.title
    if title:
        letters = max(10, int((look.width * POINTS_PER_INCH - 10) / BOLD_LETTER))
        figure.suptitle("\n".join(textwrap.wrap(title, letters)))


def title_panel(axes: Axes, title: str, note: str = "", heading: str = "", room: bool = False) -> None:
    """A title in bold, a note of one line below it, and a heading of the row above both, from the panel's left edge.

    A title that is wider than the panel goes on in a second line.

    A heading may run on over the next panels, which keep its line free: `room` says that the row has one.
    """
    lines = bool(note)
    title = wrapped(axes, title, TITLE_LETTER)
    axes.set_title(title, loc="left", pad=4 + lines * (NOTE_POINTS + 3))
    if note:
        _above(axes, note, 4, fontsize=NOTE_POINTS)
    height = 16 + lines * (NOTE_POINTS + 3) + title.count("\n") * LINE_POINTS
    if room:
        _above(axes, "\N{NO-BREAK SPACE}", height, fontsize=HEADING_POINTS)  # no wider than the panel
    if heading:
        _above(axes, heading, height, fontsize=HEADING_POINTS, fontweight="bold").set_in_layout(False)


def _above(axes: Axes, text: str, points: float, **how: Any) -> Text:
    return axes.annotate(text, (0, 1), xycoords="axes fraction", xytext=(0, points), textcoords="offset points", **how)


def outer_labels(panels: Sequence[Axes], columns: int, x: str, y: str) -> None:
    """Axis labels at the left and at the lowest panel of each column only: inner panels share them."""
    for at, axes in enumerate(panels):
        if at % columns == 0:
            axes.set_ylabel(y)
        if at + columns >= len(panels):
            axes.set_xlabel(wrapped(axes, x))


def wrapped(axes: Axes, text: str, letter: float = LABEL_LETTER) -> str:
    """A text in lines as wide as a panel, `letter` points a letter; words stay whole."""
    figure, grid = axes.figure.figure, axes.get_gridspec()
    if figure is None or grid is None:
        return text
    inches = (figure.get_figwidth() - LABELS_INCHES) / grid.ncols - 0.2
    letters = max(10, int(inches * POINTS_PER_INCH / letter))
    return "\n".join(textwrap.wrap(text, letters, break_long_words=False)) or text
