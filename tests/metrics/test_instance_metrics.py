"""Accuracy, mean confidence, Brier, NLL, AUROC against scikit-learn and by hand, and the checks that all share."""

from __future__ import annotations

import math

import numpy as np
import pytest
from confidence_samples import samples
from hypothesis import given
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from calprobe.metrics import accuracy, ace, auroc, brier, debiased_ece, ece, mean_confidence, nll, smooth_ece

ALL = (accuracy, mean_confidence, ace, ece, smooth_ece, debiased_ece, brier, nll, auroc)


@given(samples())
def test_brier_is_that_of_scikit_learn(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample
    expected = brier_score_loss(correct, confidence, pos_label=True)
    assert brier(confidence, correct).value == pytest.approx(expected, abs=1e-12)


@given(samples())
def test_nll_is_that_of_scikit_learn(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample
    expected = log_loss(correct, np.clip(confidence, 1e-12, 1 - 1e-12), labels=[False, True])
    assert nll(confidence, correct).value == pytest.approx(expected, abs=1e-12)


def test_nll_by_hand() -> None:
    assert nll([0.5, 0.25], [True, False]).value == pytest.approx((math.log(2) + math.log(4 / 3)) / 2, abs=1e-15)
    # A certain mistake costs what a probability of 1e-12 does, and no more.
    assert nll([0.0], [True]).value == pytest.approx(12 * math.log(10), abs=1e-12)
    assert nll([1.0, 0.5], [False, True]).value == pytest.approx((12 * math.log(10) + math.log(2)) / 2, abs=1e-4)
    assert nll([0.0, 1.0], [False, True]).value == pytest.approx(1e-12, rel=1e-3)


@given(samples())
def test_auroc_is_that_of_scikit_learn(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample
    found = auroc(confidence, correct).value
    if correct.all() or not correct.any():
        assert np.isnan(found)
    else:
        assert found == pytest.approx(roc_auc_score(correct, confidence), abs=1e-12)


def test_auroc_by_hand() -> None:
    # Pairs (correct, incorrect): 0.8 beats 0.5 and 0.2; 0.5 ties with 0.5 and beats 0.2; 0.1 loses twice.
    confidence, correct = [0.8, 0.5, 0.1, 0.5, 0.2], [True, True, True, False, False]
    assert auroc(confidence, correct).value == 3.5 / 6


def test_means_by_hand() -> None:
    confidence, correct = [0.5, 0.25, 0.0], [True, False, False]
    assert accuracy(confidence, correct).value == pytest.approx(1 / 3)
    assert mean_confidence(confidence, correct).value == 0.25
    assert brier(confidence, correct).value == pytest.approx((0.25 + 0.0625) / 3)


@pytest.mark.parametrize("metric", ALL)
def test_no_instances_leave_every_metric_undefined(metric: object) -> None:
    assert callable(metric)
    assert np.isnan(metric([], []).value)


def test_one_instance() -> None:
    assert [metric([0.4], [True]).value for metric in (accuracy, mean_confidence)] == [1.0, 0.4]
    assert brier([0.4], [True]).value == pytest.approx(0.36)
    assert np.isnan(auroc([0.4], [True]).value)


def test_failed_predictions_count_as_incorrect_at_no_confidence() -> None:
    assert accuracy([0.0, 1.0], [False, True]).value == 0.5
    assert brier([0.0, 1.0], [False, True]).value == 0


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        ([0.5, 1.5], [1, 0], r"confidence must lie in \[0, 1\] and not be NaN; got 1.5 at place 1"),
        ([-0.001], [1], r"confidence must lie in \[0, 1\] and not be NaN; got -0.001 at place 0"),
        ([0.5, float("nan")], [1, 0], r"confidence must lie in \[0, 1\] and not be NaN; got nan at place 1"),
        ([0.5], [2], r"correct must be true or false \(1 or 0\); got 2.0 at place 0"),
        ([0.5], [float("nan")], r"correct must be true or false \(1 or 0\); got nan at place 0"),
        ([0.5], [1, 0], r"correct must have as many entries as confidence, 1; got 2"),
        ([[0.5]], [1], r"confidence must have one dimension, \[instances\]; got shape \(1, 1\)"),
        (["high"], [1], r"confidence must be an array of numbers; got \['high'\]"),
    ],
)
def test_what_is_no_confidence_is_refused(metric: object, confidence: list, correct: list, message: str) -> None:
    assert callable(metric)
    with pytest.raises(ValueError, match=message):
        metric(confidence, correct)
