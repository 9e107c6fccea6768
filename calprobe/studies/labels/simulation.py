"""What ECE hides: a scorer that knows nothing and has a small ECE, and one that knows a lot and has a larger one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics import ACE_BINS, Resampling, bootstrap_many, standard_metrics
from calprobe.metrics.concentration import bin_entropy
from calprobe.studies.labels.results import HiddenRow

HIDDEN = ("ece_15", "ace", "smooth_ece", "brier", "brier_reliability", "brier_resolution", "brier_uncertainty", "auroc")
ENTROPY = "bin_entropy"
DRAWS = 20_000
GAPS = (0.05, 0.10, 0.20)
_LEAST = 0.25  # the least confidence of the informed scorer: a guess among four
_TOP, _SHARE = 0.97, 0.95  # the polarised scorer's usual confidence, and how often it has it


def polarised(accuracy: float, draws: int = DRAWS) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """A scorer that knows nothing: confidence 0.97 with probability 0.95, else anything; right at random.

    >>> confidence, correct = polarised(0.9, 1000)
    >>> bool(abs(correct.mean() - 0.9) < 0.03)
    True
    """
    rng = np.random.default_rng(0)
    confidence = np.where(rng.random(draws) < _SHARE, _TOP, rng.random(draws))
    return confidence, rng.random(draws) < accuracy


def informed(accuracy: float, gap: float, draws: int = DRAWS) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """A scorer that knows when it is right, and is too sure by `gap`: right with probability confidence - gap.

    Confidences lie in [1/4, 1] with the mean accuracy + gap; uniformly where that is 5/8.

    Raises ValueError where no such confidences exist: accuracy + gap must lie within 1/4 and 1.
    """
    mean = (accuracy + gap - _LEAST) / (1 - _LEAST)
    if not 0 < mean < 1:
        raise ValueError(f"accuracy + gap must lie within 1/4 and 1; got {accuracy + gap:.3f}")
    rng = np.random.default_rng(0)
    confidence = _LEAST + (1 - _LEAST) * rng.random(draws) ** (1 / mean - 1)
    return confidence, rng.random(draws) < confidence - gap


def simulated(accuracy: float, ace_bins: int | None = ACE_BINS) -> Iterator[HiddenRow]:
    """Both scorers at one accuracy, the informed one with each gap that the accuracy leaves room for."""
    if np.isnan(accuracy):
        return
    yield HiddenRow("polarised, knows nothing", True, accuracy, hidden_metrics(*polarised(accuracy), ace_bins))
    for gap in GAPS:
        if _LEAST < accuracy + gap < 1 and accuracy > 0:
            metrics = hidden_metrics(*informed(accuracy, gap), ace_bins)
            yield HiddenRow(f"informed, too sure by {gap:.2f}", True, accuracy, metrics)


def hidden_metrics(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, ace_bins: int | None = ACE_BINS
) -> Mapping[str, float]:
    """ECE and what it hides: other errors, the parts of the Brier score, AUROC, normalised entropy of bins."""
    metrics = [metric for metric in standard_metrics(ace_bins) if metric.name in HIDDEN]
    estimates = bootstrap_many(metrics, {"": (confidence, correct)}, Resampling(0))[""]
    return {name: estimates[name].value for name in HIDDEN} | {ENTROPY: bin_entropy(confidence)}
