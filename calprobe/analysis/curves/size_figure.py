"""Size against spread: a point for each run, at its number of parameters, a mark for each reader of answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calprobe.analysis.plots import frame
from calprobe.analysis.plots.families import families
from calprobe.analysis.plots.labels import Label
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.named_points import write_names
from calprobe.analysis.plots.style import FAINT, style_at
from calprobe.metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from calprobe.arrays import Floats

PANEL_INCHES = 2.6  # height
LEAST_INCHES = 2.6  # width
APART = 0.015  # between the marks of two readers, as a share of the axis
ROOM = 0.06  # beside the smallest and the largest model, as a share of the range
_FAMILY: dict[str, Any] = {"color": FAINT, "linewidth": 0.8, "zorder": 1.1}


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
        return tuple(tuple(self.models.index(model) for model in own) for own in families(once))

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


def draw_sizes(panels: Sequence[SizePanel], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each set: names at the points of the first reader, families joined by lines, rho below the title."""
    figure, grid, columns = frame.panel_figure(len(panels), look, (LEAST_INCHES, PANEL_INCHES))
    entries: dict[str, Artist] = {}
    for axes, own in zip(grid, panels, strict=False):
        _draw(axes, own, entries)
        frame.title_panel(axes, own.title, spelled_rho(own.series[0].rho, own.series[0].reader, len(own.names)))
    frame.outer_labels(grid, columns, "Parameters", "Spread over variants")
    frame.title_figure(figure, look)
    if any(own.family_paths for own in panels):
        entries["models of one family"] = frame.sample(**_FAMILY)
    named = {name: frame.sample(linestyle="none") for own in panels for name in own.names}
    write_names(figure, [(axes, _labels(own)) for axes, own in zip(grid, panels, strict=False)], named, entries)
    return figure


def spelled_rho(rho: Estimate, reader: str, runs: int) -> str:
    """The correlation under a reader, in a few words."""
    if math.isnan(rho.value):
        return f"{runs} runs: " + ("no correlation of fewer than 4" if runs < 4 else "no correlation")
    ends = "" if math.isnan(rho.low) else f" ({rho.low:z.2f} to {rho.high:z.2f})"
    return f"{reader}: ρ = {rho.value:z.2f}{ends}, n = {runs}".replace("-", "−")


def _draw(axes: Axes, own: SizePanel, entries: dict[str, Artist]) -> None:
    for at, series in enumerate(own.series):
        style, x = style_at(series.place), own.places(at)
        low, high = (np.array([getattr(found, end) for found in series.spread]) for end in ("low", "high"))
        values = np.array([found.value for found in series.spread])
        frame.interval_bars(axes, x, low, high, style.color)
        axes.plot(x, values, **style.dots())
        entries[series.reader] = frame.sample(**style.dots())
    first = np.array([found.value for found in own.series[0].spread])
    for path in own.family_paths:
        axes.plot(own.places(0)[list(path)], first[list(path)], **_FAMILY)
    axes.set_xlim(own.exponents)
    ticks = size_ticks(own.exponents)
    axes.set_xticks(ticks, [short_count(10**tick) for tick in ticks])
    axes.set_ylim(bottom=0)


def _labels(own: SizePanel) -> list[Label]:
    points = zip(own.names, own.places(0).tolist(), own.series[0].spread, strict=True)
    return [Label(name, at, found.value) for name, at, found in points if math.isfinite(found.value)]
