"""Stacked bars of the four combinations of two yes-no outcomes: a bar for each pair of ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.analysis.plots import frame
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.style import FAINT, INK, style_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR_INCHES, LEAST_INCHES = 0.62, 1.0
NARROW = 0.055  # share of a part that has no room for its number
FIRST, SECOND, THIRD = 0, 1, 2  # places in the palette: both, the first alone, the second alone


@dataclass(frozen=True, slots=True)
class Quarters:
    """One bar."""

    title: str
    facts: int
    names: tuple[str, str, str, str]  # of the parts: both, the first alone, the second alone, neither
    shares: tuple[float, float, float, float]  # in [0, 1], 1 together


def draw_quarters(several: Sequence[Quarters], look: Look = DEFAULT_LOOK) -> Figure:
    """A bar for each, its parts in the order of their names, each with its share in percent."""
    figure = frame.blank_figure(look.width, max(LEAST_INCHES, BAR_INCHES * len(several)) + 0.7)
    (axes,) = frame.panel_grid(figure, 1, 1)
    for at, own in enumerate(several):
        _draw(axes, own, at)
    axes.set_ylim(len(several) - 0.35, -0.75)
    axes.set_yticks([])
    axes.set_xlim(0, 1)
    axes.set_xlabel("Share of the facts")
    axes.xaxis.set_major_formatter("{x:.1f}")
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    names = several[0].names if several else ()
    samples = zip(names, _colours(), strict=False)
    entries = {
        name: frame.sample(color=colour, alpha=alpha, marker="s", markersize=7, linestyle="none")
        for name, (colour, alpha) in samples
    }
    frame.finish(figure, look, entries)
    return figure


def _colours() -> tuple[tuple[str, float], ...]:
    """Of the four parts, each with its opacity."""
    return (*((style_at(place).color, 0.65) for place in (FIRST, SECOND, THIRD)), (FAINT, 0.35))


def _draw(axes: Axes, own: Quarters, at: int) -> None:
    start = 0.0
    for share, (colour, alpha) in zip(own.shares, _colours(), strict=True):
        axes.barh(at, share, left=start, height=0.5, color=colour, alpha=alpha, linewidth=0)
        if share >= NARROW:
            axes.text(start + share / 2, at, f"{100 * share:.0f}", ha="center", va="center", color=INK)
        start += share
    axes.text(0, at - 0.33, f"{own.title}, {own.facts:,} facts", ha="left", va="bottom", color=INK)
