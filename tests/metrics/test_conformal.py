"""Answer sets: scores by loops, thresholds by counting, laws by enumeration, MAPIE and crepes, and the promise."""

from __future__ import annotations

import math
from importlib.util import find_spec
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from calprobe.arrays import Floats, Ints
from calprobe.metrics.conformal import (
    SET_RULES,
    SetRule,
    answer_sets,
    conformal_threshold,
    coverage_range,
    covered_law,
    covered_share,
    set_scores,
    units_needed,
)


def ragged(rng: np.random.Generator, n_units: int, ties: bool = False) -> tuple[Floats, Ints, Ints]:
    """Probabilities, offsets and right answers drawn by them."""
    widths = rng.integers(2, 7, n_units)
    rows = [rng.dirichlet(np.full(width, 0.7)) for width in widths]
    if ties:
        rows = [np.round(row * 4) / 4 for row in rows]
    answers = np.array([rng.integers(len(row)) for row in rows])
    return np.concatenate(rows), np.concatenate([[0], np.cumsum(widths)]), answers


def score_by_loops(row: Floats, candidate: int, rule: SetRule, u: float) -> float:
    p = row[candidate]
    above, equal = math.fsum(row[row > p]), math.fsum(row[row == p])
    return {"lac": 1 - p, "aps": above + equal, "aps_random": above + u * equal, "naive": above}[rule]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("rule", SET_RULES)
def test_scores_are_those_of_loops(rule: SetRule, ties: bool) -> None:
    rng = np.random.default_rng(1)
    probabilities, offsets, _ = ragged(rng, 40, ties)
    u = rng.random(40)
    scores = set_scores(probabilities, offsets, rule, u)
    for unit, (start, end) in enumerate(pairwise(offsets)):
        row = probabilities[start:end]
        by_loops = [score_by_loops(row, candidate, rule, u[unit]) for candidate in range(len(row))]
        assert scores[start:end] == pytest.approx(by_loops, abs=1e-12)


@pytest.mark.parametrize("rule", SET_RULES)
def test_order_of_candidates_and_other_units_change_no_bit(rule: SetRule) -> None:
    rng = np.random.default_rng(2)
    probabilities, offsets, _ = ragged(rng, 30, ties=True)
    u = rng.random(30)
    whole = set_scores(probabilities, offsets, rule, u)
    for unit in range(30):
        start, end = offsets[unit : unit + 2]
        moved = rng.permutation(end - start)
        alone = set_scores(probabilities[start:end][moved], [0, end - start], rule, u[unit : unit + 1])
        assert (alone == whole[start:end][moved]).all()


def test_what_is_not_known_is_in_no_set() -> None:
    scores = set_scores([math.nan, math.nan, 0.5, 0.5], [0, 2, 4], "aps")
    assert np.isinf(scores[:2]).all()
    assert answer_sets(scores, [0, 2, 4], [0, 0], 1.0).sizes.tolist() == [0, 2]
    everything = answer_sets(scores, [0, 2, 4], [0, 0], math.inf)
    assert (everything.sizes.tolist(), everything.covered.tolist()) == ([0, 2], [False, True])
    assert answer_sets([], [0], [], 0.5).units == 0
    with pytest.raises(ValueError, match="uniform must be given"):
        set_scores([1.0], [0, 1], "aps_random")
    with pytest.raises(ValueError, match="rule must be one of lac"):
        set_scores([1.0], [0, 1], "best")  # type: ignore[arg-type]


def test_aps_is_empty_where_the_largest_probability_exceeds_the_threshold() -> None:
    scores = set_scores([0.95, 0.05, 0.6, 0.4], [0, 2, 4], "aps")
    assert answer_sets(scores, [0, 2, 4], [0, 0], 0.9).sizes.tolist() == [0, 1]


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("n", [0, 1, 8, 9, 19, 100])
def test_thresholds_are_counted_from_below(n: int, coverage: float) -> None:
    scores = np.random.default_rng(n).random(n)
    place = math.ceil(round((n + 1) * coverage, 9))
    wanted = np.sort(scores)[place - 1] if place <= n else math.inf
    assert conformal_threshold(scores, coverage) == wanted
    assert conformal_threshold(scores, coverage, np.arange(n)) == wanted
    assert (n >= units_needed(coverage)) == math.isfinite(wanted)


def test_each_cluster_weighs_the_same() -> None:
    """Three clusters of 1, 2 and 3 units: 1/4 of the weight is that of the unseen one."""
    scores, clusters = [0.9, 0.2, 0.4, 0.1, 0.5, 0.6], ["a", "b", "b", "c", "c", "c"]
    weight = np.array([1, 1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3]) / 4
    for coverage in (0.2, 0.3, 0.5, 0.7, 0.76):
        reached = [s for s in sorted(scores) if weight[np.array(scores) <= s].sum() >= coverage - 1e-12]
        assert conformal_threshold(scores, coverage, clusters) == (reached[0] if reached else math.inf)
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1; got 1"):
        conformal_threshold(scores, 1)
    for promised in (
        units_needed,
        lambda coverage: covered_law(5, 2, coverage),
        lambda coverage: coverage_range(5, coverage),
    ):
        with pytest.raises(ValueError, match="coverage must lie between 0 and 1; got 1"):
            promised(1.0)


def test_the_law_is_that_of_ranks() -> None:
    """All ways in which 4 calibration and 3 further scores can be ordered are equally probable."""
    counts = np.zeros(4)
    for further in combinations(range(7), 3):
        calibration = [rank for rank in range(7) if rank not in further]
        counts[sum(rank <= calibration[2] for rank in further)] += 1  # ceil(5 * 0.6) = 3
    assert covered_law(4, 3, 0.6) == pytest.approx(counts / counts.sum(), abs=1e-12)
    law = covered_law(583, 200, 0.9)
    assert (law * np.arange(201)).sum() / 200 == pytest.approx(math.ceil(584 * 0.9) / 584)
    assert covered_law(5, 2, 0.9).tolist() == [0, 0, 1]


@pytest.mark.parametrize(("hits", "n"), [(0, 4), (9, 10), (250, 291), (7, 7)])
def test_coverage_has_the_exact_interval(hits: int, n: int) -> None:
    share = covered_share(np.arange(n) < hits)
    exact = binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert (share.low, share.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_coverage_of_clusters_is_their_mean() -> None:
    share = covered_share([True, False, True, True, True, False], [1, 1, 2, 2, 2, 3])
    assert share.value == pytest.approx((0.5 + 1 + 0) / 3)
    assert 0 < share.low < share.value < share.high <= 1
    assert math.isnan(covered_share([]).value)


def test_sets_by_hand() -> None:
    sets = answer_sets([0.1, 0.9, 0.2, 0.3, 0.9, 0.8, 0.7], [0, 2, 5, 7], [0, 2, 0], [0.5, 0.5, 0.1])
    assert (sets.sizes.tolist(), sets.covered.tolist()) == ([1, 2, 0], [True, False, False])
    assert (sets.mean_size, sets.median_size, sets.mean_options) == (1, 1, 7 / 3)
    assert (sets.singletons, sets.singleton_accuracy.value, sets.empty) == (1 / 3, 1, 1 / 3)
    assert [(least, most, of_size.units) for least, most, of_size in sets.by_size()] == [
        (0, 0, 1),
        (1, 1, 1),
        (2, 2, 1),
    ]


TRIALS, COVERAGE = 300, 0.8


def test_the_promise_is_kept_whatever_probabilities_are_worth() -> None:
    """Too sure probabilities: naive sets cover far less than promised, conformal ones what is promised and no more."""
    hits, trials = dict.fromkeys(SET_RULES, 0), 0
    for trial in range(TRIALS):
        rng = np.random.default_rng([3, trial])
        true = rng.dirichlet(np.full(6, 0.8), 41)
        answers = (rng.random((41, 1)) > np.cumsum(true, axis=1)).sum(axis=1)
        said = true**3 / (true**3).sum(axis=1, keepdims=True)
        trials += 1
        for rule in SET_RULES:
            scores = set_scores(said.ravel(), np.arange(0, 41 * 6 + 1, 6), rule, rng.random(41)).reshape(41, 6)
            right = scores[np.arange(41), answers]
            limit = math.nextafter(COVERAGE, 0) if rule == "naive" else conformal_threshold(right[:40], COVERAGE)
            hits[rule] += right[40] <= limit
    exact = math.ceil(41 * COVERAGE) / 41
    least, most = binom.ppf(0.001, trials, exact), binom.ppf(0.999, trials, exact)
    assert all(least <= hits[rule] <= most for rule in ("lac", "aps", "aps_random"))
    assert hits["naive"] < least


def test_few_wrong_answers_are_given_where_confidences_are_shares_of_samples() -> None:
    """A right answer is not strange, a wrong one as strange as it is frequent: a fifth at most are given and wrong."""
    given_wrong = given = 0
    for trial in range(TRIALS):
        rng = np.random.default_rng([4, trial])
        frequency = rng.integers(1, 6, 60) / 5
        correct = rng.random(60) < 0.8 * frequency
        strange = np.where(correct, -np.inf, frequency)
        limit = conformal_threshold(strange[:50], COVERAGE)
        given_wrong += int((strange[50:] > limit).sum())
        given += int((frequency[50:] > limit).sum())
    assert given_wrong / (10 * TRIALS) <= 1 - COVERAGE
    assert given / (10 * TRIALS) > 0.2


@pytest.fixture(scope="module")
def three_kinds() -> tuple[Floats, Ints, Floats, Ints]:
    """Probabilities and right answers of 200 calibration units, and of 200 others."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(5, 0.7), 400)
    answers = (rng.random((400, 1)) > np.cumsum(rows, axis=1)).sum(axis=1)
    return rows[:200], answers[:200], rows[200:], answers[200:]


def flat_scores(rows: Floats, rule: SetRule, u: Floats | None = None) -> Floats:
    return set_scores(rows.ravel(), np.arange(0, rows.size + 1, rows.shape[1]), rule, u).reshape(rows.shape)


@pytest.mark.skipif(find_spec("mapie") is None, reason="MAPIE is not installed")
def test_thresholds_and_sets_are_mapies(three_kinds: tuple[Floats, Ints, Floats, Ints]) -> None:
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A classifier whose probabilities are its inputs."""

        def __init__(self) -> None:
            self.classes_ = np.arange(5)

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict_proba(self, rows: Floats) -> Floats:
            return rows

        def predict(self, rows: Floats) -> Ints:
            return rows.argmax(axis=1)

    fixing, answers, checking, _ = three_kinds
    places = np.arange(200)
    for score in ("lac", "aps"):
        other = SplitConformalClassifier(
            Given(), confidence_level=0.9, conformity_score=score, prefit=True, random_state=1
        )
        other.conformalize(fixing, answers)
        sets = other.predict_set(checking, conformity_score_params={"include_last_label": True})[1][:, :, 0]
        # It draws for the units that it fixes thresholds on alone, and takes away what we add.
        u = 1 - np.random.RandomState(1).uniform(size=200)
        rule: SetRule = "lac" if score == "lac" else "aps_random"
        limit = conformal_threshold(flat_scores(fixing, rule, u)[places, answers], 0.9)
        assert limit == other._mapie_classifier.conformity_score_function_.quantiles_[0]
        # With the label that crosses the threshold: those with less than it above them.
        member = flat_scores(checking, "lac") <= limit if score == "lac" else flat_scores(checking, "naive") < limit
        assert (member == sets).all()


@pytest.mark.skipif(find_spec("crepes") is None, reason="crepes is not installed")
def test_sets_are_those_of_crepes_also_by_group(three_kinds: tuple[Floats, Ints, Floats, Ints]) -> None:
    from crepes import ConformalClassifier
    from crepes.extras import hinge

    fixing, answers, checking, _ = three_kinds
    right = flat_scores(fixing, "lac")[np.arange(200), answers]
    groups = np.arange(200) % 3
    for bins, limits in (
        (None, np.full(200, conformal_threshold(right, 0.9))),
        (groups, np.array([conformal_threshold(right[groups == group], 0.9) for group in groups])),
    ):
        other = ConformalClassifier().fit(hinge(fixing, np.arange(5), answers), bins=bins)
        sets = other.predict_set(hinge(checking), bins=bins, confidence=0.9, smoothing=False)
        assert (sets == (flat_scores(checking, "lac") <= limits[:, None])).all()
