"""Split-conformal answer sets: sets of candidates that hold the right one as often as promised.

How strange each candidate would be as the right one is a score; a threshold is the score that the right candidates of
calibration units do not exceed often enough; a set has all candidates up to it. The promise is that of exchangeability
alone (Vovk, Gammerman, Shafer 2005), and so holds whatever the probabilities are worth: bad ones make large sets. It
is of sets of further units in the mean over calibrations; `covered_law` says what one calibration can be off by.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_answers, check_numbers, check_offsets, check_vector
from calprobe.metrics.intervals import LEVEL, UNDEFINED, Estimate
from calprobe.metrics.resamples import check_clusters
from calprobe.metrics.risk_control import clustered_upper_bound, risk_upper_bound

SetRule = Literal["lac", "aps", "aps_random", "naive"]
SET_RULES: tuple[SetRule, ...] = get_args(SetRule)
SIZES = (0, 1, 2, 4, 8, 16, 32)  # that strata of sets end with; larger ones are in the last one
_ROUNDING = 1e-9  # of a share times a count


def set_scores(
    probabilities: npt.ArrayLike, offsets: npt.ArrayLike, rule: SetRule, uniform: npt.ArrayLike | None = None
) -> Floats:
    """How strange each candidate would be as the right one, by a rule.

    | rule | score of a candidate with probability p |
    |---|---|
    | lac | `1 - p` (Sadinle, Lei, Wasserman 2019): the smallest sets in the mean |
    | aps | the probability of all candidates that are no less probable (Romano, Sesia, Candes 2020) |
    | aps_random | that of all that are more probable, and a share u of that of its equals |
    | naive | that of all that are more probable: with the promised coverage itself as threshold, no conformal set |

    Candidates of equal probability have equal scores: no set depends on the order of candidates, or on other units.

    Args:
        probabilities: [candidates], in [0, 1], laid end to end over the units; NaN where a unit has none.
        offsets: [units + 1], unit i owns the columns `offsets[i]:offsets[i + 1]`.
        rule: see above.
        uniform: [units], u of each, in [0, 1]; needed for aps_random alone.
    Returns:
        [candidates], in [0, 1] up to rounding; infinite where the probability is NaN.
    Raises:
        ValueError: another rule, shapes that differ, or no `uniform` for aps_random.

    >>> probabilities, offsets = [0.5, 0.25, 0.25, 1.0], [0, 3, 4]
    >>> [set_scores(probabilities, offsets, rule).tolist() for rule in ("lac", "aps")]
    [[0.5, 0.75, 0.75, 0.0], [0.5, 1.0, 1.0, 1.0]]
    """
    values = check_vector("probabilities", probabilities, "candidates")
    bounds = check_offsets(offsets, len(values))
    if rule not in SET_RULES:
        raise ValueError(f"rule must be one of {', '.join(SET_RULES)}; got {rule!r}")
    if rule == "lac":
        scores = 1 - values
    else:
        shares = {"aps": 1.0, "naive": 0.0}.get(rule, uniform)
        if shares is None:
            raise ValueError("uniform must be given for the rule aps_random; got None")
        u = np.broadcast_to(check_numbers("uniform", shares), (len(bounds) - 1,))
        scores = _cumulative(values, bounds, u)
    return np.where(np.isnan(scores), np.inf, scores)


def _cumulative(probabilities: Floats, bounds: Ints, u: Floats) -> Floats:
    """The probability above each candidate, and a share u of that of its equals."""
    scores, widths = np.empty_like(probabilities), np.diff(bounds)
    for width in np.unique(widths):  # row by row of one width: a unit's sums know nothing of other units
        units = np.flatnonzero(widths == width)
        columns = bounds[units][:, None] + np.arange(width)
        rows = probabilities[columns]
        order = np.argsort(-rows, axis=1, kind="stable")
        ordered = np.take_along_axis(rows, order, axis=1)
        upto = np.cumsum(ordered, axis=1)
        begins = np.ones(rows.shape, np.bool_)
        begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        places = np.broadcast_to(np.arange(width), rows.shape)
        first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
        ends = np.ones(rows.shape, np.bool_)
        ends[:, :-1] = begins[:, 1:]
        last = np.minimum.accumulate(np.where(ends, places, width - 1)[:, ::-1], axis=1)[:, ::-1]
        below = np.concatenate([np.zeros((len(rows), 1)), upto], axis=1)
        above, with_equals = np.take_along_axis(below, first, axis=1), np.take_along_axis(upto, last, axis=1)
        share = u[units][:, None]
        found = np.where(share == 1, with_equals, above + share * (with_equals - above))
        of_row = np.empty_like(found)
        np.put_along_axis(of_row, order, found, axis=1)
        scores[columns] = of_row
    return scores


def conformal_threshold(scores: npt.ArrayLike, coverage: float, clusters: npt.ArrayLike | None = None) -> float:
    """The score that right candidates of further units exceed in at most `1 - coverage` of all cases.

    The `ceil((n + 1) coverage)`-th smallest of n scores; with equal scores sets cover more than is promised. Where
    units depend on each other within clusters, each cluster weighs the same, and the promise is of a unit drawn from a
    new cluster (Lee, Barber, Willett 2023): the smallest score with `sum over scores up to it of 1 / (size of its
    cluster)` of at least `coverage (clusters + 1)`.

    Args:
        scores: [units], of the right candidate of each calibration unit; infinite where it has none.
        coverage: the promise, within 0 and 1.
        clusters: [units], the label of each one's cluster; None: units are exchangeable.
    Returns:
        The threshold; infinite where too few units have a score, so that sets have all candidates.
    Raises:
        ValueError: a coverage out of range, or clusters that fit no units.

    >>> conformal_threshold([0.1, 0.2, 0.3, 0.9], 0.5), conformal_threshold([0.1, 0.2, 0.3, 0.9], 0.9)
    (0.3, inf)
    """
    _check_coverage(coverage)
    values = np.asarray(scores, np.float64)
    groups = check_clusters(clusters, len(values))
    if groups is None:
        weights, number = np.ones(len(values)), len(values)
    else:
        weights, number = 1 / np.bincount(groups.of)[groups.of], groups.number
    order = np.argsort(values, kind="stable")
    reached = np.flatnonzero(np.cumsum(weights[order]) >= coverage * (number + 1) - _ROUNDING)
    return float(values[order[reached[0]]]) if len(reached) else math.inf


def units_needed(coverage: float) -> int:
    """The fewest calibration units with which a set can leave out any candidate: `coverage / (1 - coverage)`, up.

    Raises ValueError for a coverage out of range.

    >>> units_needed(0.9), units_needed(0.95)
    (9, 19)
    """
    _check_coverage(coverage)
    return math.ceil(coverage / (1 - coverage) - _ROUNDING)


def covered_law(calibrated: int, tested: int, coverage: float) -> Floats:
    """How probable each number of covered ones of `tested` units is, given what is promised: a beta-binomial law.

    With k = `ceil((calibrated + 1) coverage)` the coverage of one calibration follows Beta(k, calibrated + 1 - k) where
    scores are distinct (Vovk 2012); equal scores cover more. It is that of independent units.

    Returns:
        [tested + 1], probabilities of 0, 1, .. covered units; all covered where there are too few calibration units.
    Raises:
        ValueError: a coverage out of range.

    >>> covered_law(1, 2, 0.5).round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    from scipy.stats import betabinom  # SciPy takes a while to import

    _check_coverage(coverage)
    place = math.ceil(coverage * (calibrated + 1) - _ROUNDING)
    numbers = np.arange(tested + 1)
    if place > calibrated:
        certain: Floats = (numbers == tested).astype(np.float64)
        return certain
    law: Floats = betabinom.pmf(numbers, tested, place, calibrated + 1 - place)
    return law


def coverage_range(calibrated: int, coverage: float, share: float = 0.9) -> tuple[float, float]:
    """Between which ends the coverage of one calibration lies in a share of all calibrations.

    The quantiles of the beta law of `covered_law`, which is that of distinct scores; both 1 where there are too few
    units to leave any candidate out. Raises ValueError for a coverage out of range.

    >>> [round(end, 3) for end in coverage_range(300, 0.9)]
    [0.871, 0.927]
    """
    from scipy.special import betaincinv  # SciPy takes a while to import

    _check_coverage(coverage)
    place = math.ceil(coverage * (calibrated + 1) - _ROUNDING)
    if place > calibrated:
        return 1.0, 1.0
    low, high = (float(betaincinv(place, calibrated + 1 - place, end)) for end in ((1 - share) / 2, (1 + share) / 2))
    return low, high


@dataclass(frozen=True, slots=True)
class AnswerSets:
    """The sets of some units, by how many candidates they have and whether the right one is among them."""

    sizes: Ints  # [units]
    covered: npt.NDArray[np.bool_]  # [units]
    options: Ints  # [units], candidates that a set could have
    clusters: npt.NDArray[np.intp] | None = None  # [units]; None: units are independent

    def at(self, where: npt.NDArray[np.bool_]) -> AnswerSets:
        """Those of some units."""
        return AnswerSets(
            self.sizes[where],
            self.covered[where],
            self.options[where],
            None if self.clusters is None else self.clusters[where],
        )

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.sizes)

    @property
    def coverage(self) -> Estimate:
        """Share of the sets with the right candidate; of clusters its mean over them. See `covered_share`."""
        return covered_share(self.covered, self.clusters)

    @property
    def mean_size(self) -> float:
        """Mean number of candidates of a set; NaN without units."""
        return float(self.sizes.mean()) if self.units else math.nan

    @property
    def median_size(self) -> float:
        """Median number of candidates of a set; NaN without units."""
        return float(np.median(self.sizes)) if self.units else math.nan

    @property
    def mean_options(self) -> float:
        """Mean number of candidates that there are; NaN without units."""
        return float(self.options.mean()) if self.units else math.nan

    @property
    def empty(self) -> float:
        """Share of the sets without any candidate; NaN without units."""
        return float((self.sizes == 0).mean()) if self.units else math.nan

    @property
    def singletons(self) -> float:
        """Share of the sets with one candidate; NaN without units."""
        return float((self.sizes == 1).mean()) if self.units else math.nan

    @property
    def singleton_accuracy(self) -> Estimate:
        """How often the one candidate of such a set is right; NaN without any."""
        return self.at(self.sizes == 1).coverage

    def by_size(self) -> Iterator[tuple[int, int | None, AnswerSets]]:
        """Sets of similar sizes, each with its least and its largest size, None: any (Angelopoulos et al. 2021)."""
        begins = (0, *(most + 1 for most in SIZES))
        for least, most in zip(begins, (*SIZES, None), strict=True):
            inside = (self.sizes >= least) & (self.sizes <= (math.inf if most is None else most))
            if inside.any():
                yield least, most, self.at(inside)


def answer_sets(
    scores: npt.ArrayLike,
    offsets: npt.ArrayLike,
    answer_idx: npt.ArrayLike,
    threshold: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
) -> AnswerSets:
    """The sets of all candidates whose score is at most the threshold.

    Args:
        scores: [candidates], see `set_scores`; those that are infinite are in no set.
        offsets: [units + 1].
        answer_idx: [units], place of the right candidate within the unit's own.
        threshold: one, or [units], such as those of the units' groups.
        clusters: [units], labels of what units depend on each other within.

    >>> sets = answer_sets([0.1, 0.9, 0.4, 0.6], [0, 2, 4], [0, 1], 0.5)
    >>> sets.sizes.tolist(), sets.covered.tolist()
    ([1, 1], [True, False])
    """
    values = check_vector("scores", scores, "candidates")
    bounds = check_offsets(offsets, len(values))
    widths, answers = np.diff(bounds), check_answers(answer_idx, bounds)
    limits = np.broadcast_to(np.asarray(threshold, np.float64), widths.shape)
    # Under an infinite threshold a case has all its candidates, but none where it has no probabilities.
    member = (values <= np.repeat(limits, widths)) & np.isfinite(values)
    sizes = np.add.reduceat(member.astype(np.int64), bounds[:-1]) if len(widths) else np.zeros(0, np.int64)
    groups = check_clusters(clusters, len(widths))
    covered = member[bounds[:-1] + answers]
    return AnswerSets(sizes, covered, widths, None if groups is None else groups.of)


def covered_share(covered: npt.ArrayLike, clusters: npt.ArrayLike | None = None) -> Estimate:
    """The share of covered units with its exact 95 % interval.

    Of independent units that of Clopper and Pearson 1934. Of clusters the mean over them of each one's share, between
    two bounds that bet on clusters (`clustered_upper_bound`, each at half of the error): valid at any number of them.

    >>> share = covered_share([True] * 9 + [False])
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.9, 0.555, 0.997)
    """
    inside = np.asarray(covered, np.float64)
    if not len(inside):
        return UNDEFINED
    level = (1 + LEVEL) / 2
    groups = check_clusters(clusters, len(inside))
    if groups is None:
        hits, n = int(inside.sum()), len(inside)
        return Estimate(hits / n, 1 - risk_upper_bound(n - hits, n, level), risk_upper_bound(hits, n, level))
    shares = np.bincount(groups.of, inside, groups.number) / np.bincount(groups.of, minlength=groups.number)
    ones = np.ones(len(shares))
    low, high = (clustered_upper_bound(part, ones, 1, level) for part in (1 - shares, shares))
    return Estimate(float(shares.mean()), 1 - low, high)


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must lie between 0 and 1; got {coverage}")
