"""Risk control: the least threshold above which answers are wrong in at most a stated share, with a promise that holds.

The promise is of Learn then Test (Angelopoulos et al. 2021): thresholds are tested from the strictest on, each with the
whole error, and the first that fails ends the sequence (fixed-sequence testing). No correction for their number is
needed, since the sequence is fixed before the tested answers are seen: a pilot, a fifth of them, lays it out, and is
not tested. A threshold is the same whatever is tested, so answers above it are a random sample of all answers above it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_correct, check_vector
from calprobe.metrics.resamples import Clusters, check_clusters

LEVEL = 0.95  # of the promise
PILOT = 5  # one cluster in so many lays out the sequence
STEPS = 50  # thresholds of a sequence, at most
STAKES = np.arange(1, 41) / 40  # shares of the largest stake that bets on clusters put


@dataclass(frozen=True, slots=True)
class Kept:
    """Answers above a threshold, and what is known of the share of them that is wrong."""

    answers: int  # all, kept or not
    kept: int
    wrong: int  # of the kept
    upper: float  # one-sided upper bound of the risk, at the level asked for; 1 where nothing is kept, NaN: none holds

    @property
    def coverage(self) -> float:
        """Share of the answers that is kept; NaN without answers."""
        return self.kept / self.answers if self.answers else math.nan

    @property
    def risk(self) -> float:
        """Share of the kept that is wrong; NaN where nothing is kept."""
        return self.wrong / self.kept if self.kept else math.nan


@dataclass(frozen=True, slots=True)
class FixedThreshold:
    """A threshold that keeps a promise, or that there is none."""

    threshold: float  # answers at least as sure are kept; inf where no threshold will do
    tested: Kept  # the answers that it was tested on, at this threshold; where none will do, at the strictest
    tested_at: float  # the threshold that `tested` is of

    @property
    def found(self) -> bool:
        """Whether there is one."""
        return math.isfinite(self.threshold)


def risk_upper_bound(wrong: int, kept: int, level: float = LEVEL) -> float:
    """The one-sided upper bound of Clopper and Pearson 1934 for `wrong` of `kept` independent answers; 1 of none.

    In at most `1 - level` of all samples it is below the risk.

    >>> round(risk_upper_bound(0, 59), 4), round(risk_upper_bound(2, 120), 4)
    (0.0495, 0.0515)
    """
    from scipy.special import betaincinv  # SciPy takes a while to import

    return 1.0 if wrong >= kept else float(betaincinv(wrong + 1, kept - wrong, level))


def answers_needed(risk: float, level: float = LEVEL, wrong: int = 0) -> int:
    """The smallest number of answers, `wrong` of them wrong, whose bound is at most `risk`.

    Without a wrong one `ln(1 - level) / ln(1 - risk)`, rounded up. Raises ValueError unless both lie within 0 and 1.

    >>> [answers_needed(0.05, 0.95, wrong) for wrong in (0, 1, 2)], answers_needed(0.1)
    ([59, 93, 124], 29)
    """
    _check_shares(risk, level)
    above, most = wrong, max(wrong + 1, math.ceil(math.log(1 - level) / math.log(1 - risk)))
    while risk_upper_bound(wrong, most, level) > risk:
        above, most = most, 2 * most
    while most - above > 1:
        middle = (above + most) // 2
        above, most = (above, middle) if risk_upper_bound(wrong, middle, level) <= risk else (middle, most)
    return most


def clustered_upper_bound(wrong: npt.ArrayLike, kept: npt.ArrayLike, largest: int, level: float = LEVEL) -> float:
    """The same bound where answers of a cluster depend on each other: of wrong answers by kept ones, over new clusters.

    Clusters are independent, of at most `largest` answers each. Were the risk r or more, no bet on fewer errors could
    win in the mean: `1 - s (w - r k) / ((1 - r) largest)` of a cluster with w wrong of k kept has mean 1 at most, for
    any stake s of [0, 1], and so has the product over clusters, and the mean of products over several stakes. By
    Markov's inequality it reaches `1 / (1 - level)` with probability `1 - level` at most. The bound is the largest r at
    which it does not. Source: Waudby-Smith and Ramdas 2024, "Estimating Means of Bounded Random Variables by Betting",
    with stakes that are fixed beforehand, so that the order of clusters does not count.

    Args:
        wrong, kept: [clusters], wrong and kept answers of each; 0 where none is kept.
        largest: the most answers that any cluster can have.
        level: of the bound.
    Returns:
        A risk in [0, 1]; 1 where nothing is kept.
    Raises:
        ValueError: a cluster keeps more answers than `largest`, or has more wrong ones than it keeps.
    """
    errors, sizes = check_vector("wrong", wrong), check_vector("kept", kept)
    if errors.shape != sizes.shape or (errors > sizes).any() or (sizes > largest).any():
        raise ValueError(f"of each cluster, wrong must be at most kept and kept at most largest, {largest}")
    bets = _Bets.on(errors, sizes, largest)
    low, high = 0.0, 1.0
    for _ in range(40):  # the wealth grows with r
        middle = (low + high) / 2
        low, high = (low, middle) if bets.log_wealth(middle) >= -math.log(1 - level) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class _Bets:
    """What clusters have lost and won of bets, those alike counted once."""

    wrong: Floats  # [kinds of clusters]
    kept: Floats
    clusters: Ints  # how many there are of a kind
    largest: int

    @classmethod
    def on(cls, wrong: Floats, kept: Floats, largest: int) -> _Bets:
        kinds, clusters = np.unique(wrong + 1j * kept, return_counts=True)
        return cls(kinds.real, kinds.imag, clusters, largest)

    def log_wealth(self, risk: float) -> float:
        """The logarithm of the mean, over the stakes, of what bets against a risk of `risk` or more make of 1."""
        loss = (self.wrong - risk * self.kept) / ((1 - risk) * self.largest)
        with np.errstate(divide="ignore"):
            logs = np.log1p(-np.minimum(STAKES[:, None] * loss, 1.0)) @ self.clusters
        top = float(logs.max())
        return -math.inf if top == -math.inf else top + math.log(float(np.exp(logs - top).mean()))


def kept_at(
    sureness: npt.ArrayLike,
    correct: npt.ArrayLike,
    threshold: float,
    level: float = LEVEL,
    clusters: npt.ArrayLike | None = None,
    largest: int | None = None,
) -> Kept:
    """What a threshold that was chosen beforehand keeps, with the bound of its risk.

    Args:
        sureness: [answers], larger is surer, any numbers; NaN, of an answer without a confidence, is never kept.
        correct: [answers], true or false.
        threshold: answers at least as sure are kept.
        level: of the bound.
        clusters: [answers], the label of each one's cluster; None: answers are independent.
        largest: the most answers of a cluster; None: as many as the largest here has.

    >>> kept = kept_at([0.9, 0.8, 0.7, 0.1], [True, True, False, False], threshold=0.75)
    >>> kept.kept, kept.wrong, round(kept.upper, 3)
    (2, 0, 0.776)
    """
    values, right = np.asarray(sureness, np.float64), check_correct(correct, len(np.asarray(sureness)))
    return _kept(values, right, threshold, level, check_clusters(clusters, len(values)), largest)


def _kept(
    sureness: Floats, right: Ints, threshold: float, level: float, groups: Clusters | None, largest: int | None
) -> Kept:
    kept = sureness >= threshold
    wrong = kept & (right == 0)
    if groups is None:
        upper = risk_upper_bound(int(wrong.sum()), int(kept.sum()), level)
    else:
        sizes = np.bincount(groups.of, minlength=groups.number)
        errors, of_kept = (np.bincount(groups.of, weights, groups.number) for weights in (wrong, kept))
        upper = clustered_upper_bound(errors, of_kept, largest or int(sizes.max(initial=1)), level)
    return Kept(len(sureness), int(kept.sum()), int(wrong.sum()), upper)


def fix_threshold(
    sureness: npt.ArrayLike,
    correct: npt.ArrayLike,
    risk: float,
    level: float = LEVEL,
    clusters: npt.ArrayLike | None = None,
    seed: int = 0,
) -> FixedThreshold:
    """The least threshold that fixed-sequence testing allows at a stated risk.

    In at most `1 - level` of all samples of independent answers (clusters) more than `risk` of the further answers
    above the threshold are wrong, whatever the confidences are worth. A fifth, drawn with the seed, is the pilot: the
    sequence goes down its confidences in steps of 2 % of it, from halfway between the least answers that could do with
    two wrong ones among them and those that speak most for the risk. A lower threshold is better: it answers more.

    Args:
        sureness: [answers], larger is surer, any numbers; NaN and -inf are never kept.
        correct: [answers], true or false.
        risk: the largest share of wrong ones among the kept, within 0 and 1.
        level: of the promise, within 0 and 1.
        clusters: [answers], as `kept_at` takes them; the pilot has complete ones.
        seed: of the pilot.
    Raises:
        ValueError: shapes differ, or a value out of range.

    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.random(2000)
    >>> found = fix_threshold(confidence, rng.random(2000) < confidence, risk=0.2)
    >>> 0.6 < found.threshold < 0.75, found.tested.upper <= 0.2  # above .6 a fifth is wrong
    (True, True)
    """
    _check_shares(risk, level)
    values = np.asarray(sureness, np.float64)
    right = check_correct(correct, len(values))
    groups = check_clusters(clusters, len(values))
    units = np.arange(len(values)) if groups is None else groups.of
    number = len(values) if groups is None else groups.number
    largest = None if groups is None else int(np.bincount(groups.of).max(initial=1))
    in_pilot = (np.random.default_rng(seed).permutation(number) < number // PILOT)[units]
    tested = None if groups is None else Clusters(groups.of[~in_pilot], groups.number)
    # In units of clusters: many answers of a few clusters prove little.
    answers_each, share = len(values) / max(1, number), in_pilot.sum() / max(1, (~in_pilot).sum())
    least = math.ceil(answers_needed(risk, level, wrong=2) * answers_each * share)
    pilot = Clusters(units[in_pilot], number)
    found, surest = None, None
    for threshold in _sequence(values[in_pilot], right[in_pilot], pilot, least, risk, largest or 1):
        kept = _kept(values[~in_pilot], right[~in_pilot], threshold, level, tested, largest)
        surest = surest or FixedThreshold(math.inf, kept, threshold)
        if kept.upper > risk:
            break
        found = FixedThreshold(threshold, kept, threshold)
    nothing = FixedThreshold(math.inf, Kept(int((~in_pilot).sum()), 0, 0, 1.0), math.inf)
    return found or surest or nothing


def _sequence(sureness: Floats, right: Ints, clusters: Clusters, least: int, risk: float, largest: int) -> list[float]:
    """Thresholds at confidences of the pilot, from the strictest on; all finite, so that files can hold them.

    The first lies halfway between the `least` answers of the pilot that could do and those that speak most for the
    risk: too strict a one fails by a single error, too lax a one by errors that stricter ones would not have kept.
    """
    order = np.argsort(-sureness)[: int((sureness > -math.inf).sum())]
    if not len(order):
        return []
    least = min(least, (len(order) + 1) // 2)
    begin = (least + _most_evidence(right[order] == 0, clusters.of[order], risk, largest)) // 2
    places = np.unique(np.linspace(max(least, begin), len(order), STEPS).round().astype(int)) - 1
    return [threshold for threshold in dict.fromkeys(sureness[order[places]].tolist()) if threshold < math.inf]


def _most_evidence(wrong: npt.NDArray[np.bool_], of: npt.NDArray[np.intp], risk: float, largest: int) -> int:
    """How many of the surest answers bets against a larger risk win most from, if the next one were wrong."""
    counts = np.unique(np.linspace(1, len(wrong), STEPS).round().astype(int))
    wealth = []
    for count in counts:
        errors, kept = np.bincount(of[:count], wrong[:count]), np.bincount(of[:count])
        wealth.append(_Bets.on(np.append(errors, 1.0), np.append(kept, 1.0), largest).log_wealth(risk))
    return int(counts[int(np.argmax(wealth))])


def _check_shares(risk: float, level: float) -> None:
    for name, value in (("risk", risk), ("level", level)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie between 0 and 1; got {value}")
