"""Stacked bars of the four combinations of two yes-no outcomes: a bar for each pair of ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.analysis.marks import Panel, Scale, Series, Texts, Tiles
from calprobe.analysis.plots import paper
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAR_INCHES, SIZE = 0.54, (2.6, 0.6)  # height of a bar with its title; width of the panel, and its height without bars
PLACES = (0, 1, 2, 7)  # in the palette: both, the first alone, the second alone, neither


@dataclass(frozen=True, slots=True)
class Quarters:
    """One bar."""

    title: str
    facts: int
    names: tuple[str, str, str, str]  # of the parts: both, the first alone, the second alone, neither
    shares: tuple[float, float, float, float]  # in [0, 1], 1 together


def composed(several: Sequence[Quarters]) -> Panel:
    """A bar for each, its parts in the order of their names, each with its share in percent."""
    rows = tuple(map(float, range(len(several))))
    heads = tuple(f"{own.title}, {own.facts:,} facts" for own in several)
    titles = Texts((0.0,) * len(rows), tuple(at - 0.33 for at in rows), heads, fixed=True)
    names = several[0].names if several else ()
    series = tuple(Series(name, PLACES[part], (_part(several, part),)) for part, name in enumerate(names))
    down = Scale.of_rows([""] * len(rows), BAR_INCHES, grid=False)
    return Panel("", Scale("share of the facts", "share"), down, series, (titles,))


def _part(several: Sequence[Quarters], part: int) -> Tiles:
    return Tiles(
        tuple(map(float, range(len(several)))),
        tuple(sum(own.shares[:part]) for own in several),
        tuple(own.shares[part] for own in several),
        tuple(f"{100 * own.shares[part]:.0f}" for own in several),
        tuple(f"{own.names[part]}: {own.shares[part]:.3f} of {own.facts:,} facts" for own in several),
        None if part < len(PLACES) - 1 else (),  # neither is grey
        thick=0.5,
    )


def draw_quarters(several: Sequence[Quarters], look: Look = DEFAULT_LOOK) -> Figure:
    """All bars in one panel."""
    return paper.draw([composed(several)], look, SIZE)
