"""Uncertainties without a scale as confidences: fitted on the answers to other questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from calprobe.confidence.asked import AskedConfidence, AskedEstimator, Cell
from calprobe.metrics.recalibration import calibrated_uncertainty
from calprobe.words import Calibrate

Calibrated = tuple[AskedEstimator, AskedConfidence]


def calibrated(
    cell: Cell, estimators: Mapping[str, AskedEstimator], found: Mapping[str, AskedConfidence], method: Calibrate
) -> Iterator[Calibrated]:
    """Each uncertainty of a cell as the chance of being right, NAME.METHOD; cross-validated by question.

    Left out where fewer than two questions have it.
    """
    questions = np.array([row.question.id for row in cell.rows], np.str_)
    for name, estimator in estimators.items():
        if estimator.scale != "uncertainty":
            continue
        own = found[name]
        kept = own.read
        if len(np.unique(questions[kept])) < 2:
            continue
        values = np.full(len(cell), np.nan)
        values[kept] = calibrated_uncertainty(own.confidence[kept], own.correct[kept], questions[kept], method)
        definition = f"{estimator.definition}; as a confidence, by a map fitted on other questions ({method})"
        made = AskedEstimator(f"{name}.{method}", definition, "samples", estimator.compute, estimator.source)
        yield made, AskedConfidence(own.prediction, values, own.correct, own.status)
