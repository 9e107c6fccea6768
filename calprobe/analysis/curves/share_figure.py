"""The share of the wording against the number of samples, beside the exact one that sampled shares converge to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.analysis.marks import Line, Panel, Points, Scale, Series
from calprobe.analysis.number_text import number
from calprobe.analysis.plots import paper
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.messages import counted
from calprobe.metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = 2.6, 2.8  # of a panel, inches
SHARES: Mapping[str, str] = {"ratio_of_sums": "ratio", "unbiased": "rho*", "by_chance": "by chance"}  # field -> name
EXACT = "exact"


@dataclass(frozen=True, slots=True)
class SharePanel:
    """The plans with all wordings, of one set under one variant and one way to put answers as points."""

    title: str
    wordings: int
    samples: tuple[int, ...]  # of each wording, ascending
    # By field of `SHARES`: mean and standard deviation over the draws, for each number of samples
    values: Mapping[str, tuple[tuple[float, float], ...]]
    exact: Mapping[str, float]  # by field: of label probabilities; empty where these are not known

    @property
    def across(self) -> str:
        """What stands below the axis."""
        return f"samples of each of {counted(self.wordings, 'wording')}"

    def points(self, field: str) -> list[tuple[float, int, float, float]]:
        """Of a share: place on an axis of powers of two, samples, mean and deviation; where it is defined."""
        known = zip(self.samples, self.values[field], strict=True)
        return [(math.log2(n), n, mean, spread) for n, (mean, spread) in known if math.isfinite(mean)]


def composed(own: SharePanel) -> Panel:
    """Means with bars of one standard deviation over the draws, and lines at the exact shares."""
    ticks = tuple((math.log2(n), str(n)) for n in own.samples)
    across = Scale(own.across, ends=(ticks[0][0] - 0.2, ticks[-1][0] + 0.2), ticks=ticks)
    series = tuple(Series(name, at, tuple(_marks(own, field))) for at, (field, name) in enumerate(SHARES.items()))
    return Panel(own.title, across, Scale("share of the variance", "zero"), series)


def _marks(own: SharePanel, field: str) -> Iterator[Points | Line]:
    points = own.points(field)
    values = tuple(Estimate(mean, mean - spread, mean + spread) for _, _, mean, spread in points)
    said = tuple(f"{SHARES[field]}, {n} samples: {number(mean)}" for _, n, mean, _ in points)
    yield Points(tuple(x for x, *_ in points), values, said, joined=True)
    if field in own.exact and field != "by_chance":
        yield Line((), (own.exact[field],), "exact", EXACT)


def draw_shares(panels: Sequence[SharePanel], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each."""
    return paper.draw([composed(own) for own in panels], look, SIZE)
