"""Orders of scores under two graders, and AUROC within strata: brute force, SciPy, and worlds with a known answer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import kendalltau, spearmanr

from calprobe.metrics import Resampling, auroc
from calprobe.metrics.grader_order import Graded, auroc_within, aurocs_within, grader_order, grader_orders, tenths
from calprobe.metrics.ranks import RankedPart

Numbers = npt.NDArray[np.float64]


def world(seed: int, n: int = 200, scores: int = 6) -> tuple[Graded, Graded]:
    """Scores of different worth, a grader, and another that errs in a tenth of the answers; some are not known."""
    rng = np.random.default_rng(seed)
    right = (rng.random(n) < 0.5).astype(float)
    other = np.where(rng.random(n) < 0.1, 1 - right, right)
    other[rng.random(n) < 0.1] = np.nan
    first, second = {}, {}
    for place in range(scores):
        sure = np.clip(0.5 + 0.04 * place * (right - 0.5) + rng.normal(0, 0.1, n), 0, 1).round(2)
        sure[rng.random(n) < 0.05] = np.nan
        first[f"s{place}"], second[f"s{place}"] = (sure, right), (sure, other)
    return first, second


def test_correlations_are_those_of_the_aurocs_on_shared_answers() -> None:
    for seed in range(5):
        first, second = world(seed)
        found = grader_order(first, second, Resampling(0))
        for values, side in ((found.first, first), (found.second, second)):
            for name, value in zip(found.names, values, strict=True):
                kept = ~np.isnan(first[name][0]) & ~np.isnan(second[name][1])
                assert value == auroc(side[name][0][kept], side[name][1][kept]).value
        assert found.tau.value == pytest.approx(kendalltau(found.first, found.second).statistic, abs=1e-12)
        assert found.rho.value == pytest.approx(spearmanr(found.first, found.second).statistic, abs=1e-12)
        at = found.names.index(found.best[0])
        assert found.lost.value == pytest.approx(max(found.second) - found.second[at], abs=1e-12)


def test_the_same_grader_twice_keeps_every_order() -> None:
    first, _ = world(1)
    found = grader_order(first, first, Resampling(50))
    assert (found.tau.value, found.rho.value, found.lost.value, found.same_best) == (1, 1, 0, 1)
    assert found.best[0] == found.best[1]


def test_ties_between_scores_count_as_ties() -> None:
    sure, unsure = np.array([0.9, 0.1, 0.5, 0.4]), np.array([0.2, 0.4, 0.3, 0.1])
    right, other = np.array([1.0, 0, 1, 0]), np.array([1.0, 0, 0, 1])
    scores = {"a": sure, "b": sure, "c": unsure}
    first, second = ({name: (score, by) for name, score in scores.items()} for by in (right, other))
    found = grader_order(first, second, Resampling(0))
    assert found.tau.value == pytest.approx(kendalltau(found.first, found.second).statistic)
    assert found.rho.value == pytest.approx(spearmanr(found.first, found.second).statistic)


def test_resamples_are_those_of_the_answers() -> None:
    first, second = world(2, n=60)
    found = grader_order(first, second, Resampling(400, 3))
    assert found.tau.low <= found.tau.value <= found.tau.high <= 1
    assert 0 <= found.same_best <= 1
    assert found.lost.low >= 0
    clusters = np.repeat(np.arange(20), 3)
    assert grader_order(first, second, Resampling(400, 3), clusters).tau.low != found.tau.low
    assert np.isnan(grader_order(first, second, Resampling(400, 3), np.repeat(np.arange(5), 12)).tau.low)


def test_scores_of_one_class_have_no_place() -> None:
    sure, right = np.array([0.9, 0.1, 0.5]), np.array([1.0, 0, 1])
    all_right = {"a": (sure, np.ones(3)), "b": (sure, right)}
    found = grader_order(all_right, {"a": (sure, right), "b": (sure, right)}, Resampling(20))
    assert found.names == ("b",)
    assert np.isnan(found.tau.value)
    none = grader_order({}, {}, Resampling(20))
    assert none.best == ("", "")
    with pytest.raises(ValueError, match="the same scores"):
        grader_order(all_right, {}, Resampling(0))
    with pytest.raises(ValueError, match="one length"):
        grader_order({"a": (sure, right)}, {"a": (sure, np.ones(2))}, Resampling(0))


def test_all_pairs_at_once_have_the_numbers_of_each_pair_alone() -> None:
    (first, second), (_, third) = world(3, n=80), world(4, n=80)
    third = {name: (sure, third[name][1]) for name, (sure, _) in first.items()}
    graders, clusters = {"a": first, "b": second, "c": third}, np.repeat(np.arange(20), 4)
    found = grader_orders(graders, Resampling(30), clusters)
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    for (name, other), order in found.items():
        assert order == grader_order(graders[name], graders[other], Resampling(30), clusters)
    assert grader_orders({"a": first}) == {}


def test_resampled_aurocs_are_those_of_the_answers_drawn() -> None:
    """With ties, strata and two truths: each resample against `auroc` of its answers, one by one."""
    rng = np.random.default_rng(7)
    confidence, strata = rng.random(40).round(1), rng.integers(3, size=40)
    truths = [rng.random(40) < share for share in (0.3, 0.6)]
    kept, counts = rng.random(40) < 0.8, rng.multinomial(40, np.full(40, 1 / 40), size=6)
    over_all = RankedPart.of(confidence, truths, kept).auroc(counts)
    within = RankedPart.of(confidence, truths, kept, strata).auroc(counts)
    for at, truth in enumerate(truths):
        for row, held in enumerate(counts):
            drawn = np.repeat(np.arange(40), held * kept)
            sure, right = confidence[drawn], truth[drawn].astype(float)
            assert over_all[at, row] == auroc(sure, right).value
            assert within[at, row] == pytest.approx(by_pairs(sure, right, strata[drawn]), abs=1e-12)


def by_pairs(confidence: Numbers, correct: Numbers, strata: npt.NDArray[np.int64]) -> float:
    """The share of pairs of one stratum in order, one by one."""
    wins = [
        1.0 if confidence[i] > confidence[j] else 0.5 if confidence[i] == confidence[j] else 0.0
        for i in np.flatnonzero(correct == 1)
        for j in np.flatnonzero(correct == 0)
        if strata[i] == strata[j]
    ]
    return float(np.mean(wins)) if wins else float("nan")


def test_auroc_within_strata_is_over_pairs_of_one_stratum() -> None:
    rng = np.random.default_rng(4)
    for strata in (1, 3, 10):
        confidence, correct = rng.random(80).round(1), (rng.random(80) < 0.4).astype(float)
        labels = rng.integers(strata, size=80)
        found = auroc_within(confidence, correct, labels, Resampling(0))
        assert found.within.value == pytest.approx(by_pairs(confidence, correct, labels), abs=1e-12)
        assert found.auroc.value == auroc(confidence, correct).value
        assert found.change.value == found.within.value - found.auroc.value
        order = rng.permutation(80)
        again = auroc_within(confidence[order], correct[order], labels[order], Resampling(0))
        assert again.within.value == pytest.approx(found.within.value, abs=1e-12)
        twice = auroc_within(*(np.repeat(column, 2) for column in (confidence, correct, labels)), Resampling(0))
        assert twice.within.value == pytest.approx(found.within.value, abs=1e-12)


def test_several_truths_at_once_have_the_numbers_of_each_alone() -> None:
    rng = np.random.default_rng(8)
    confidence, strata = rng.random(60).round(2), rng.integers(4, size=60)
    truths = {name: rng.random(60) < 0.5 for name in ("exact", "judge")}
    found = aurocs_within(confidence, truths, strata, Resampling(40))
    for name, truth in truths.items():
        assert found[name] == auroc_within(confidence, truth, strata, Resampling(40))
    assert aurocs_within(confidence, {}, strata) == {}


def test_a_confidence_that_is_length_alone_ranks_nothing_within_lengths() -> None:
    """Within answers of one length it is 0.5; within tenths of lengths a little is left where a tenth holds several."""
    rng = np.random.default_rng(5)
    length = rng.integers(1, 11, 4000)
    correct = rng.random(4000) < length / 12
    assert auroc_within(length / 10, correct, length, Resampling(0)).within.value == 0.5
    by_length = auroc_within(length / 10, correct, tenths(length), Resampling(200))
    assert by_length.auroc.value > 0.75
    assert by_length.within.value < 0.55
    assert by_length.change.high < -0.2
    knowing = np.clip(correct * 0.3 + rng.random(4000) * 0.7, 0, 1)
    own = auroc_within(knowing, correct, tenths(length), Resampling(200))
    assert abs(own.change.value) < 0.02


def test_tenths_hold_equal_shares_and_keep_ties_together() -> None:
    rng = np.random.default_rng(6)
    numbers = rng.permutation(1000)
    assert np.bincount(tenths(numbers)).tolist() == [100] * 10
    tied = rng.integers(3, size=50)
    assert all(len(set(tenths(tied)[tied == value].tolist())) == 1 for value in range(3))
    assert tenths([]).tolist() == []
    assert set(tenths([7, 7, 7]).tolist()) == {0}


def test_strata_are_checked() -> None:
    assert np.isnan(auroc_within([], [], [], Resampling(10)).within.value)
    assert np.isnan(auroc_within([0.5, 0.6], [1, 1], [0, 0], Resampling(10)).auroc.value)
    with pytest.raises(ValueError, match="strata must have one label for each of 2 answers"):
        auroc_within([0.5, 0.6], [1, 0], [0])
