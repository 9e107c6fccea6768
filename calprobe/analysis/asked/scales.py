"""Which metrics judge an estimator of asked runs, and what of it they see: one rule for reports and comparisons."""

from __future__ import annotations

from collections.abc import Iterable

from calprobe.arrays import Floats
from calprobe.confidence.asked.entry import Scale
from calprobe.metrics import ACCURACY, Metric, RankMetric, ordinal_confidence


def judging(metrics: Iterable[Metric], scale: Scale) -> tuple[Metric, ...]:
    """Those of the metrics that have a meaning: of an uncertainty without a scale that of its order, and accuracy."""
    return tuple(
        own for own in metrics if scale == "probability" or isinstance(own, RankMetric) or own.name == ACCURACY.name
    )


def as_confidence(values: Floats, scale: Scale) -> Floats:
    """Confidences as they are; of uncertainties their ranks, the least sure 0: no metric of order sees a difference."""
    return ordinal_confidence(values, uncertainty=True) if scale == "uncertainty" else values
