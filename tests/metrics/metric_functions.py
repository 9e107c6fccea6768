"""Each metric by its name as a function of arrays, and distributions to call those of whole distributions on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from calprobe.metrics import (
    MetricResult,
    accuracy,
    ace,
    ace_weighted,
    aurc,
    auroc,
    brier,
    brier_decomposition,
    brier_mean,
    brier_sum,
    debiased_ece,
    e_aurc,
    ece,
    max_calibration_error,
    mean_confidence,
    nll,
    prr,
    smooth_ece,
    static_calibration_error,
)


def term_of_brier(name: str) -> Callable[[np.ndarray, np.ndarray], MetricResult]:
    """That term of the decomposition as a function like those of the other metrics."""
    return lambda confidence, correct: MetricResult(getattr(brier_decomposition(confidence, correct), name))


ON_ARRAYS: dict[str, Callable[..., MetricResult]] = {
    "accuracy": accuracy,
    "mean_confidence": mean_confidence,
    "ace": ace,
    "ace_weighted": ace_weighted,
    "ece": ece,
    "ece_15": partial(ece, n_bins=15),
    "max_calibration_error": max_calibration_error,
    "smooth_ece": smooth_ece,
    "debiased_ece": debiased_ece,
    "brier": brier,
    "brier_reliability": term_of_brier("reliability"),
    "brier_resolution": term_of_brier("resolution"),
    "brier_uncertainty": term_of_brier("uncertainty"),
    "brier_within_bins": term_of_brier("within_bins"),
    "nll": nll,
    "auroc": auroc,
    "aurc": aurc,
    "e_aurc": e_aurc,
    "prr": prr,
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
