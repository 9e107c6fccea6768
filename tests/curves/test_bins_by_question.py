"""Intervals of bins where questions have several rows: they count questions, and cover as often as they say."""

from __future__ import annotations

import asked_replies as made
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from calprobe.curves.calibration_curve import METRICS, Calibration, CalibrationLine, calibration_line
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Estimate, Resampling, wilson_interval
from calprobe.metrics.statistics import design_effect
from calprobe.studies.asked.asked_curves import asked_calibration

VALUES = {name: Estimate(0.0) for name in METRICS}


def line_of(confidence: np.ndarray, correct: np.ndarray, questions: np.ndarray | None = None) -> CalibrationLine:
    return calibration_line(("a", "a", "own", ()), (confidence, correct), VALUES, None, questions)


def test_the_design_effect_by_hand() -> None:
    """Of two pairs and ICC 0, half of the way to 1; equal pairs are worth half of their rows."""
    mixed = np.array([True, False, True, False])
    assert design_effect(mixed, [1, 1, 2, 2]) == 1 + (2 - 1) * (0 + 1 / 2)
    assert design_effect(np.array([True, True, False, False]), [1, 1, 2, 2]) == 2
    assert design_effect(mixed, [1, 2, 3, 4]) == 1
    assert design_effect(np.ones(4, np.bool_), [1, 1, 2, 2]) == 2  # of rows that agree nothing is known
    assert design_effect(mixed, [1, 1, 1, 1]) == 4
    assert design_effect(np.empty(0, np.bool_), []) == 1


@pytest.mark.parametrize("size", [1, 4, 40])
@pytest.mark.parametrize("icc", [0.0, 0.3, 1.0])
def test_intervals_cover(size: int, icc: float) -> None:
    """Twenty questions of one accuracy .3 in the mean, 200 trials: 95 % but for chance, however rows agree."""
    rng, share, questions = np.random.default_rng(7), 0.3, 20
    groups = np.repeat(np.arange(questions), size)
    inside = 0
    for _ in range(200):
        own = np.full(questions, share)
        if icc == 1:
            own = (rng.random(questions) < share).astype(np.float64)
        elif icc:
            own = rng.beta(share * (1 / icc - 1), (1 - share) * (1 / icc - 1), questions)
        right = rng.random(len(groups)) < own[groups]
        effect = design_effect(right, groups)
        (low,), (high,) = wilson_interval([right.sum() / effect], [len(right) / effect])
        inside += low <= share <= high
    assert inside >= 0.90 * 200


def test_one_row_a_question_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    confidence = rng.random(300)
    correct = rng.random(300) < confidence
    plain, named = line_of(confidence, correct), line_of(confidence, correct, np.arange(300))
    for one, other in ((plain.ace, named.ace), (plain.ece, named.ece)):
        for field in ("low", "high", "band_low", "band_high"):
            assert_array_equal(getattr(one, field), getattr(other, field))
    assert named.questions is None
    assert Calibration((named,), "questions").said == ""
    assert "questions" not in Calibration((named,), "questions").frame().columns


def test_copies_of_a_question_narrow_nothing() -> None:
    """Ten equal replies to each of 60 questions have the intervals of 60 rows, and as many questions in a bin."""
    confidence = np.linspace(0.05, 0.95, 60)
    correct = np.arange(60) % 3 > 0
    once = line_of(confidence, correct).ece
    many = line_of(np.repeat(confidence, 10), np.repeat(correct, 10), np.repeat(np.arange(60), 10)).ece
    assert many.questions is not None
    assert_array_equal(many.questions, once.bins.count)
    for field in ("low", "high", "band_low", "band_high"):
        assert_allclose(getattr(many, field), getattr(once, field), rtol=1e-9)


def test_a_figure_says_what_it_counts() -> None:
    """The label probability of five questions under two variants: ten replies to five questions."""
    options = ReportOptions(resampling=Resampling(0))
    one = made.asked(*made.answered({"plain": ["A"] * 5}, [0] * 5))
    two = made.asked(*made.answered({"plain": ["A"] * 5, "other": ["A"] * 5}, [0] * 5))
    alone, both = (asked_calibration([run], options, ["label"]) for run in (one, two))
    assert (alone.of, alone.said) == ("questions", "")
    assert (both.of, both.said) == ("replies", "10 replies to 5 questions")
    found = both.frame()
    assert found.columns[-1] == "questions"
    bins = found[(found["metric"] == "ece") & (found["count"] > 0)]
    assert list(bins["questions"]) == [5.0]
    assert bins["low"].iloc[0] == pytest.approx(wilson_interval([5], [5])[0][0])


def test_few_values_are_drawn_on_the_bins_of_ece() -> None:
    confidence, correct = np.array([0.9] * 10 + [0.5] * 10), np.array([True] * 8 + [False] * 12)
    questions = np.arange(20)
    few = line_of(confidence, correct, questions)
    assert few.error == "ece"
    assert few.drawn is few.ece
    many = line_of(np.linspace(0.01, 1, 20), correct, questions)
    assert many.error == "ace"
    assert many.drawn is many.ace
    assert line_of(confidence, correct).error == "ace", "confidences of scores are drawn on the bins of ACE"
