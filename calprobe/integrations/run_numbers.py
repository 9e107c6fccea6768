"""The calibration numbers that other tools are given, each of confidences and correctness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy.typing as npt

from calprobe.metrics import (
    MetricResult,
    ace,
    aurc,
    auroc,
    brier,
    confidence_gap,
    ece,
    mean_confidence,
    nll,
    smooth_ece,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number of `calprobe.metrics` by name."""

    compute: Callable[[npt.ArrayLike, npt.ArrayLike], MetricResult]
    larger_is_better: bool | None  # None: it has no direction

    def of(self, confidence: npt.ArrayLike, correct: npt.ArrayLike) -> float:
        """Its value; NaN without instances. Raises ValueError for a confidence outside [0, 1]."""
        return float(self.compute(confidence, correct).value)


NUMBERS: Mapping[str, Number] = {
    "ece": Number(ece, False),
    "ace": Number(ace, False),
    "smooth_ece": Number(smooth_ece, False),
    "brier": Number(brier, False),
    "nll": Number(nll, False),
    "auroc": Number(auroc, True),
    "aurc": Number(aurc, False),
    "mean_confidence": Number(mean_confidence, None),
    "confidence_gap": Number(confidence_gap, None),
}
