"""Accuracy corrected for a judge's errors: closed forms, and simulated judges."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.metrics import Resampling, auroc, brier
from calprobe.metrics.judged import (
    JudgedAccuracy,
    JudgedConfidence,
    judged_accuracy,
    judged_confidence,
    judged_confidences,
)


def simulated(seed: int, n: int = 800, by_hand: int = 200) -> tuple[JudgedAccuracy, float]:
    """A judge with sensitivity 0.9 and specificity 0.7, and the accuracy that it does not see."""
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.4
    judged = np.where(right, rng.random(n) < 0.9, rng.random(n) < 0.3)
    hand = np.where(np.arange(n) < by_hand, right.astype(float), np.nan)
    return judged_accuracy(judged, hand, Resampling(200)), 0.4


def test_the_interval_has_the_accuracy_that_the_judge_overstates() -> None:
    found = [simulated(seed) for seed in range(60)]
    assert sum(own.accuracy.low <= truth <= own.accuracy.high for own, truth in found) >= 51  # of 57 expected
    assert np.mean([own.accuracy.value for own, _ in found]) == pytest.approx(0.4, abs=0.02)
    assert np.mean([own.judged.value for own, _ in found]) == pytest.approx(0.4 * 0.9 + 0.6 * 0.3, abs=0.02)
    # Wider than of so many answers without errors of the judge.
    assert all(own.accuracy.high - own.accuracy.low > own.judged.high - own.judged.low for own, _ in found)


def test_a_judge_without_errors_needs_no_correction() -> None:
    judged = [1, 1, 0, 0, 1, 0, 0, 0]
    found = judged_accuracy(judged, [1, np.nan, 0, 0, np.nan, np.nan, np.nan, np.nan], Resampling(0))
    assert (found.sensitivity.value, found.specificity.value, found.right, found.wrong) == (1, 1, 1, 2)
    assert found.accuracy.value == found.judged.value == 3 / 8


def test_nothing_is_corrected_without_both_kinds_or_by_a_judge_of_chance() -> None:
    assert np.isnan(judged_accuracy([1, 0], [1, np.nan], Resampling(0)).accuracy.value)
    chance = judged_accuracy([1, 0, 1, 0, 1], [1, 1, 0, 0, np.nan], Resampling(0))
    assert chance.sensitivity.value == 1 - chance.specificity.value
    assert np.isnan(chance.accuracy.value)
    with pytest.raises(ValueError, match="2 values of 0, 1 or NaN"):
        judged_accuracy([1, 0], [0.5, 1])


def simulated_confidence(
    seed: int, n: int = 2000, by_hand: int = 500, leaning: float = 0.0
) -> tuple[JudgedConfidence, float, float]:
    """A confidence in answers that such a judge graded, with its true AUROC and Brier score.

    `leaning` is how much likelier the judge calls right what the model is sure of, in probability.
    """
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.4
    confidence = rng.beta(np.where(right, 3, 1.5), 2)
    says = rng.random(n) < np.where(right, 0.9, 0.3) + leaning * (confidence - 0.5)
    hand = np.where(np.arange(n) < by_hand, right.astype(float), np.nan)
    found = judged_confidence(confidence, says, hand, Resampling(200))
    return found, auroc(confidence, right).value, brier(confidence, right).value


def test_corrections_have_the_auroc_and_the_brier_score_that_the_judge_hides() -> None:
    trials = [simulated_confidence(seed) for seed in range(60)]
    for name, truth in (("auroc", [a for _, a, _ in trials]), ("brier", [b for _, _, b in trials])):
        corrected = [getattr(found, f"{name}_corrected") for found, _, _ in trials]
        judged = [getattr(found, name).value for found, _, _ in trials]
        values = [estimate.value for estimate in corrected]
        assert np.mean(values) == pytest.approx(np.mean(truth), abs=0.01)
        assert abs(np.mean(judged) - np.mean(truth)) > 0.03  # what is corrected
        covered = sum(own.low <= true <= own.high for own, true in zip(corrected, truth, strict=True))
        assert covered >= 51  # of 57 expected
    without = [found.sure_where_wrong for found, _, _ in trials]
    assert sum(own.low <= 0.5 <= own.high for own in without) >= 51


def test_a_judge_that_goes_by_confidence_is_seen() -> None:
    found = [simulated_confidence(seed, leaning=0.4)[0].sure_where_wrong for seed in range(10)]
    assert all(own.low > 0.5 for own in found)


def test_corrections_make_too_good_what_a_judge_favours() -> None:
    """A judge that calls right what is sure, of the wrong answers or of the right ones."""
    rng = np.random.default_rng(9)
    confidence = rng.random(4000)
    right = rng.random(4000) < 0.1 + 0.5 * confidence
    lures = np.where(right, 0.9, 0.6 * confidence), np.where(right, 0.6 + 0.4 * confidence, 0.3)
    for lure, by in zip(lures, ("sure_where_wrong", "sure_where_right"), strict=True):
        found = judged_confidence(confidence, rng.random(4000) < lure, right.astype(float), Resampling(0))
        assert getattr(found, by).value > 0.65
        assert found.auroc_corrected.value > found.auroc_by_hand.value + 0.03
        assert found.brier_corrected.value < found.brier_by_hand.value - 0.01


def test_a_judge_without_errors_corrects_nothing_of_a_confidence() -> None:
    confidence, right = [0.9, 0.7, 0.6, 0.4, 0.2, 0.3], [1, 1, 0, 1, 0, 0]
    found = judged_confidence(confidence, right, [1, np.nan, 0, np.nan, np.nan, 0], Resampling(0))
    assert found.auroc_corrected.value == pytest.approx(auroc(confidence, right).value, abs=1e-12)
    assert found.brier_corrected.value == pytest.approx(brier(confidence, right).value, abs=1e-12)
    assert found.brier_by_hand.value == pytest.approx((0.01 + 0.36 + 0.09) / 3)
    assert np.isnan(found.sure_where_wrong.value)  # the judge misses none


def test_corrections_of_a_mixture_in_closed_form() -> None:
    # Each of 4 confidences, 10 right and 10 wrong answers: the judge finds 8 of 10 right ones, and 7 of 10 wrong ones.
    weights = {0.8: (30, 10), 0.4: (10, 30)}  # answers right and wrong of each confidence
    rows = [
        (confidence, float(says), float(truth))
        for confidence, (right, wrong) in weights.items()
        for truth, number, found in ((1, right, 0.8), (0, wrong, 0.7))
        for place in range(number)
        for says in [truth if place < found * number else 1 - truth]
    ]
    confidence, says, truth = map(np.array, zip(*rows, strict=True))
    found = judged_confidence(confidence, says, truth, Resampling(0))
    assert found.auroc_corrected.value == pytest.approx(auroc(confidence, truth).value, abs=1e-12)
    assert found.brier_corrected.value == pytest.approx(brier(confidence, truth).value, abs=1e-12)
    assert (found.sure_where_right.value, found.sure_where_wrong.value) == (0.5, 0.5)
    shuffled = np.random.default_rng(3).permutation(len(rows))
    again = judged_confidence(confidence[shuffled], says[shuffled], truth[shuffled], Resampling(0))
    twice = judged_confidence(*(np.repeat(column, 2) for column in (confidence, says, truth)), Resampling(0))
    for name in ("auroc_corrected", "brier_corrected", "auroc", "sure_where_right"):
        assert getattr(again, name).value == pytest.approx(getattr(found, name).value, abs=1e-12)
        assert getattr(twice, name).value == pytest.approx(getattr(found, name).value, abs=1e-12)


def test_several_judges_at_once_have_the_numbers_of_each_alone() -> None:
    rng = np.random.default_rng(5)
    right, confidence = rng.random(90) < 0.5, rng.random(90).round(2)
    judges = {name: np.where(rng.random(90) < error, ~right, right) for name, error in (("a", 0.1), ("b", 0.3))}
    hand, clusters = np.where(np.arange(90) < 40, right, np.nan), np.repeat(np.arange(30), 3)
    found = judged_confidences(confidence, judges, hand, Resampling(50), clusters)
    for name, says in judges.items():
        assert found[name] == judged_confidence(confidence, says, hand, Resampling(50), clusters)
    assert judged_confidences(confidence, {}, hand) == {}


def test_confidences_that_cannot_be_corrected() -> None:
    chance = judged_confidence([0.1, 0.2, 0.3, 0.4], [1, 0, 1, 0], [1, 1, 0, 0], Resampling(0))
    assert np.isnan(chance.auroc_corrected.value)
    assert np.isnan(chance.brier_corrected.value)
    assert np.isnan(judged_confidence([], [], [], Resampling(5)).auroc.value)
    with pytest.raises(ValueError, match="judged and by_hand must have as many entries as confidence, 1; got 2"):
        judged_confidence([0.5], [1, 0], [1, np.nan])
    with pytest.raises(ValueError, match="as many entries as confidence, 1; got 0"):
        judged_confidence([0.5], [], [])
