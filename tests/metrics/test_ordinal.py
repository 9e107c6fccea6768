"""Scores on any scale as ranks: order and ties kept, whatever the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.metrics import RankMetric, bootstrap, ordinal_confidence, standard_metrics
from calprobe.metrics.resamples import Resampling

SCORES = st.lists(st.floats(allow_nan=False, allow_infinity=True) | st.integers(-2, 2).map(float), max_size=40)


@given(SCORES, st.booleans())
def test_order_and_ties_are_kept(scores: list[float], uncertainty: bool) -> None:
    confidence = ordinal_confidence(scores, uncertainty=uncertainty)
    values = np.array(scores)
    order = np.sign(np.subtract.outer(confidence, confidence))
    expected = (values[:, None] > values).astype(int) - (values[:, None] < values)
    np.testing.assert_array_equal(order, -expected if uncertainty else expected)
    assert ((confidence >= 0) & (confidence <= 1)).all()


def test_no_two_of_many_scores_meet() -> None:
    scores = np.arange(2_000_000.0)
    assert (np.diff(ordinal_confidence(scores)) > 0).all()


def test_ranking_metrics_are_those_of_the_scores() -> None:
    rng = np.random.default_rng(3)
    confidence = rng.integers(0, 30, 500) / 30
    correct = rng.random(500) < confidence
    metrics = [metric for metric in standard_metrics() if isinstance(metric, RankMetric)]
    assert {metric.name for metric in metrics} >= {"auroc", "aurc", "e_aurc", "prr"}
    kept = bootstrap(metrics, confidence, correct, Resampling(20))
    assert bootstrap(metrics, ordinal_confidence(np.exp(9 * confidence) - 70), correct, Resampling(20)) == kept
    assert bootstrap(metrics, ordinal_confidence(-confidence, uncertainty=True), correct, Resampling(20)) == kept


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.5, float("nan")], "scores must not be NaN; got nan at place 1"),
        ([[0.5]], r"scores must have one dimension, \[instances\]; got shape \(1, 1\)"),
        (["a"], r"scores must be an array of numbers; got \['a'\]"),
    ],
)
def test_what_has_no_order_is_refused(scores: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ordinal_confidence(scores)


def test_equal_scores_and_none() -> None:
    assert ordinal_confidence([7.0, 7.0]).tolist() == [0.0, 0.0]
    assert ordinal_confidence([]).tolist() == []
