"""CORP: a score taken apart into miscalibration, discrimination and uncertainty by isotonic recalibration, no bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.isotonic import Isotonic, fit_isotonic
from calprobe.metrics.metric import IsotonicMetric
from calprobe.metrics.sample import Sample, sort_instances
from calprobe.metrics.scoring_rules import nll_of

Better = Literal["smaller", "larger"]
Part = Callable[[Sample, Isotonic], Floats]

TINY = np.finfo(np.float64).tiny
EPSILON = np.finfo(np.float64).epsneg
CORP = "Dimitriadis, Gneiting, Jordan 2021"


@dataclass(frozen=True, slots=True)
class CorpDecomposition:
    """Terms of a proper score: `score = miscalibration - discrimination + uncertainty`. NaN without instances."""

    miscalibration: float  # what isotonic recalibration would gain; smaller is better
    discrimination: float  # what recalibrated confidences gain over the base rate; larger is better
    uncertainty: float  # the score of the base rate; no confidence can change it

    @property
    def score(self) -> float:
        """The score: Brier, or negative log-likelihood."""
        return self.miscalibration - self.discrimination + self.uncertainty


def corp_brier(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> CorpDecomposition:
    """The Brier score as miscalibration - discrimination + uncertainty, by isotonic recalibration.

    With `S` the score of the confidences, `S_c` that of their isotonic recalibration on the same instances and `S_r`
    that of the share correct: `S - S_c`, `S_r - S_c`, `S_r`. Source: Dimitriadis, Gneiting, Jordan 2021, "Stable
    Reliability Diagrams for Probabilistic Classifiers".

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        Terms that sum to the score; none is negative by more than rounding (-1e-17). Recalibration fits noise too: the
        first two are too large on a small sample. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> terms = corp_brier([0.2, 0.2, 0.8, 0.8], [False, False, True, False])
    >>> [round(term, 4) for term in (terms.miscalibration, terms.discrimination, terms.uncertainty)]
    [0.065, 0.0625, 0.1875]
    """
    return _terms(confidence, correct, _BRIER_PARTS)


def corp_log(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> CorpDecomposition:
    """The negative log-likelihood likewise, in nats: its confidences are clipped as those of `nll`.

    Arguments, errors, directions and the cases of few or no instances are those of `corp_brier`.

    >>> terms = corp_log([0.5, 0.5], [True, False])
    >>> [round(term, 4) for term in (terms.miscalibration, terms.discrimination, terms.uncertainty)]
    [0.0, 0.0, 0.6931]
    """
    return _terms(confidence, correct, _LOG_PARTS)


def _terms(confidence: npt.ArrayLike, correct: npt.ArrayLike, parts: Sequence[Part]) -> CorpDecomposition:
    sample = sort_instances(confidence, correct).sample()
    fit = fit_isotonic(sample)
    return CorpDecomposition(*(float(part(sample, fit)[0]) for part in parts))


# From resamples and their isotonic regression to [resamples]; NaN where a resample is empty.


def _brier_miscalibration(sample: Sample, fit: Isotonic) -> Floats:
    # A recalibrated block of size w with r correct has the squared error r - r^2 / w. Where clusters are turned round,
    # correctness is any number, and its square another.
    squares = sample.accuracy if sample.correct.ndim == 1 else sample.mean(sample.correct**2)
    return sample.squared_error - squares + _mean(sample, fit.sums(fit.right**2 / fit.size))


def _brier_discrimination(sample: Sample, fit: Isotonic) -> Floats:
    return _mean(sample, fit.sums(fit.right**2 / fit.size)) - sample.accuracy**2


def _brier_uncertainty(sample: Sample, _found: Isotonic) -> Floats:
    return sample.accuracy * (1 - sample.accuracy)


def _log_miscalibration(sample: Sample, fit: Isotonic) -> Floats:
    return nll_of(sample) - _recalibrated_loss(sample, fit)


def _log_discrimination(sample: Sample, fit: Isotonic) -> Floats:
    return _entropy(sample.accuracy) - _recalibrated_loss(sample, fit)


def _log_uncertainty(sample: Sample, _found: Isotonic) -> Floats:
    return _entropy(sample.accuracy)


def _recalibrated_loss(sample: Sample, fit: Isotonic) -> Floats:
    return _mean(sample, fit.sums(fit.size * _entropy(fit.mean)))


def _entropy(share: Floats) -> Floats:
    """Nats of a binary event, [..]; 0 for a share of 0 or 1."""
    inside = np.clip(share, TINY, 1 - EPSILON)
    return np.where((share > 0) & (share < 1), -inside * np.log(inside) - (1 - inside) * np.log1p(-inside), share * 0)


def _mean(sample: Sample, sums: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        mean: Floats = sums / sample.sizes
    return mean


_BRIER_PARTS: tuple[Part, ...] = (_brier_miscalibration, _brier_discrimination, _brier_uncertainty)
_LOG_PARTS: tuple[Part, ...] = (_log_miscalibration, _log_discrimination, _log_uncertainty)


def _term(
    name: str,
    title: str,
    definition: str,
    better: Better | None,
    compute: Part,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> IsotonicMetric:
    # Miscalibration is 0 for a calibrated model, and then all of the value is chance; discrimination is not.
    biased = better == "smaller"
    return IsotonicMetric(
        name, title, definition, better, compute, overfit=True, biased=biased, bounds=bounds, source=CORP
    )


def corp_metrics() -> tuple[IsotonicMetric, ...]:
    """The terms as metrics; the uncertainty of the Brier score is `brier_uncertainty` already."""
    gained, kept = "gained by isotonic recalibration", "kept by it over the base rate"
    return (
        _term("brier_mcb", "Brier MCB", f"Brier {gained}", "smaller", _brier_miscalibration),
        _term("brier_dsc", "Brier DSC", f"Brier {kept}", "larger", _brier_discrimination),
        _term("nll_mcb", "NLL MCB", f"NLL {gained}", "smaller", _log_miscalibration, (0.0, float("inf"))),
        _term("nll_dsc", "NLL DSC", f"NLL {kept}", "larger", _log_discrimination),
        IsotonicMetric("nll_uncertainty", "NLL unc", "NLL of the base rate", None, _log_uncertainty, source=CORP),
    )
