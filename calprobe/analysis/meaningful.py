"""Which metrics have a meaning for an estimator: one rule for reports, slices, comparisons and curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from calprobe.confidence import Estimator
from calprobe.errors import UsageError
from calprobe.metrics import ACCURACY, Metric, RankMetric


def is_meaningful(metric: Metric, estimator: Estimator) -> bool:
    """Whether a metric judges what an estimator's confidences say.

    Where they are no probabilities, only accuracy and metrics of their order do.
    """
    if metric.name in estimator.lacks:
        return False
    return estimator.scale == "probability" or isinstance(metric, RankMetric) or metric.name == ACCURACY.name


def meaningful(metrics: Iterable[Metric], estimator: Estimator) -> tuple[Metric, ...]:
    """Those of the metrics that judge what an estimator's confidences say, in their order."""
    return tuple(metric for metric in metrics if is_meaningful(metric, estimator))


def refuse_meaningless(metrics: Sequence[Metric], estimator: Estimator) -> None:
    """Raise UsageError if none of the metrics has a meaning for an estimator that was asked for."""
    if not meaningful(metrics, estimator):
        names = ", ".join(metric.name for metric in metrics)
        raise UsageError(
            f"{estimator.name}: {names} have no meaning for it (methods.md, estimators); use --metric auroc"
        )
