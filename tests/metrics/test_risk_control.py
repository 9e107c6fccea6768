"""Thresholds that keep a promise: bounds against SciPy, by hand, and the promise by simulation, beside one without."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from proofs import few_of
from scipy.stats import binom, binomtest

from calprobe.metrics.risk_control import (
    answers_needed,
    clustered_upper_bound,
    fix_threshold,
    kept_at,
    risk_upper_bound,
)

TRIALS, RISK = 400, 0.2
# A share of TRIALS at the promised rate of 5 % exceeds this in one of a thousand tests.
MOST = binom.ppf(0.999, TRIALS, 0.05) / TRIALS


@pytest.mark.parametrize(("wrong", "kept"), [(0, 1), (0, 59), (3, 40), (40, 40), (17, 500)])
def test_bounds_are_clopper_and_pearsons(wrong: int, kept: int) -> None:
    exact = binomtest(wrong, kept, alternative="less").proportion_ci(0.95, method="exact").high
    assert risk_upper_bound(wrong, kept) == pytest.approx(exact, abs=1e-12)
    assert risk_upper_bound(0, 0) == 1


@pytest.mark.parametrize("wrong", [0, 1, 5])
@pytest.mark.parametrize(("risk", "level"), [(0.05, 0.95), (0.2, 0.9), (0.01, 0.99)])
def test_answers_needed_are_the_fewest(wrong: int, risk: float, level: float) -> None:
    needed = answers_needed(risk, level, wrong)
    assert risk_upper_bound(wrong, needed, level) <= risk < risk_upper_bound(wrong, needed - 1, level)
    if not wrong:
        assert needed == math.ceil(math.log(1 - level) / math.log(1 - risk))


def test_a_bet_on_single_answers_is_never_below_the_exact_bound() -> None:
    for wrong, kept in ((0, 59), (3, 100), (40, 400)):
        errors = np.arange(kept) < wrong
        bound = clustered_upper_bound(errors, np.ones(kept), 1)
        assert risk_upper_bound(wrong, kept) < bound < risk_upper_bound(wrong, kept) + 0.05
    assert clustered_upper_bound([], [], 1) == clustered_upper_bound([0, 0], [0, 0], 3) == 1
    with pytest.raises(ValueError, match="at most largest, 2"):
        clustered_upper_bound([0], [3], 2)


def test_dependent_answers_of_a_cluster_do_not_make_a_bound_smaller() -> None:
    once = clustered_upper_bound(np.zeros(60), np.ones(60), 1)
    assert clustered_upper_bound(np.zeros(60), np.full(60, 5), 5) == pytest.approx(once, abs=1e-9)


def test_what_a_threshold_keeps_by_hand() -> None:
    kept = kept_at([0.9, 0.5, float("nan"), 0.6], [True, False, True, False], 0.6)
    assert (kept.answers, kept.kept, kept.wrong, kept.coverage, kept.risk) == (4, 2, 1, 0.5, 0.5)
    nothing = kept_at([0.1], [True], 0.6)
    assert (nothing.kept, nothing.upper, nothing.coverage) == (0, 1.0, 0.0)
    assert math.isnan(nothing.risk)


def naive(confidence: np.ndarray, correct: np.ndarray) -> float:
    """The least threshold with a risk in the sample that is low enough; inf where there is none."""
    order = np.argsort(-confidence, kind="stable")
    risks = np.cumsum(~correct[order]) / np.arange(1, len(order) + 1)
    good = np.flatnonzero(risks <= RISK)
    return float(confidence[order][good[-1]]) if len(good) else math.inf


GRID = np.linspace(0, 1, 2001)
WORLDS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {  # chance of being right, different confidences
    "calibrated": (lambda c: c, 0),
    "too sure": (lambda c: 0.85 * c, 0),
    "not sure enough": (lambda c: c**0.5, 0),
    "worthless, just too often wrong": (lambda c: 0 * c + 1 - RISK - 1e-9, 0),
    "discrete": (lambda c: 0.9 * c, 10),
}


@pytest.mark.parametrize("world", few_of(WORLDS, {"calibrated", "discrete"}.__contains__))
def test_the_promise_is_kept(world: str) -> None:
    right, values = WORLDS[world]
    broken, broken_naively = 0, 0
    for trial in range(TRIALS):
        rng = np.random.default_rng([7, trial])
        confidence, grid = rng.random(400), GRID
        if values:
            confidence, grid = np.ceil(confidence * values) / values, np.arange(1, values + 1) / values
        correct = rng.random(400) < right(confidence)
        found = fix_threshold(confidence, correct, RISK, seed=trial)
        for threshold, is_naive in ((found.threshold, False), (naive(confidence, correct), True)):
            above = grid[grid >= threshold]
            if len(above) and 1 - right(above).mean() > RISK:
                broken, broken_naively = broken + (not is_naive), broken_naively + is_naive
    assert broken / TRIALS <= MOST
    assert broken_naively / TRIALS > 0.2 or world == "discrete"


def test_the_promise_is_kept_where_answers_of_a_question_agree() -> None:
    """Five samples of a question, all alike, at a risk just too high: every threshold breaks it."""
    broken, broken_by_answers = 0, 0
    for trial in range(TRIALS):
        rng = np.random.default_rng([8, trial])
        question = np.repeat(np.arange(150), 5)
        confidence, correct = rng.random(150)[question], (rng.random(150) < 1 - RISK - 1e-9)[question]
        broken += fix_threshold(confidence, correct, RISK, clusters=question, seed=trial).found
        broken_by_answers += fix_threshold(confidence, correct, RISK, seed=trial).found
    assert broken / TRIALS <= MOST
    assert broken_by_answers / TRIALS > 0.15


def test_it_answers_much_where_it_can() -> None:
    rng = np.random.default_rng(9)
    found = []
    for trial in range(50):
        confidence = rng.random(4000)
        found.append(fix_threshold(confidence, rng.random(4000) < confidence, RISK, seed=trial).threshold)
    assert 0.6 < np.median(found) < 0.68  # 0.6 would be possible


@pytest.mark.parametrize("infinite", [-math.inf, math.inf])
def test_a_threshold_is_finite_where_scores_are_not(infinite: float) -> None:
    rng = np.random.default_rng(0)
    sureness, correct = rng.random(900), rng.random(900) < 0.95
    sureness[:300] = infinite
    fixed = fix_threshold(sureness, correct, 0.15)
    assert fixed.found
    assert math.isfinite(fixed.threshold)
    assert kept_at(sureness, correct, fixed.threshold).kept >= 300


def test_too_few_answers_have_no_threshold() -> None:
    for answers in (0, 1, 20):
        found = fix_threshold(np.linspace(0, 1, answers), np.ones(answers), 0.05)
        assert not found.found
    with pytest.raises(ValueError, match="risk must lie between 0 and 1; got 0"):
        fix_threshold([0.5], [1], 0)
