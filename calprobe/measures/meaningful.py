"""Which metrics have a meaning for an estimator: one rule for reports, slices, comparisons and curves of any run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from calprobe.confidence import Estimator
from calprobe.errors import UsageError
from calprobe.metrics import ACCURACY, Metric, RankMetric


def of_scale(metrics: Iterable[Metric], scale: str) -> tuple[Metric, ...]:
    """Those of the metrics that judge confidences of a scale: where it is no probability, accuracy and those of order.

    >>> from calprobe.metrics import ACCURACY
    >>> from calprobe.metrics.ranking import AUROC
    >>> from calprobe.metrics.scoring_rules import BRIER
    >>> [metric.name for metric in of_scale([ACCURACY, BRIER, AUROC], "uncertainty")]
    ['accuracy', 'auroc']
    """
    return tuple(
        metric
        for metric in metrics
        if scale == "probability" or isinstance(metric, RankMetric) or metric.name == ACCURACY.name
    )


def is_meaningful(metric: Metric, estimator: Estimator) -> bool:
    """Whether a metric judges what an estimator's confidences say."""
    return metric.name not in estimator.lacks and bool(of_scale([metric], estimator.scale))


def meaningful(metrics: Iterable[Metric], estimator: Estimator) -> tuple[Metric, ...]:
    """Those of the metrics that judge what an estimator's confidences say, in their order."""
    return tuple(metric for metric in metrics if is_meaningful(metric, estimator))


def refuse_meaningless(metrics: Sequence[Metric], estimator: Estimator) -> None:
    """Raise UsageError if none of the metrics has a meaning for an estimator that was asked for."""
    if not meaningful(metrics, estimator):
        names = ", ".join(metric.name for metric in metrics)
        raise UsageError(
            f"{estimator.name}: {names} have no meaning for it (docs/methods/estimators.md); use --metric auroc"
        )
