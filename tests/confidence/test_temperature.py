"""The temperature: closed forms, SciPy as oracle, folds, and what leaves nothing to fit on."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from calprobe.confidence import Distributions, base_confidence, fit_temperature, temperature_confidence
from calprobe.runs import ScoreTable, TemplateRecord

SPACES = st.lists(st.lists(st.floats(-30, 0), min_size=1, max_size=6), min_size=1, max_size=12)
COARSE_SPACES = st.lists(st.lists(st.sampled_from([-1.0, -2.0, -40.0]), min_size=1, max_size=4), min_size=1)


def made_up(n: int, seed: int = 0, true_temperature: float = 3.0) -> Distributions:
    """Right answers drawn from the scores' softmax at a temperature."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 9, n))])
    scores = rng.normal(0, 5, offsets[-1])
    drawn = [
        rng.choice(end - start, p=np.exp(log_softmax(scores[start:end] / true_temperature)))
        for start, end in pairwise(offsets)
    ]
    return Distributions.from_scores(scores[None], offsets, drawn)


def loss(temperature: float, spaces: list[list[float]], answers: list[int]) -> float:
    """Negative log-likelihood of the answers, an instance at a time."""
    return -sum(
        log_softmax(np.array(space) / temperature)[answer] for space, answer in zip(spaces, answers, strict=True)
    )


@pytest.mark.parametrize(("right", "wrong"), [(3, 2), (3, 1), (9, 1), (999, 1)])
@pytest.mark.parametrize("gap", [1e-3, 1.0, 200.0, 1e4])
def test_two_candidates_in_closed_form(right: int, wrong: int, gap: float) -> None:
    # All instances have the same gap between the two scores; the best one is the log odds of being right.
    answers = [0] * right + [1] * wrong
    found = fit_temperature([gap, 0.0] * len(answers), range(0, 2 * len(answers) + 1, 2), answers)
    assert found == pytest.approx(min(max(gap / math.log(right / wrong), 1e-3), 1e3), rel=1e-9)


def test_finds_the_temperature_that_made_the_answers() -> None:
    spaces = made_up(20_000)
    assert fit_temperature(spaces.scores[0], spaces.offsets, spaces.answer_idx) == pytest.approx(3, rel=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_takes_a_few_steps(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    # Rounding decides the sign of the slope at the end, and must not send the search back to halving brackets.
    spaces, exp, steps = made_up(2000, seed), np.exp, []
    monkeypatch.setattr(np, "exp", lambda *arguments, **named: steps.append(1) or exp(*arguments, **named))
    fit_temperature(spaces.scores[0], spaces.offsets, spaces.answer_idx)
    assert 3 <= len(steps) <= 10


@given(st.one_of(SPACES, COARSE_SPACES), st.data())
def test_no_temperature_is_better(spaces: list[list[float]], data: st.DataObject) -> None:
    answers = [data.draw(st.integers(0, len(space) - 1)) for space in spaces]
    found = fit_temperature(np.concatenate(spaces), np.cumsum([0, *map(len, spaces)]), answers)
    assert 0.001 <= found <= 1000
    reached = loss(found, spaces, answers)
    best = minimize_scalar(lambda log: loss(math.exp(log), spaces, answers), bounds=np.log([1e-3, 1e3])).fun
    others = [best, *(loss(temperature, spaces, answers) for temperature in (1e-3, 0.1, 0.9, 1, 1.1, 10, 1e3))]
    assert reached <= min(others) + 1e-9 * (1 + abs(min(others)))


def test_equal_to_scipy_where_the_best_is_inside() -> None:
    spaces = made_up(300)
    lists = [spaces.scores[0, a:b].tolist() for a, b in pairwise(spaces.offsets)]
    found = fit_temperature(spaces.scores[0], spaces.offsets, spaces.answer_idx)
    expected = minimize_scalar(
        lambda log: loss(math.exp(log), lists, spaces.answer_idx.tolist()), bounds=(-3, 3), options={"xatol": 1e-10}
    )
    assert math.log(found) == pytest.approx(expected.x, abs=1e-6)


@pytest.mark.parametrize(
    ("scores", "offsets", "answers", "expected"),
    [
        ([0.0, -1.0, -1.0, 0.0], [0, 2, 4], [0, 1], 0.001),  # all right: the surer the better
        ([0.0, -1.0, -1.0, 0.0], [0, 2, 4], [1, 0], 1000),  # all wrong: the less sure the better
        ([0.0, -900.0], [0, 2], [0], 1.0),  # right, and as sure as can be at any temperature
        ([-3.0, -4.0], [0, 1, 2], [0, 0], 1.0),  # answer spaces of one
        ([-2.0] * 6, [0, 3, 6], [0, 2], 1.0),  # equal scores
        ([], [0], [], 1.0),
    ],
)
def test_where_no_temperature_is_best(
    scores: list[float], offsets: list[int], answers: list[int], expected: float
) -> None:
    assert fit_temperature(scores, offsets, answers) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("bad", [[math.nan, 0.0], [0.0, math.nan], [math.inf, 0.0], [-math.inf] * 2, [-math.inf, 0.0]])
def test_instances_that_no_temperature_helps_are_left_out(bad: list[float]) -> None:
    good, answers = [0.0, -2.0, -1.0, 0.0, -1.0, -1.0, -4.0], [1, 0]
    expected = fit_temperature(good, [0, 4, 7], answers)
    assert 0.001 < expected < 1000
    assert fit_temperature([*good[:4], *bad, *good[4:]], [0, 4, 6, 9], [1, 0, 0]) == expected


def test_an_impossible_wrong_candidate_has_no_weight() -> None:
    scores, answers = [0.0, -2.0, -1.0, 0.0, -1.0, -4.0], [1, 0]
    expected = fit_temperature(scores, [0, 3, 6], answers)
    assert fit_temperature([*scores, -math.inf], [0, 3, 7], answers) == pytest.approx(expected, rel=1e-12)


def test_each_fold_is_scaled_by_what_the_others_say() -> None:
    spaces = made_up(23)
    found = temperature_confidence(spaces, n_folds=5, seed=7)
    fold = np.random.default_rng(7).permutation(23) % 5
    for held in range(5):
        fit = [i for i in range(23) if fold[i] != held]
        lists = [spaces.scores[0, spaces.offsets[i] : spaces.offsets[i + 1]] for i in fit]
        temperature = fit_temperature(np.concatenate(lists), np.cumsum([0, *map(len, lists)]), spaces.answer_idx[fit])
        for i in np.flatnonzero(fold == held):
            own = slice(*spaces.offsets[i : i + 2])
            expected = np.exp(log_softmax(spaces.scores[0, own] / temperature))
            assert found.probabilities is not None
            assert found.probabilities[own] == pytest.approx(expected, abs=1e-12)
            assert found.confidence[i] == pytest.approx(expected.max(), abs=1e-12)
    assert found.prediction.tolist() == base_confidence(spaces).prediction.tolist()


def test_scaling_reduces_overconfidence() -> None:
    spaces = made_up(2000)
    gaps = [
        abs(found.confidence.mean() - found.correct.mean())
        for found in (base_confidence(spaces), temperature_confidence(spaces))
    ]
    assert gaps[0] > 0.2
    assert gaps[1] < 0.03


def test_folds_go_by_relation_and_line_and_not_by_order() -> None:
    spaces, n = made_up(60), 60
    relation, instance = np.repeat(["P30", "P36", "P1376"], 20), np.arange(n) % 20

    def estimated(order: np.ndarray) -> np.ndarray:
        lists = [spaces.scores[:, spaces.offsets[i] : spaces.offsets[i + 1]] for i in order]
        offsets = np.cumsum([0, *(part.shape[1] for part in lists)])
        scores, answers = np.concatenate(lists, axis=1), spaces.answer_idx[order]
        templates = (TemplateRecord(0, "paraphrase"),)
        table = ScoreTable(scores, offsets, answers, relation[order], instance[order], templates)
        return temperature_confidence(Distributions.from_table(table)).confidence

    shuffled = np.random.default_rng(1).permutation(n)
    plain = estimated(np.arange(n))
    assert estimated(shuffled) == pytest.approx(plain[shuffled], abs=1e-9)
    assert temperature_confidence(spaces).confidence[shuffled] != pytest.approx(
        plain[shuffled], abs=1e-9
    )  # other ranks


def test_the_same_again() -> None:
    spaces = made_up(50)
    first, second, other = (temperature_confidence(spaces, seed=seed).confidence for seed in (0, 0, 1))
    assert first.tolist() == second.tolist() != other.tolist()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_fewer_instances_than_folds_are_left_out_one_by_one(n: int) -> None:
    spaces = made_up(n)
    many = temperature_confidence(spaces, n_folds=10).confidence
    assert many.tolist() == temperature_confidence(spaces, n_folds=n).confidence.tolist()


def test_nothing_to_fit_on_leaves_base_as_it_is() -> None:
    one = Distributions.from_scores([[0.0, -1.0]], [0, 2], [1])
    assert temperature_confidence(one).confidence.tolist() == base_confidence(one).confidence.tolist()
    # The other instance failed.
    two = Distributions.from_scores([[0.0, -1.0, math.nan, 0.0]], [0, 2, 4], [1, 0])
    assert temperature_confidence(two).confidence.tolist() == base_confidence(two).confidence.tolist()
    assert temperature_confidence(two).failed.tolist() == [False, True]


def test_refusals() -> None:
    with pytest.raises(ValueError, match="n_folds must be 2 or more; got 1"):
        temperature_confidence(made_up(3), n_folds=1)
    with pytest.raises(
        ValueError, match="answer_idx must be a place among the instance's candidates; got 2 at place 0"
    ):
        fit_temperature([0.0, 1.0], [0, 2], [2])
