"""Size against spread: a point for each run, at its number of parameters, a mark for each reader of answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calprobe.arrays import Floats
from calprobe.measures.model_families import families
from calprobe.measures.number_text import spelled
from calprobe.metrics import Estimate
from calprobe.show.marks import Line, Panel, Points, Scale, Series, Texts

APART = 0.015  # between the marks of two readers, as a share of the axis
ROOM = 0.06  # beside the smallest and the largest model, as a share of the range


@dataclass(frozen=True, slots=True)
class SizeSeries:
    """The spreads that one reader gives."""

    reader: str
    place: int  # in the palette, the same in all sets
    spread: tuple[Estimate, ...]  # [runs]; NaN where a run has none under this reader
    rho: Estimate


@dataclass(frozen=True, slots=True)
class SizePanel:
    """One set: the models by size, and their spreads under each reader."""

    title: str
    names: tuple[str, ...]  # [runs], as they are called
    models: tuple[str, ...]  # [runs]
    parameters: tuple[int, ...]  # [runs], ascending
    series: tuple[SizeSeries, ...]

    @property
    def family_paths(self) -> tuple[tuple[int, ...], ...]:
        """The places of the models of each family, the smaller first; a model with two runs is in none."""
        once = [model for model in self.models if self.models.count(model) == 1]
        return tuple(tuple(self.models.index(model) for model in family) for family in families(once))

    def places(self, series: int) -> Floats:
        """Where the points of a reader stand, [runs]: at the exponents of the sizes, beside those of other readers."""
        low, high = self.exponents
        shift = APART * (high - low) * (series - (len(self.series) - 1) / 2)
        return np.log10(np.array(self.parameters, np.float64)) + shift

    @property
    def exponents(self) -> tuple[float, float]:
        """Ends of an axis of powers of ten, with room beside the points."""
        low, high = math.log10(self.parameters[0]), math.log10(self.parameters[-1])
        room = max(ROOM * (high - low), 0.05)
        return low - room, high + room

    @property
    def panel(self) -> Panel:
        """Names at the points of the first reader, families joined by lines, rho below the title."""
        ticks = tuple((tick, short_count(10**tick)) for tick in size_ticks(self.exponents))
        across, first = Scale("parameters", ends=self.exponents, ticks=ticks), self.series[0]
        x, y = self.places(0).tolist(), [estimate.value for estimate in first.spread]
        paths = tuple(
            Line(tuple(x[at] for at in path), tuple(y[at] for at in path), "family", "models of one family")
            for path in self.family_paths
        )
        places = [at for at, value in enumerate(y) if math.isfinite(value)]
        names = Texts(
            tuple(x[at] for at in places), tuple(y[at] for at in places), tuple(self.names[at] for at in places)
        )
        series = tuple(
            Series(reader.reader, reader.place, (_points(self, at),)) for at, reader in enumerate(self.series)
        )
        note = spelled_rho(first.rho, first.reader, len(self.names))
        label = f"Parameters and spread on {self.title}, by reader of answers."
        upward = Scale("spread over variants", "zero")
        return Panel(self.title, across, upward, series, (*paths, names), note, label=label)


def short_count(parameters: float) -> str:
    """A number of parameters as models are named by it.

    >>> short_count(134_515_008), short_count(7_615_616_512), short_count(500_000)
    ('135M', '7.6B', '500K')
    """
    for unit, size in (("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if parameters >= 0.9995 * size:
            return f"{parameters / size:.3g}{unit}" if parameters >= 9.95 * size else f"{parameters / size:.2g}{unit}"
    return f"{parameters:g}"


def size_ticks(ends: tuple[float, float]) -> tuple[float, ...]:
    """Exponents where labels of an axis of parameters stand: 1, 2 and 5 times powers of ten, powers alone if many.

    >>> [round(10**tick / 1e6) for tick in size_ticks((8.0, 9.0))]
    [100, 200, 500, 1000]
    """
    steps = [
        math.log10(factor) + power
        for power in range(math.floor(ends[0]), math.ceil(ends[1]) + 1)
        for factor in (1, 2, 5)
    ]
    within = tuple(step for step in steps if ends[0] - 1e-9 <= step <= ends[1] + 1e-9)
    return within if len(within) < 7 else tuple(step for step in within if math.isclose(step, round(step)))


def _points(panel: SizePanel, at: int) -> Points:
    models = zip(panel.names, panel.parameters, panel.series[at].spread, strict=True)
    reader = panel.series[at].reader
    tips = tuple(f"{name}, {n:,} parameters, {reader}: {spelled(spread)}" for name, n, spread in models)
    return Points(tuple(panel.places(at).tolist()), panel.series[at].spread, tips)


def spelled_rho(rho: Estimate, reader: str, runs: int) -> str:
    """The correlation under a reader, in a few words."""
    if math.isnan(rho.value):
        return f"{runs} runs: " + ("no correlation of fewer than 4" if runs < 4 else "no correlation")
    ends = "" if math.isnan(rho.low) else f" ({rho.low:z.2f} to {rho.high:z.2f})"
    return f"{reader}: ρ = {rho.value:z.2f}{ends}, n = {runs}".replace("-", "−")
