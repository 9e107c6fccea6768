"""Each metric by its name as a function of arrays, and distributions to call those of distributions on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from calprobe.metrics import (
    MetricResult,
    accuracy,
    ace,
    ace_weighted,
    augrc,
    aurc,
    auroc,
    brier,
    brier_decomposition,
    brier_mean,
    brier_skill,
    brier_sum,
    confidence_gap,
    corp_brier,
    corp_log,
    debiased_ece,
    e_aurc,
    ecce_mad,
    ecce_range,
    ece,
    max_calibration_error,
    mean_confidence,
    nll,
    prr,
    prr_50,
    smooth_ece,
    static_calibration_error,
)


def term_of_brier(name: str) -> Callable[[np.ndarray, np.ndarray], MetricResult]:
    """That term of the decomposition as a function like those of the other metrics."""
    return lambda confidence, correct: MetricResult(getattr(brier_decomposition(confidence, correct), name))


def term_of_corp(decomposition: Callable[..., object], name: str) -> Callable[[np.ndarray, np.ndarray], MetricResult]:
    """That term of a score taken apart by isotonic recalibration."""
    return lambda confidence, correct: MetricResult(getattr(decomposition(confidence, correct), name))


def half_of_ece(sign: int) -> Callable[[np.ndarray, np.ndarray], MetricResult]:
    """ECE of the bins with a mean confidence above their accuracy (1), or below it (-1)."""

    def half(confidence: np.ndarray, correct: np.ndarray) -> MetricResult:
        bins = ece(confidence, correct).bins
        gaps = sign * (bins.confidence - bins.accuracy)[bins.count > 0]
        counts = bins.count[bins.count > 0]
        return MetricResult(float((np.maximum(gaps, 0) * counts).sum() / counts.sum()) if len(counts) else np.nan)

    return half


# Every metric that is resampled.
ON_ARRAYS: dict[str, Callable[..., MetricResult]] = {
    "accuracy": accuracy,
    "mean_confidence": mean_confidence,
    "confidence_gap": confidence_gap,
    "ace": ace,
    "ace_weighted": ace_weighted,
    "ece": ece,
    "ece_over": half_of_ece(1),
    "ece_under": half_of_ece(-1),
    "ece_15": partial(ece, n_bins=15),
    "max_calibration_error": max_calibration_error,
    "smooth_ece": smooth_ece,
    "debiased_ece": debiased_ece,
    "ecce_mad": ecce_mad,
    "ecce_range": ecce_range,
    "brier": brier,
    "brier_skill": brier_skill,
    "brier_reliability": term_of_brier("reliability"),
    "brier_resolution": term_of_brier("resolution"),
    "brier_uncertainty": term_of_brier("uncertainty"),
    "brier_within_bins": term_of_brier("within_bins"),
    "nll": nll,
    "brier_mcb": term_of_corp(corp_brier, "miscalibration"),
    "brier_dsc": term_of_corp(corp_brier, "discrimination"),
    "nll_mcb": term_of_corp(corp_log, "miscalibration"),
    "nll_dsc": term_of_corp(corp_log, "discrimination"),
    "nll_uncertainty": term_of_corp(corp_log, "uncertainty"),
    "auroc": auroc,
    "aurc": aurc,
    "e_aurc": e_aurc,
    "augrc": augrc,
    "prr": prr,
    "prr_50": prr_50,
}


Forecast = tuple[np.ndarray, np.ndarray, np.ndarray]  # probabilities, offsets, answer_idx

ON_DISTRIBUTIONS: dict[str, Callable[..., MetricResult]] = {
    "brier_sum": brier_sum,
    "brier_mean": brier_mean,
    "static_calibration_error": static_calibration_error,
}


def drawn(rng: np.random.Generator, widths: np.ndarray, sharpness: float = 1.0) -> Forecast:
    """Distributions over answer spaces of these sizes, with answers that they only half know."""
    pieces = [rng.dirichlet(np.full(width, sharpness)) for width in widths]
    answers = [rng.choice(width, p=(p + 1 / width) / 2) for p, width in zip(pieces, widths, strict=True)]
    offsets = np.concatenate([[0], np.cumsum(widths)])
    return np.concatenate([*pieces, []]), offsets, np.array(answers, np.int64)
