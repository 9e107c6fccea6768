"""What a metric hands back: its value, and the bins or the points that it was computed from, for plots to draw."""

from __future__ import annotations

from dataclasses import dataclass

from calprobe.arrays import Floats
from calprobe.metrics.bins import Bins
from calprobe.metrics.smoothing import SmoothedGap


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of a curve, in the order they are drawn."""

    x: Floats  # [points]
    y: Floats  # [points]
    # [points], the point counts instances of at least this confidence; inf: none. A curve with a point for each number
    # of instances kept has points within ties too: what is expected if some of a tie are kept, drawn at random.
    threshold: Floats


@dataclass(frozen=True, slots=True)
class MetricResult:
    """A metric's value, NaN where it is undefined; `float(result)` gives it too."""

    value: float
    bins: Bins | None = None  # of binned metrics
    curve: Curve | None = None  # of ranking metrics
    smoothed: SmoothedGap | None = None  # of smooth ECE

    def __float__(self) -> float:
        return self.value
