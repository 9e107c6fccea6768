"""The estimators beside base and margin by hand: templates, few candidates, failed instances, distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from calprobe.confidence import (
    NO_PREDICTION,
    Confidence,
    Distributions,
    available_estimators,
    average_confidence,
    base_confidence,
    chance_confidence,
    consistency_confidence,
    entropies,
    entropy_confidence,
    fixed_agreement_confidence,
    fixed_mean_confidence,
    least_confident,
    margin_confidence,
    mixture_confidence,
    most_confident,
    temperature_confidence,
    top_temperature_confidence,
    vote,
)
from calprobe.runs import TemplateRecord

MARKERS = ("possibly", "certainly", "0", "25", "50", "75", "100")
PAPER = (
    *(TemplateRecord(number, "paraphrase") for number in range(5)),
    *(TemplateRecord(5 + n, "verbal" if n < 2 else "numeric", marker) for n, marker in enumerate(MARKERS)),
)
ALL_NAMES = [
    "base", "margin",
    "average_vote_2", "average_vote_3", "average_vote_4", "average_vote_5", "average_min", "average_max",
    "consistency_vote_2", "consistency_vote_3", "consistency_vote_4", "consistency_vote_5", "consistency_min",
    "consistency_max",
    "marker_possibly", "marker_certainly", "marker_0", "marker_25", "marker_50", "marker_75", "marker_100",
    "mixture", "fixed_mean", "fixed_agreement", "entropy", "temperature", "temperature_top", "chance", "pmi",
]  # fmt: skip
ON_ONE = [
    base_confidence,
    margin_confidence,
    entropy_confidence,
    temperature_confidence,
    top_temperature_confidence,
    chance_confidence,
]
ON_SEVERAL = [
    mixture_confidence,
    *(
        partial(estimator, choose=choose)
        for estimator in (average_confidence, consistency_confidence)
        for choose in (partial(vote, least=2), least_confident, most_confident)
    ),
]


def from_probabilities(rows: list[list[float]], offsets: list[int], answers: list[int]) -> Distributions:
    with np.errstate(divide="ignore"):
        return Distributions.from_scores(np.log(rows), offsets, answers)


def test_names_of_the_papers_templates() -> None:
    found = available_estimators(PAPER)
    assert [estimator.name for estimator in found] == ALL_NAMES
    reads = {estimator.name: estimator.templates for estimator in found}
    assert all(
        reads[name] == (0, 1, 2, 3, 4) for name in (*ALL_NAMES[2:14], "mixture", "fixed_mean", "fixed_agreement")
    )
    assert [reads[f"marker_{marker}"] for marker in MARKERS] == [(number,) for number in range(5, 12)]
    assert [reads[name] for name in (*ALL_NAMES[:2], *ALL_NAMES[-5:])] == [(0,)] * 7


def test_one_paraphrase_has_nothing_to_agree_with() -> None:
    found = available_estimators([TemplateRecord(3, "paraphrase"), TemplateRecord(6, "verbal", "certainly")])
    names = ["base", "margin", "marker_certainly", "entropy", "temperature", "temperature_top", "chance", "pmi"]
    assert [estimator.name for estimator in found] == names


def test_paraphrases_are_found_wherever_they_stand() -> None:
    templates = (PAPER[5], PAPER[1], PAPER[11], PAPER[4])
    average = next(e for e in available_estimators(templates) if e.name == "average_min")
    assert average.templates == (1, 4)
    assert not [e for e in available_estimators(templates) if e.name == "average_vote_3"]


@pytest.mark.parametrize("n", range(2, 8))
def test_any_number_of_paraphrases(n: int) -> None:
    names = [estimator.name for estimator in available_estimators([TemplateRecord(t, "paraphrase") for t in range(n)])]
    votes = [f"vote_{k}" for k in range(2, n + 1)]
    aggregated = [f"{family}_{g}" for family in ("average", "consistency") for g in (*votes, "min", "max")]
    fixed = ["mixture", "fixed_mean", "fixed_agreement"]
    assert names == [
        "base",
        "margin",
        *aggregated,
        *fixed,
        "entropy",
        "temperature",
        "temperature_top",
        "chance",
        "pmi",
    ]


def test_average_and_consistency_by_hand() -> None:
    # Three paraphrases. Instance 0: answers 0, 0, 1. Instance 1: all different.
    spaces = from_probabilities(
        [[0.9, 0.1, 0.5, 0.3, 0.2], [0.7, 0.3, 0.1, 0.8, 0.1], [0.4, 0.6, 0.3, 0.1, 0.6]], [0, 2, 5], [0, 2]
    )
    expected = {  # prediction, average, consistency, correct
        partial(vote, least=2): ([0, NO_PREDICTION], [1.6 / 3, 0], [2 / 3, 0], [True, False]),
        partial(vote, least=3): ([NO_PREDICTION, NO_PREDICTION], [0, 0], [0, 0], [False, False]),
        least_confident: ([1, 0], [0.2, 0.5 / 3], [1 / 3, 1 / 3], [False, False]),
        most_confident: ([0, 1], [1.6 / 3, 0.8 / 3], [2 / 3, 1 / 3], [True, False]),
    }
    for choose, (prediction, average, consistency, correct) in expected.items():
        for estimator, confidence in ((average_confidence, average), (consistency_confidence, consistency)):
            found = estimator(spaces, [0, 1, 2], choose)
            assert found.prediction.tolist() == prediction
            assert found.confidence == pytest.approx(confidence, abs=1e-12)
            assert found.correct.tolist() == correct
            assert found.failed.tolist() == [place == NO_PREDICTION for place in prediction]


def test_mixture_by_hand() -> None:
    spaces = from_probabilities(
        [[0.6, 0.4, 0.0, 0.3, 0.7], [0.0, 0.4, 0.6, 0.7, 0.3], [0.3, 0.4, 0.3, 0.5, 0.5]], [0, 3, 5], [1, 0]
    )
    found = mixture_confidence(spaces, [0, 1, 2])
    assert found.prediction.tolist() == [1, 0]  # first under no paraphrase; the first of equals
    assert found.confidence == pytest.approx([0.4, 0.5], abs=1e-12)
    assert found.probabilities == pytest.approx([0.3, 0.4, 0.3, 0.5, 0.5], abs=1e-12)
    assert mixture_confidence(spaces, [1]).confidence.tolist() == base_confidence(spaces, 1).confidence.tolist()


def test_entropy_and_chance_by_hand() -> None:
    spaces = from_probabilities([[0.5, 0.25, 0.25, 0.0, 1.0, 0.5, 0.5]], [0, 4, 5, 7], [0, 0, 1])
    assert entropies(spaces.probabilities, spaces.offsets)[0] / math.log(2) == pytest.approx([1.5, 0, 1], abs=1e-12)
    entropy, chance = entropy_confidence(spaces), chance_confidence(spaces)
    assert entropy.confidence == pytest.approx([1 - 1.5 / 2, 1, 0], abs=1e-12)
    assert chance.confidence == pytest.approx([(0.5 - 0.25) / 0.75, 1, 0], abs=1e-12)
    assert entropy.prediction.tolist() == chance.prediction.tolist() == [0, 0, 0]
    assert entropy.correct.tolist() == chance.correct.tolist() == [True, True, False]


@pytest.mark.parametrize("k", [1, 2, 3, 7, 60, 997])
def test_even_and_certain_distributions_reach_the_ends_and_no_further(k: int) -> None:
    even = Distributions.from_scores([[-3.3] * k], [0, k], [0])
    certain = Distributions.from_scores([[0.0] + [-math.inf] * (k - 1)], [0, k], [0])
    for estimator in (entropy_confidence, chance_confidence):
        low, high = estimator(even).confidence.item(), estimator(certain).confidence.item()
        assert 0 <= low <= 1e-12 or k == 1
        assert high == 1


def test_one_candidate_is_certain_for_all() -> None:
    spaces = Distributions.from_scores([[-9.0], [-8.0]], [0, 1], [0])
    for estimator in ON_ONE:
        assert estimator(spaces).confidence.tolist() == [1.0]
    for several in ON_SEVERAL:
        assert several(spaces, [0, 1]).confidence.tolist() == [1.0]


@pytest.mark.parametrize("failed_row", [0, 1, 2])
@pytest.mark.parametrize("estimator", ON_SEVERAL)
def test_scores_that_one_paraphrase_lacks_fail_the_instance(estimator: partial[Confidence], failed_row: int) -> None:
    scores = np.tile([-1.0, -2.0], (3, 2))
    scores[failed_row, 1] = math.nan  # of the first instance
    spaces = Distributions.from_scores(scores, [0, 2, 4], [0, 0])
    found = estimator(spaces, [0, 1, 2])
    assert found.failed.tolist() == [True, False]
    assert found.prediction.tolist() == [NO_PREDICTION, 0]
    assert found.correct.tolist() == [False, True]
    assert found.confidence[0] == 0 < found.confidence[1]
    others = [row for row in range(3) if row != failed_row]
    assert not estimator(spaces, others).failed.any()


@pytest.mark.parametrize("estimator", ON_ONE)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_scores_that_the_template_lacks_fail_the_instance(estimator: partial[Confidence], bad: float) -> None:
    spaces = Distributions.from_scores([[-1.0, bad, bad, -1.0, -2.0]], [0, 2, 3, 5], [0, 0, 0])
    found = estimator(spaces)
    assert found.failed.tolist() == [True, True, False]
    assert found.confidence[:2].tolist() == [0, 0]
    assert found.correct.tolist() == [False, False, True]


@pytest.mark.parametrize("estimator", [fixed_mean_confidence, fixed_agreement_confidence])
@pytest.mark.parametrize("failed_row", [0, 1, 2])
def test_confidence_in_bases_answer_needs_every_template(estimator: Callable[..., Confidence], failed_row: int) -> None:
    scores = np.tile([-1.0, -2.0], (3, 2))
    scores[failed_row, 1] = math.nan  # of the first instance
    found = estimator(Distributions.from_scores(scores, [0, 2, 4], [0, 0]), [1, 2], 0)
    assert found.failed.tolist() == [True, False]
    assert found.prediction.tolist() == [NO_PREDICTION, 0]
    assert found.confidence[0] == 0 < found.confidence[1]


def test_which_estimators_are_distributions() -> None:
    rng = np.random.default_rng(0)
    spaces = Distributions.from_scores(rng.normal(0, 3, (12, 10)), [0, 4, 10], [1, 2])
    complete = {estimator.name: estimator(spaces) for estimator in available_estimators(PAPER)}
    assert complete["pmi"].failed.all()  # no two of these instances share candidates
    with_p = {name: found for name, found in complete.items() if found.probabilities is not None and name != "pmi"}
    assert set(with_p) == {
        "base",
        "mixture",
        "temperature",
        "temperature_top",
        *(f"marker_{marker}" for marker in MARKERS),
    }
    for found in with_p.values():
        assert np.add.reduceat(found.probabilities, [0, 4]) == pytest.approx([1, 1])
        assert np.maximum.reduceat(found.probabilities, [0, 4]).tolist() == found.confidence.tolist()
        assert found.probabilities[np.array([0, 4]) + found.prediction].tolist() == found.confidence.tolist()


def test_each_marker_is_base_on_its_own_template() -> None:
    spaces = Distributions.from_scores(np.random.default_rng(1).normal(0, 3, (12, 10)), [0, 4, 10], [1, 2])
    for estimator in available_estimators(PAPER):
        if estimator.name.startswith("marker_"):
            row = 5 + MARKERS.index(estimator.name.removeprefix("marker_"))
            assert estimator(spaces).confidence.tolist() == base_confidence(spaces, row).confidence.tolist()


def test_heads_are_found_once_for_all_estimators() -> None:
    spaces = Distributions.from_scores(np.zeros((12, 3)), [0, 3], [0])
    for estimator in available_estimators(PAPER):
        estimator(spaces)
    assert spaces.peaks is spaces.peaks
    assert spaces.probabilities is spaces.probabilities


def test_no_instances() -> None:
    spaces = Distributions.from_scores(np.zeros((12, 0)), [0], [])
    for estimator in available_estimators(PAPER):
        found = estimator(spaces)
        assert [len(a) for a in (found.prediction, found.confidence, found.correct, found.failed)] == [0] * 4
