"""Stacked bars: for each set or run, the share of its confidences that each value has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.analysis.plots import frame
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.style import FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR_INCHES, REST_INCHES = 0.26, 0.75  # heights: of a bar with the gap below it, of title and axis
LEAST_INCHES = 2.6  # width of a panel
REST = (FAINT, 0.35)  # the colour of other values
THICK = 0.8  # of a bar, as a share of its place
LETTER = 4.2  # width of a letter in a part, points
SHADES = 0.1, 0.6  # of the values 0 and 1, of the colour map: that of 0 is seen, and ink is readable on that of 1


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a bar."""

    name: str  # the value as it is written, a range of values, or how many others there are
    share: float  # in (0, 1]
    value: float | None  # in [0, 1]; None: other values, grey

    @property
    def shade(self) -> float:
        """How dark it is, in [0, 1]: most confidences are stated near 1, so shades lie farther apart there."""
        return 0.0 if self.value is None else self.value**2

    @property
    def said(self) -> str:
        """What it stands for, in words."""
        return f"{self.name}: {self.share:.1%}"


@dataclass(frozen=True, slots=True)
class StackedShares:
    """One panel."""

    title: str
    of: str  # what a bar is: a set, a run
    bars: tuple[str, ...]
    parts: tuple[tuple[Part, ...], ...]  # [bars]; the shares of each add up to 1

    def placed(self, bar: int) -> Iterator[tuple[float, Part]]:
        """The parts of a bar with the places where they begin."""
        start = 0.0
        for part in self.parts[bar]:
            yield start, part
            start += part.share


def draw_stacked_shares(several: Sequence[StackedShares], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each, its bars one below the other; the larger a value, the darker."""
    from matplotlib.patches import Patch

    bars = max((len(own.bars) for own in several), default=1)
    size = LEAST_INCHES, BAR_INCHES * bars + REST_INCHES
    named = any(part.value is None for own in several for parts in own.parts for part in parts)
    figure, panels, columns = frame.panel_figure(len(several), look, size, rest=0.3 if named else 0.1)
    for axes, own in zip(panels, several, strict=False):
        _draw(axes, own)
        axes.set_ylim(bars - 0.5, -0.5)
        frame.title_panel(axes, own.title)
    frame.outer_labels(panels, columns, "Share of the confidences", "")
    frame.title_figure(figure, look)
    frame.legend_below(figure, {"other values, and how many they are": Patch(facecolor=REST)} if named else {})
    figure.draw_without_rendering()  # only then it is known how wide a panel is
    for axes, own in zip(panels, several, strict=False):
        _write(axes, own)
    frame.fix_layout(figure)
    return figure


def _draw(axes: Axes, own: StackedShares) -> None:
    from matplotlib import colormaps

    shades = colormaps["Blues"]
    for at in range(len(own.bars)):
        for start, part in own.placed(at):
            color = REST if part.value is None else shades(SHADES[0] + part.shade * (SHADES[1] - SHADES[0]))
            axes.barh(at, part.share, THICK, start, color=color, edgecolor="white", linewidth=0.6)
    axes.set_yticks(range(len(own.bars)), own.bars)
    axes.grid(visible=False, axis="y")
    frame.share_axis(axes, "x")


def _write(axes: Axes, own: StackedShares) -> None:
    """The names of the parts that are wide enough for them."""
    low, high = axes.get_xlim()
    points = axes.get_window_extent().width / axes.figure.dpi * frame.POINTS_PER_INCH / (high - low)
    for at in range(len(own.bars)):
        for start, part in own.placed(at):
            if part.share * points > len(part.name) * LETTER:
                middle = start + part.share / 2
                axes.text(middle, at, part.name, ha="center", va="center", color=INK, fontsize=6.5)
