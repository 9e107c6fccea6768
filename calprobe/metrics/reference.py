"""What a perfectly calibrated model with the same confidences would show of an error, by chance alone.

The draws are those that intervals of biased errors are made from (`bootstrap`): correctness drawn anew, with each
confidence as its probability.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import numpy as np

from calprobe.arrays import Floats
from calprobe.metrics.metric import Metric, ReferenceMetric

CHANCE_LEVEL = 0.95  # of the draws, that the larger number of two is above
ROUNDING = 1e-12  # an error that is drawn again exactly must count as drawn
SOURCE = "consistency resampling, Bröcker and Smith 2007"


def p_of_calibration(value: float, by_chance: Floats) -> float:
    """The share of draws of perfect calibration with an error of at least the value: `(1 + #) / (1 + draws)`.

    Source: Bröcker and Smith 2007, "Increasing the Reliability of Reliability Diagrams"; Vaicenavicius et al. 2019.
    One-sided, in (0, 1]; NaN for a value that is, or without draws.

    >>> p_of_calibration(0.3, np.array([0.1, 0.2, 0.3, 0.4]))
    0.6
    """
    if np.isnan(value) or not len(by_chance):
        return float("nan")
    return float(1 + np.count_nonzero(by_chance >= value - ROUNDING)) / (1 + len(by_chance))


def reference_metrics(errors: Iterable[Metric]) -> Iterator[ReferenceMetric]:
    """Of ACE and ECE the mean and the 95th percentile if calibrated, of the largest gap the latter; p-values of these.

    Those of other errors are left out.
    """
    for error in errors:
        yield from _references(error, SHOWN.get(error.name, ()))


def chance_metrics(error: Metric) -> tuple[ReferenceMetric, ...]:
    """What a table shows beside an error of few questions: its mean if calibrated, and p; of any biased metric.

    >>> from calprobe.metrics.scoring_rules import BRIER
    >>> [metric.name for metric in chance_metrics(BRIER)]
    ['brier_if_calibrated', 'brier_p']
    """
    return tuple(_references(error, ("mean", "p")))


def _references(error: Metric, kinds: Container[str]) -> Iterator[ReferenceMetric]:
    for kind, compute, name, title, definition in KINDS:
        if kind in kinds:
            yield ReferenceMetric(
                name.format(error.name),
                title.format(error.title),
                definition.format(error.title),
                None,
                error.name,
                compute,
                source=SOURCE,
                priority=PRIORITIES.get(name.format(error.name)),
            )


def _mean(_value: float, by_chance: Floats) -> tuple[float, float, float]:
    low, high = np.quantile(by_chance, [0.025, 0.975])
    return float(by_chance.mean()), float(low), float(high)


def _high(_value: float, by_chance: Floats) -> tuple[float, float, float]:
    return float(np.quantile(by_chance, CHANCE_LEVEL)), float("nan"), float("nan")


def _p_value(value: float, by_chance: Floats) -> tuple[float, float, float]:
    return p_of_calibration(value, by_chance), float("nan"), float("nan")


KINDS = (
    (
        "mean",
        _mean,
        "{}_if_calibrated",
        "{} if cal.",
        "mean {} of a perfectly calibrated model with the same confidences; 95 % of draws",
    ),
    ("p95", _high, "{}_if_calibrated_p95", "{} if cal. p95", "95th percentile of {} of a perfectly calibrated model"),
    ("p", _p_value, "{}_p", "{} p", "p-value of perfect calibration: share of its draws with at least this {}"),
)
SHOWN = {
    "ace": ("mean", "p95", "p"),
    "ece": ("mean", "p95", "p"),
    "max_calibration_error": ("p95", "p"),
    "smooth_ece": ("p",),
    "ecce_mad": ("p",),
    "ecce_range": ("p",),
    "brier_mcb": ("p",),
}
PRIORITIES = {"ace_if_calibrated": 11, "ace_p": 12}
