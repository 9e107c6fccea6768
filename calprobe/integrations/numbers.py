"""The calibration numbers that other tools are given, each of confidences and correctness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy.typing as npt

from calprobe import metrics
from calprobe.metrics import MetricResult


@dataclass(frozen=True, slots=True)
class Number:
    """A number of `calprobe.metrics` by name."""

    compute: Callable[[npt.ArrayLike, npt.ArrayLike], MetricResult]
    larger_is_better: bool

    def of(self, confidence: npt.ArrayLike, correct: npt.ArrayLike) -> float:
        """Its value; NaN without instances. Raises ValueError for a confidence outside [0, 1]."""
        return float(self.compute(confidence, correct).value)


NUMBERS: Mapping[str, Number] = {
    "ece": Number(metrics.ece, False),
    "ace": Number(metrics.ace, False),
    "smooth_ece": Number(metrics.smooth_ece, False),
    "brier": Number(metrics.brier, False),
    "nll": Number(metrics.nll, False),
    "auroc": Number(metrics.auroc, True),
    "aurc": Number(metrics.aurc, False),
    "mean_confidence": Number(metrics.mean_confidence, True),
    "confidence_gap": Number(metrics.confidence_gap, False),
}
