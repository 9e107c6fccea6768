"""What every figure of the package has: panels in a grid, axes of shares, a legend below the data, a fixed layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from calprobe.analysis.plots.style import PAGE_INCHES

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from calprobe.arrays import Floats

POINTS_PER_INCH = 72
LETTER, SAMPLE, GAP = 4.0, 28.0, 8.5  # widths in a legend, points: of a letter, of a line with its space, of a gap
NOTE_POINTS = 7
SLANTED: Mapping[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}  # of labels at ticks
PAIR_INCHES = 2.9  # height of a curve with its counts
PAIR_HEIGHTS = (4, 1)  # of the curve and of the counts
MARGIN = 0.03  # of a share axis beyond 0 and 1, so that points on them are seen whole


def blank_figure(width: float, height: float) -> Figure:
    """A figure of its own, in inches, that no pyplot knows; its layout makes room for what stands around panels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def columns_for(n_panels: int, width: float) -> int:
    """Panels side by side: one in a column, up to three on a page, as even as they go."""
    most = 1 if width < PAGE_INCHES * 0.75 else 3
    return 2 if n_panels == 4 and most == 3 else max(1, min(most, n_panels))


def panel_grid(figure: Figure, n_panels: int, columns: int) -> list[Axes]:
    """Axes in rows, from the upper left; places of the last row that stay over are left empty."""
    rows = -(-n_panels // columns)
    grid = figure.subplots(rows, columns, squeeze=False)
    every: list[Axes] = list(grid.ravel())
    for unused in every[n_panels:]:
        unused.remove()
    return every[:n_panels]


@dataclass(frozen=True, slots=True)
class PanelPair:
    """A panel of a curve and a low one below it, of counts, with one horizontal axis."""

    curve: Axes
    counts: Axes


def panel_pairs(n_pairs: int, width: float) -> tuple[Figure, list[PanelPair], int]:
    """A figure of pairs in rows, from the upper left, and how many stand side by side."""
    from matplotlib.ticker import MaxNLocator

    columns = columns_for(n_pairs, width)
    rows = max(1, -(-n_pairs // columns))
    figure = blank_figure(width, PAIR_INCHES * rows + 0.5)
    grid = figure.subplots(2 * rows, columns, squeeze=False, height_ratios=PAIR_HEIGHTS * rows)
    pairs = [
        PanelPair(curve, counts)
        for above, below in zip(grid[::2], grid[1::2], strict=True)
        for curve, counts in zip(above, below, strict=True)
    ]
    for unused in pairs[max(1, n_pairs) :]:
        unused.curve.remove()
        unused.counts.remove()
    for pair in pairs[:n_pairs]:
        pair.counts.sharex(pair.curve)
        pair.curve.tick_params(labelbottom=False)
        pair.counts.yaxis.set_major_locator(MaxNLocator(2, integer=True))
    return figure, pairs[: max(1, n_pairs)], columns


def share_axis(axes: Axes, which: Literal["x", "y", "both"]) -> None:
    """From 0 to 1, ticks at fifths."""
    from matplotlib.ticker import MultipleLocator

    for name in ("x", "y") if which == "both" else (which,):
        axis = axes.xaxis if name == "x" else axes.yaxis
        axes.set(**{f"{name}lim": (-MARGIN, 1 + MARGIN)})
        axis.set_major_locator(MultipleLocator(0.2))
        axis.set_major_formatter("{x:.1f}")


def legend_below(figure: Figure, entries: Mapping[str, Artist]) -> None:
    """The legend under the panels, in as many columns as the width holds; none for no entries."""
    if not entries:
        return
    width = figure.get_figwidth() * POINTS_PER_INCH
    widest = max(len(label) for label in entries) * LETTER + SAMPLE + GAP
    columns = max(1, min(len(entries), int((width + GAP) // widest)))
    rows = -(-len(entries) // columns)
    figure.legend(
        handles=list(entries.values()),
        labels=list(entries),
        loc="outside lower center",
        ncols=-(-len(entries) // rows),
        borderaxespad=0.2,
        columnspacing=1.2,
    )


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


def title_panel(axes: Axes, title: str, note: str) -> None:
    """A title in bold and a note of one line below it, above the panel's left edge."""
    axes.set_title(title, loc="left", pad=NOTE_POINTS * 2)
    axes.annotate(
        note, (0, 1), xycoords="axes fraction", xytext=(0, 4), textcoords="offset points", fontsize=NOTE_POINTS
    )


def outer_labels(panels: Sequence[Axes], columns: int, x: str, y: str) -> None:
    """Axis labels at the left and at the lowest panel of each column only: inner panels share them."""
    for at, axes in enumerate(panels):
        if at % columns == 0:
            axes.set_ylabel(y)
        if at + columns >= len(panels):
            axes.set_xlabel(x)
