"""How much can be answered at a wanted accuracy: as seen in a sample, and as guaranteed beyond it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_confidence
from calprobe.metrics.rejection import RejectionCurve, reject_by_rank

LEVEL = 0.95  # of a guarantee
# Coverages among which a guaranteed one is sought: with more, steps are finer, but each bound is lower. In simulations
# with 300 to 7,731 instances, 50 guaranteed as much as 20, 100 or 200 did, or more, within 0.01.
SEARCHED = 50


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A threshold, and what comes of keeping the confidences of at least it."""

    threshold: float  # inf where nothing is kept
    coverage: float  # share of the sample that is kept; 0 where nothing is
    accuracy: float  # share correct of that; NaN where nothing is kept
    lower: float  # lower confidence bound of the accuracy beyond the sample; NaN where nothing is kept


NOTHING_KEPT = OperatingPoint(threshold=float("inf"), coverage=0.0, accuracy=float("nan"), lower=float("nan"))


@dataclass(frozen=True, slots=True)
class TargetCoverage:
    """The largest coverage at a wanted accuracy."""

    observed: OperatingPoint  # by the sample's accuracy; `lower` is that of a threshold which was chosen beforehand
    guaranteed: OperatingPoint  # by `lower`, which holds although the threshold was sought in the same sample


def coverage_at_accuracy(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, target: float, level: float = LEVEL
) -> TargetCoverage:
    """The largest share of instances, the most confident first, that can be kept at an accuracy of at least `target`.

    For Python alone: no command prints it.

    `observed` is the largest coverage where the kept instances are that accurate. Its threshold was picked because it
    looks good here: further instances are less accurate about as often as not. `guaranteed` is the largest coverage
    with a lower bound that reaches the target: in at most `1 - level` of all samples of independent instances, the
    bound exceeds the accuracy of further instances above the threshold.

    Bounds are those of Clopper and Pearson 1934, one-sided: the smallest accuracy that gives as many correct ones or
    more with probability `1 - level` at least. As in Geifman and El-Yaniv 2017, "Selective Classification for Deep
    Neural Networks", a union bound pays for the search: here over ranks that are fixed beforehand, the coverages 2 %,
    4 %, .., 100 % (every rank of up to 50 instances), each with `(1 - level) / 50`. So all of them hold at once.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
        target: the wanted accuracy, in [0, 1].
        level: of the guarantee, in [0, 1].
    Returns:
        Two points; a larger coverage is better. Equal confidences are kept together or not at all. Where no coverage
        will do, or without instances: threshold inf, coverage 0, accuracy and bound NaN. An accuracy of 1 is never
        guaranteed, one of 0.9 at 95 % with 66 kept at least.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> found = coverage_at_accuracy([0.9, 0.8, 0.7, 0.6], [True, True, False, True], target=0.75)
    >>> found.observed.coverage, found.observed.threshold, found.guaranteed.coverage
    (1.0, 0.6, 0.0)
    """
    accuracy, error = check_confidence([target], name="target")[0], 1 - check_confidence([level], name="level")[0]
    curve = reject_by_rank(confidence, correct)
    ranks = _searched_ranks(int(curve.kept.max(initial=0)))
    # A rank keeps the ties that end at it or before. Whatever the highest confidence that it rejects, those above are
    # then a random sample of all that lies above, which is what the bound asks for.
    places = len(curve.kept) - np.searchsorted(curve.kept[::-1], ranks, side="right")
    searched = np.unique(places[places < len(curve.kept)])
    error_each = error / max(1, len(ranks))
    bounds = np.full(len(curve.kept), np.nan)
    bounds[searched] = _lower_bounds(curve.correct[searched], curve.kept[searched], error_each)
    return TargetCoverage(
        observed=_largest(curve, curve.accuracy >= accuracy, error),
        guaranteed=_largest(curve, bounds >= accuracy, error_each),
    )


def _searched_ranks(n_instances: int) -> Ints:
    """Numbers of instances, at most `SEARCHED` of them, that depend on how many there are and on nothing else."""
    if n_instances <= SEARCHED:
        return np.arange(1, n_instances + 1)
    return -(-n_instances * np.arange(1, SEARCHED + 1) // SEARCHED)


def _largest(curve: RejectionCurve, will_do: npt.NDArray[np.bool_], error: float) -> OperatingPoint:
    """The point of the largest coverage among those that will do; the curve begins with all kept."""
    if not will_do.any():
        return NOTHING_KEPT
    at = int(np.argmax(will_do))
    return OperatingPoint(
        threshold=float(curve.threshold[at]),
        coverage=float(curve.kept[at] / curve.kept[0]),
        accuracy=float(curve.accuracy[at]),
        lower=float(_lower_bounds(curve.correct[[at]], curve.kept[[at]], error)[0]),
    )


def _lower_bounds(right: Ints, kept: Ints, error: float) -> Floats:
    """Clopper and Pearson's bounds for `right` of `kept`; each exceeds the truth with at most this probability."""
    from scipy.special import betaincinv  # SciPy takes a while to import, and reports need none of it

    return np.where(right > 0, betaincinv(np.maximum(right, 1), kept - right + 1, error), 0.0)
