"""Stacked bars of the four combinations of two yes-no outcomes: a bar for each pair of ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calprobe.show.marks import Panel, Scale, Series, Texts, Tiles

BAR_INCHES, REST_INCHES = 0.54, 0.6  # heights: of a bar with its title, and of the axis
PLACES = (0, 1, 2, 7)  # in the palette: both, the first alone, the second alone, neither


@dataclass(frozen=True, slots=True)
class Quarters:
    """One bar."""

    title: str
    facts: int
    names: tuple[str, str, str, str]  # of the parts: both, the first alone, the second alone, neither
    shares: tuple[float, float, float, float]  # in [0, 1], 1 together


@dataclass(frozen=True, slots=True)
class QuarterBars:
    """All bars in one panel."""

    bars: tuple[Quarters, ...]
    title: str = ""

    @property
    def panel(self) -> Panel:
        """The parts of each in the order of their names, with their shares in percent."""
        rows = tuple(map(float, range(len(self.bars))))
        heads = tuple(f"{bar.title}, {bar.facts:,} facts" for bar in self.bars)
        titles = Texts((0.0,) * len(rows), tuple(at - 0.33 for at in rows), heads, fixed=True)
        names = self.bars[0].names if self.bars else ()
        series = tuple(Series(name, PLACES[place], (_part(self.bars, place),)) for place, name in enumerate(names))
        across, down = Scale("share of the facts", "share"), Scale.of_rows([""] * len(rows), BAR_INCHES, grid=False)
        label = "Shares of the facts that both ways, one or neither get right, a bar a pair."
        return Panel(self.title, across, down, series, (titles,), label=label, size=(2.6, REST_INCHES))


def _part(bars: Sequence[Quarters], place: int) -> Tiles:
    return Tiles(
        tuple(map(float, range(len(bars)))),
        tuple(sum(bar.shares[:place]) for bar in bars),
        tuple(bar.shares[place] for bar in bars),
        tuple(f"{100 * bar.shares[place]:.0f}" for bar in bars),
        tuple(f"{bar.names[place]}: {bar.shares[place]:.3f} of {bar.facts:,} facts" for bar in bars),
        None if place < len(PLACES) - 1 else (),  # neither is grey
        thick=0.5,
    )
