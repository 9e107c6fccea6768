"""The metrics of the studies of science questions: by name, with what chance makes of ECE with 15 bins."""

from __future__ import annotations

from collections.abc import Container, Iterator

from calprobe.metrics import Metric, standard_metrics
from calprobe.metrics.calibration import ACE_BINS
from calprobe.metrics.reference import chance_metrics

ECE_15 = "ece_15"


def named_metrics(names: Container[str], ace_bins: int | None = ACE_BINS) -> list[Metric]:
    """Those of a report that are named, in its order; behind ECE with 15 bins its mean if calibrated, and p."""
    return list(_named(names, ace_bins))


def _named(names: Container[str], ace_bins: int | None) -> Iterator[Metric]:
    for metric in standard_metrics(ace_bins):
        if metric.name in names:
            yield metric
            yield from chance_metrics(metric) if metric.name == ECE_15 else ()
