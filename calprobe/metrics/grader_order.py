"""Whether confidences keep their order where somebody else grades the answers, and what of it is length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, Mask, check_vector
from calprobe.metrics.bootstrap import joint_draws
from calprobe.metrics.intervals import UNDEFINED, Draws, Estimate, interval
from calprobe.metrics.paired import Difference, PairedDraws
from calprobe.metrics.ranking import AUROC
from calprobe.metrics.ranks import RankedPart
from calprobe.metrics.resamples import ClusterLabels, Resampling

TENTHS = 10
# By score: [answers], how sure, in [0, 1], and 0 or 1; NaN where not known.
Graded = Mapping[str, tuple[Floats, Floats]]
_Part = tuple[bytes, bytes]  # a score of some answers, and which
_Place = tuple[_Part, bytes]  # and what is right of them
_Parts = dict[_Part, tuple[Floats, Mask, dict[bytes, Floats]]]  # a score, answers, and each truth by its bytes


@dataclass(frozen=True, slots=True)
class GraderOrder:
    """The order of several scores by AUROC under two graders, on the answers that both have graded."""

    names: tuple[str, ...]  # of the scores that have an AUROC under both
    first: tuple[float, ...]  # AUROC of each under the first grader
    second: tuple[float, ...]
    tau: Estimate  # Kendall's tau-b of the two orders, in [-1, 1]
    rho: Estimate  # Spearman's, likewise
    best: tuple[str, str]  # the score with the largest AUROC under each; "" where none has one
    same_best: float  # share of the resamples in which it is the same score; NaN without resamples
    lost: Estimate  # AUROC under the second that is lost where the first has chosen the score


def grader_order(
    first: Graded,
    second: Graded,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> GraderOrder:
    """Compare the order that two graders put scores of the same answers in.

    Each score counts on the answers that it says something of and that both have graded. Tau-b and rho are of the
    AUROCs, ties counting as such. Intervals are percentiles over the same resamples of answers for all scores; noise
    moves scores that are about equally good past each other, so that they reach further down than up. `lost` is the
    largest AUROC under the second grader minus that of the score which is best under the first: what a choice costs
    that was made by another grader. Sources: Kendall 1945 for tau-b; Santilli et al. 2025 (arXiv 2504.13677) for
    graders that reorder scores.

    Args:
        first: by name of a score, how sure it is of each answer and whether that is right by the first grader.
        second: the same by the second grader, with scores of the same names.
        resampling: number of resamples, and seed.
        clusters: [answers], the label of each one's cluster; None draws single answers.
    Returns:
        Correlations in [-1, 1], 1 where both have one order; NaN with fewer than two scores, or where one side has all
        equal.
    Raises:
        ValueError: other names, or arrays that do not fit.

    >>> sure, unsure = np.array([0.9, 0.8, 0.2]), np.array([0.1, 0.6, 0.5])
    >>> exact, judge = np.array([1.0, 1, 0]), np.array([0.0, 1, 1])
    >>> scores = {"a": sure, "b": unsure}
    >>> first, second = ({name: (score, right) for name, score in scores.items()} for right in (exact, judge))
    >>> found = grader_order(first, second, Resampling(0))
    >>> found.best, found.tau.value, found.lost.value
    (('a', 'b'), -1.0, 1.0)
    """
    return grader_orders({"first": first, "second": second}, resampling, clusters)["first", "second"]


def grader_orders(
    graders: Mapping[str, Graded], resampling: Resampling = Resampling(), clusters: ClusterLabels | None = None
) -> dict[tuple[str, str], GraderOrder]:
    """`grader_order` of each two of several graders: the same numbers, in a fraction of the time.

    What two pairs have in common, a score under a grader on the same answers, is ranked once.

    Args:
        graders: by name, as `grader_order` takes them.
        resampling: number of resamples, and seed.
        clusters: [answers], the label of each one's cluster; None draws single answers.
    Raises:
        ValueError: as `grader_order`.
    """
    parts: _Parts = {}
    pairs = {}
    for (name, first), (other, second) in combinations(graders.items(), 2):
        if first.keys() != second.keys():
            raise ValueError(f"both graders must have the same scores; got {', '.join(first)} and {', '.join(second)}")
        pairs[name, other] = {score: _places(first[score], second[score], parts) for score in first}
    places = [(part, truth) for part, (_, _, truths) in parts.items() for truth in truths]
    ranked = [RankedPart.of(score, list(truths.values()), kept) for score, kept, truths in parts.values()]
    n_answers = max((len(score) for score, _, _ in parts.values()), default=0)

    def aurocs(counts: Ints) -> Floats:
        return np.concatenate([part.auroc(counts) for part in ranked])

    drawn = joint_draws(aurocs, n_answers, resampling, clusters) if ranked else ()
    draws = dict(zip(places, drawn, strict=True))
    return {pair: _order(of_scores, draws) for pair, of_scores in pairs.items()}


def _places(first: tuple[Floats, Floats], second: tuple[Floats, Floats], parts: _Parts) -> tuple[_Place, _Place]:
    """Where one score's AUROC under each grader is, on the answers that have all of it; `parts` gets what is new."""
    columns = [check_vector("a score or a grade", column, "answers") for side in (first, second) for column in side]
    if len({len(column) for column in columns}) > 1:
        raise ValueError("scores and grades must be of one length")
    kept = np.asarray(~np.isnan(np.array(columns)).any(axis=0))

    def place(score: Floats, truth: Floats) -> _Place:
        part, right = (score[kept].tobytes(), kept.tobytes()), truth[kept].tobytes()
        parts.setdefault(part, (score, kept, {}))[2].setdefault(right, truth)
        return part, right

    return place(*columns[:2]), place(*columns[2:])


def _order(of_scores: Mapping[str, tuple[_Place, _Place]], draws: Mapping[_Place, Draws]) -> GraderOrder:
    """Of the scores that have an AUROC under both."""
    by_name = {name: [draws[place] for place in places] for name, places in of_scores.items()}
    of_names = {name: both for name, both in by_name.items() if not any(np.isnan(side.value) for side in both)}
    names, nan = tuple(of_names), float("nan")
    if not names:
        return GraderOrder((), (), (), UNDEFINED, UNDEFINED, ("", ""), nan, UNDEFINED)
    sides = list(zip(*of_names.values(), strict=True))
    values = np.array([[number.value for number in side] for side in sides])
    whole = _order_numbers(values[..., None])
    drawn = _order_numbers(np.array([[number.resampled for number in side] for side in sides]))
    tau, rho, lost = (interval(Draws(float(whole[name][0]), drawn[name])) for name in ("tau", "rho", "lost"))
    best = values.argmax(axis=1)
    same = drawn["same"]
    return GraderOrder(
        names,
        tuple(values[0].tolist()),
        tuple(values[1].tolist()),
        tau,
        rho,
        (names[best[0]], names[best[1]]),
        float(same.mean()) if len(same) else nan,
        lost,
    )


def _order_numbers(aurocs: Floats) -> dict[str, Floats]:
    """Of AUROCs [graders, scores, resamples] each number, [resamples], of the scores that are defined there."""
    defined = np.asarray(~np.isnan(aurocs).any(axis=0))
    signs = np.sign(aurocs[:, :, None] - aurocs[:, None])  # [graders, scores, scores, resamples]
    signs = np.where(defined[:, None] & defined[None], signs, 0.0)
    apart = (signs**2).sum(axis=(1, 2))
    ranks = signs.sum(axis=2)  # each mean rank, twice and about 0
    chosen = np.where(defined, aurocs, -np.inf)
    best = chosen.argmax(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = (signs[0] * signs[1]).sum(axis=(0, 1)) / np.sqrt(apart[0] * apart[1])
        rho = (ranks[0] * ranks[1]).sum(axis=0) / np.sqrt((ranks[0] ** 2).sum(axis=0) * (ranks[1] ** 2).sum(axis=0))
        lost = chosen[1].max(axis=0) - np.take_along_axis(chosen[1], best[:1], axis=0)[0]
    return {"tau": np.clip(tau, -1, 1), "rho": np.clip(rho, -1, 1), "lost": lost, "same": best[0] == best[1]}


@dataclass(frozen=True, slots=True)
class StratifiedAuroc:
    """AUROC over all answers, and within strata of them."""

    auroc: Estimate
    within: Estimate
    change: Difference  # within minus over all: below 0 where the strata help a confidence to rank


def auroc_within(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    strata: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> StratifiedAuroc:
    """AUROC among answers of one stratum, such as answers of about one length, averaged over the strata.

        sum over strata of R W AUROC / sum of R W, for R right and W wrong answers of a stratum

    So it is the share of pairs of a right and a wrong answer of one stratum in which the right one is surer, a tie
    counting half. What a confidence knows by the strata alone is in `auroc` and not in `within`. Strata stay what they
    are in resamples. Larger is better, 0.5 is chance.

    Args:
        confidence: [answers], in [0, 1].
        correct: [answers], 0 or 1.
        strata: [answers], a label of each, such as `tenths` of its length.
        resampling: number of resamples, and seed.
        clusters: [answers], the label of each one's cluster; None draws single answers.
    Returns:
        Values in [0, 1]; NaN without answers, of one class, and `within` where no stratum has both.
    Raises:
        ValueError: as `auroc`, or strata that do not fit.

    >>> found = auroc_within([0.9, 0.8, 0.2, 0.1], [1, 1, 0, 0], ["long", "long", "short", "short"], Resampling(0))
    >>> found.auroc.value, found.within.value
    (1.0, nan)
    """
    return aurocs_within(confidence, {"": correct}, strata, resampling, clusters)[""]


def aurocs_within(
    confidence: npt.ArrayLike,
    truths: Mapping[str, npt.ArrayLike],
    strata: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> dict[str, StratifiedAuroc]:
    """`auroc_within` by each of several truths, such as graders' names and what each calls right of the answers."""
    values, labels = np.asarray(confidence, np.float64), np.asarray(strata)
    if labels.shape != values.shape:
        raise ValueError(f"strata must have one label for each of {len(values)} answers; got shape {labels.shape}")
    if not truths:
        return {}
    right, every = [np.asarray(truth) for truth in truths.values()], np.ones(len(values), np.bool_)
    parts = RankedPart.of(values, right, every), RankedPart.of(values, right, every, labels)
    if not len(values):
        return dict.fromkeys(truths, StratifiedAuroc(UNDEFINED, UNDEFINED, Difference(float("nan"))))

    def statistics(counts: Ints) -> Floats:
        return np.concatenate([part.auroc(counts) for part in parts])

    draws = joint_draws(statistics, len(values), resampling, clusters)
    return {
        name: StratifiedAuroc(
            interval(over_all), interval(within), PairedDraws.of(within, over_all, AUROC).difference()
        )
        for name, over_all, within in zip(truths, draws, draws[len(truths) :], strict=False)
    }


def tenths(values: npt.ArrayLike) -> Ints:
    """The tenth that each value is in, by its quantiles, from 0; equal values are in one, so that there can be fewer.

    Args:
        values: [answers], finite, such as lengths of replies.

    >>> tenths([3, 1, 1, 2, 50]).tolist()
    [7, 0, 0, 4, 9]
    """
    numbers = check_vector("values", values, "answers")
    if not len(numbers):
        return np.empty(0, np.int64)
    edges = np.quantile(numbers, np.arange(1, TENTHS) / TENTHS)
    return np.searchsorted(edges, numbers, side="left").astype(np.int64)
