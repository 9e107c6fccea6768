"""Accuracy-rejection curves against plain loops, on resamples and by hand."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from confidence_samples import samples
from hypothesis import given
from hypothesis import strategies as st

from calprobe.metrics import aurc, reject_by_rank, reject_by_threshold, reject_by_vote
from calprobe.metrics.rejection import (
    THRESHOLDS,
    RejectionCurve,
    accuracy_at_coverage,
    curve_of_thresholds,
    curve_of_votes,
)
from calprobe.metrics.sample import sort_instances


def check_by_loop(curve: RejectionCurve, confidence: np.ndarray, correct: np.ndarray) -> None:
    """Every point from its definition."""
    for at, threshold in enumerate(curve.threshold):
        kept = [bool(y) for c, y in zip(confidence, correct, strict=True) if c >= threshold]
        assert (curve.kept[at], curve.correct[at]) == (len(kept), sum(kept))
        assert curve.rejected[at] == pytest.approx(1 - len(kept) / len(confidence), abs=1e-15)
        if kept:
            assert curve.accuracy[at] == sum(kept) / len(kept)
        else:
            assert np.isnan(curve.accuracy[at])


@given(samples(), st.one_of(st.just(list(THRESHOLDS)), st.lists(st.floats(0, 1), max_size=5)))
def test_thresholds_keep_what_is_at_least_as_confident(
    sample: tuple[np.ndarray, np.ndarray], thresholds: list[float]
) -> None:
    curve = reject_by_threshold(*sample, thresholds)
    assert curve.threshold.tolist() == thresholds
    check_by_loop(curve, *sample)


@given(samples())
def test_ranks_are_every_share_that_ties_allow(sample: tuple[np.ndarray, np.ndarray]) -> None:
    curve = reject_by_rank(*sample)
    assert curve.threshold.tolist() == sorted(set(sample[0].tolist()))
    assert curve.rejected[0] == 0
    check_by_loop(curve, *sample)


def test_thresholds_are_the_tenths_that_confidences_are() -> None:
    assert THRESHOLDS == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    # np.arange has 0.30000000000000004, which would reject 0.3; votes give 3 / 5 and the like.
    assert np.arange(0, 1.1, 0.1)[3] > 0.3
    assert reject_by_threshold([0.3, 0.1 + 0.2, 0.29], [1, 1, 1]).kept[3] == 2
    fifths = np.arange(6) / 5
    assert reject_by_threshold(fifths, np.ones(6)).kept.tolist() == [6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1]


def test_nothing_kept_has_no_accuracy() -> None:
    curve = reject_by_threshold([0.2, 0.45], [True, False])
    assert curve.kept.tolist() == [2, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0]
    assert np.isnan(curve.accuracy[5:]).all()
    assert (curve.rejected[5:] == 1).all()
    # A failed prediction is kept at threshold 0 only.
    assert reject_by_threshold([0.0, 1.0], [False, True]).accuracy.tolist() == [0.5, *[1.0] * 10]


def test_ranks_by_hand() -> None:
    curve = reject_by_rank([0.9, 0.2, 0.6, 0.6, 0.9], [True, False, False, True, True])
    assert curve.threshold.tolist() == [0.2, 0.6, 0.9]
    assert curve.kept.tolist() == [5, 4, 2]
    assert curve.correct.tolist() == [3, 3, 2]
    assert curve.rejected.tolist() == pytest.approx([0, 0.2, 0.6])
    assert curve.accuracy.tolist() == [0.6, 0.75, 1]


def test_few_instances() -> None:
    none = reject_by_rank([], [])
    assert none.threshold.tolist() == none.accuracy.tolist() == []
    nothing = reject_by_threshold([], [])
    assert nothing.kept.tolist() == [0] * 11
    assert np.isnan(nothing.rejected).all()
    assert np.isnan(nothing.accuracy).all()
    one = reject_by_rank([0.4], [False])
    assert (one.threshold.tolist(), one.rejected.tolist(), one.accuracy.tolist()) == ([0.4], [0], [0])
    assert reject_by_rank([0.4, 0.4], [True, True]).accuracy.tolist() == [1]


def test_curves_are_columns_of_a_table() -> None:
    table = pd.DataFrame(asdict(reject_by_threshold([0.2, 0.45], [True, False], [0.0, 0.3, 0.6])))
    assert table.columns.tolist() == ["threshold", "kept", "correct", "rejected", "accuracy"]
    assert table["kept"].dtype == table["correct"].dtype == np.int64
    assert table["accuracy"].isna().tolist() == [False, False, True]


def test_votes_by_hand() -> None:
    # Four instances; a vote of 2 fails on the last, of 3 on the last two, of 4 on all.
    failed = [[0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]]
    correct = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    curve = reject_by_vote([2, 3, 4], failed, correct)
    assert curve.threshold.tolist() == [2, 3, 4]
    assert curve.kept.tolist() == [3, 2, 0]
    assert curve.rejected.tolist() == [0.25, 0.5, 1]
    np.testing.assert_array_equal(curve.accuracy, [1 / 3, 0.5, np.nan])
    none = reject_by_vote([2], [[]], [[]])
    assert np.isnan([none.rejected[0], none.accuracy[0]]).all()


@given(samples(), st.integers(0, 100))
def test_resamples_are_those_written_out(sample: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    confidence, correct = sample
    failed = (confidence < 0.5) & ~correct
    counts = np.random.default_rng(seed).integers(0, 3, (3, len(confidence)))
    resampled = sort_instances(confidence, correct).resampled(counts)
    by_threshold = curve_of_thresholds(resampled, np.array(THRESHOLDS))
    by_vote = curve_of_votes(counts, [2], failed[None], correct[None])
    shares = np.array([0.1, 0.25, 0.5, 0.77, 1.0])
    by_share = accuracy_at_coverage(resampled, shares)
    for row in range(3):
        held = np.repeat(np.arange(len(confidence)), counts[row])
        for found, expected in (
            (by_threshold.row(row), reject_by_threshold(confidence[held], correct[held])),
            (by_vote.row(row), reject_by_vote([2], failed[None, held], correct[None, held])),
        ):
            for name, column in asdict(expected).items():
                np.testing.assert_array_equal(asdict(found)[name], column, err_msg=name)
        alone = accuracy_at_coverage(sort_instances(confidence[held], correct[held]).sample(), shares)
        np.testing.assert_allclose(by_share[row], alone[0], rtol=0, atol=1e-11)


@given(samples())
def test_shares_of_coverage_lie_on_the_curves(sample: tuple[np.ndarray, np.ndarray]) -> None:
    complete = sort_instances(*sample).sample()
    by_rank, n_instances = reject_by_rank(*sample), len(sample[0])
    risk = 1 - accuracy_at_coverage(complete, np.arange(1, n_instances + 1) / n_instances)[0]
    assert risk.mean() == pytest.approx(aurc(*sample).value, abs=1e-12)
    allowed = by_rank.kept / n_instances
    np.testing.assert_allclose(accuracy_at_coverage(complete, allowed)[0], by_rank.accuracy, atol=1e-12)


def test_shares_within_ties_and_instances_by_hand() -> None:
    sample = sort_instances([0.9, 0.6, 0.6, 0.3], [False, False, True, True]).sample()
    # 0.1 is a part of the first instance; 0.5 is it and half of the tie, which is half right.
    np.testing.assert_allclose(accuracy_at_coverage(sample, [0.1, 0.5, 0.625]), [[0, 0.25, 0.3]])
    assert np.isnan(accuracy_at_coverage(sort_instances([], []).sample(), [0.5])).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [1], [1.5]), r"thresholds must lie in \[0, 1\] and not be NaN; got 1.5 at place 0"),
        (([0.5], [1], [0.5, np.nan]), r"thresholds must lie in \[0, 1\] and not be NaN; got nan at place 1"),
        (([np.nan], [1]), r"confidence must lie in \[0, 1\] and not be NaN; got nan at place 0"),
        (([0.5], [1, 1]), "correct must have as many entries as confidence, 1; got 2"),
    ],
)
def test_what_cannot_be_thresholds_or_confidences_is_refused(arguments: tuple[list, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reject_by_threshold(*arguments)


@pytest.mark.parametrize(
    ("votes", "failed", "correct", "message"),
    [
        ([2], [[0, 1]], [[0]], r"must both be \[1 votes, instances\]; got \(1, 2\) and \(1, 1\)"),
        ([2, 3], [[0, 1]], [[0, 0]], r"must both be \[2 votes, instances\]; got \(1, 2\) and \(1, 2\)"),
        ([2], [0, 1], [0, 0], r"failed must be true or false \(1 or 0\), \[votes, instances\]; got \[0, 1\]"),
        ([2], [[0, 1]], [[0.5, 0]], r"correct must be true or false \(1 or 0\), \[votes, instances\]"),
        ([2], [[0, 1]], [[0, 1]], r"correct must be false where failed is true; both are true at \[0, 1\]"),
    ],
)
def test_what_cannot_be_votes_is_refused(votes: list, failed: list, correct: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reject_by_vote(votes, failed, correct)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, np.nan])
def test_no_share_of_coverage_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="coverage must lie in"):
        accuracy_at_coverage(sort_instances([0.5], [True]).sample(), [1.0, share])
