"""The share of the wording against the number of samples, beside the exact one that sampled shares converge to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from calprobe.measures.number_text import number
from calprobe.messages import counted
from calprobe.metrics import Estimate
from calprobe.show.marks import Line, Panel, Points, Scale, Series

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
        plans = zip(self.samples, self.values[field], strict=True)
        return [(math.log2(n), n, mean, spread) for n, (mean, spread) in plans if math.isfinite(mean)]

    @property
    def panel(self) -> Panel:
        """Means with bars of one standard deviation over the draws, and lines at the exact shares."""
        ticks = tuple((math.log2(n), str(n)) for n in self.samples)
        across = Scale(self.across, ends=(ticks[0][0] - 0.2, ticks[-1][0] + 0.2), ticks=ticks)
        series = tuple(Series(name, at, tuple(_marks(self, field))) for at, (field, name) in enumerate(SHARES.items()))
        label = f"Share of the wording by number of samples, {self.title}."
        return Panel(self.title, across, Scale("share of the variance", "zero"), series, label=label, size=(2.6, 2.8))


def _marks(panel: SharePanel, field: str) -> Iterator[Points | Line]:
    points = panel.points(field)
    values = tuple(Estimate(mean, mean - spread, mean + spread) for _, _, mean, spread in points)
    tips = tuple(f"{SHARES[field]}, {n} samples: {number(mean)}" for _, n, mean, _ in points)
    yield Points(tuple(x for x, *_ in points), values, tips, joined=True)
    if field in panel.exact and field != "by_chance":
        yield Line((), (panel.exact[field],), "exact", EXACT)
