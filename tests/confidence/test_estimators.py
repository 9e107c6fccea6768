"""base and margin by hand and by loops, and which of them a run's templates allow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.confidence import (
    NO_PREDICTION,
    Distributions,
    available_estimators,
    base_confidence,
    margin_confidence,
)
from calprobe.runs import TemplateRecord

LOG = math.log
PARAPHRASES = tuple(TemplateRecord(number, "paraphrase") for number in (2, 3))
MARKER = TemplateRecord(5, "verbal", "possibly")
SPACES = st.lists(st.lists(st.floats(-50, 0), min_size=1, max_size=7), min_size=1, max_size=6)
TIED_SPACES = st.lists(st.lists(st.sampled_from([-1.0, -2.0]), min_size=1, max_size=7), min_size=1, max_size=6)


def test_by_hand() -> None:
    scores = [LOG(0.2), LOG(0.5), LOG(0.3), LOG(0.9), LOG(0.1)]
    spaces = Distributions.from_scores([scores], [0, 3, 5], [1, 1])
    base, margin = base_confidence(spaces), margin_confidence(spaces)
    assert base.prediction.tolist() == margin.prediction.tolist() == [1, 0]
    assert base.correct.tolist() == margin.correct.tolist() == [True, False]
    assert base.confidence == pytest.approx([0.5, 0.9])
    assert margin.confidence == pytest.approx([0.2, 0.8])
    assert not base.failed.any()


def test_ties_go_to_the_first_and_leave_no_margin() -> None:
    spaces = Distributions.from_scores([[-3.0, -1.0, -1.0, -7.0, -7.0]], [0, 3, 5], [1, 1])
    assert base_confidence(spaces).prediction.tolist() == [1, 0]
    assert margin_confidence(spaces).confidence.tolist() == [0, 0]


def test_a_single_candidate_is_certain() -> None:
    spaces = Distributions.from_scores([[-900.0]], [0, 1], [0])
    assert base_confidence(spaces).confidence.tolist() == margin_confidence(spaces).confidence.tolist() == [1.0]


def test_a_candidate_without_score_makes_its_instance_fail() -> None:
    spaces = Distributions.from_scores([[-1.0, math.nan, -1.0, -2.0, -math.inf, -math.inf]], [0, 2, 4, 6], [0, 0, 0])
    for found in (base_confidence(spaces), margin_confidence(spaces)):
        assert found.failed.tolist() == [True, False, True]
        assert found.prediction.tolist() == [NO_PREDICTION, 0, NO_PREDICTION]
        assert found.correct.tolist() == [False, True, False]
        assert found.confidence[[0, 2]].tolist() == [0, 0]
        assert found.confidence[1] > 0


def test_an_impossible_candidate_has_no_share() -> None:
    spaces = Distributions.from_scores([[-math.inf, -4.0]], [0, 2], [1])
    assert base_confidence(spaces).confidence.tolist() == margin_confidence(spaces).confidence.tolist() == [1.0]


@given(st.one_of(SPACES, TIED_SPACES), st.data())
def test_equal_to_loops(spaces: list[list[float]], data: st.DataObject) -> None:
    answers = [data.draw(st.integers(0, len(space) - 1)) for space in spaces]
    found = Distributions.from_scores([np.concatenate(spaces)], np.cumsum([0, *map(len, spaces)]), answers)
    base, margin = base_confidence(found), margin_confidence(found)
    for i, space in enumerate(spaces):
        weights = [math.exp(score - max(space)) for score in space]
        first, *rest = sorted((weight / sum(weights) for weight in weights), reverse=True)
        assert base.confidence[i] == pytest.approx(first, abs=1e-12)
        assert margin.confidence[i] == pytest.approx(first - max(rest, default=0), abs=1e-12)
        assert weights[base.prediction[i]] == max(weights)
        assert base.correct[i] == (base.prediction[i] == answers[i])


def test_each_reads_its_own_row() -> None:
    spaces = Distributions.from_scores([[-1.0, -2.0], [-2.0, -1.0]], [0, 2], [1])
    assert base_confidence(spaces, 0).prediction.tolist() == [0]
    assert base_confidence(spaces, 1).prediction.tolist() == [1]
    assert spaces.peak([1, 0]).prediction.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("templates", "number", "row"),
    [
        ((*PARAPHRASES, TemplateRecord(0, "paraphrase")), 0, 2),  # template 0 wherever it stands
        ((TemplateRecord(0, "verbal", "possibly"), *PARAPHRASES), 0, 0),
        ((MARKER, *PARAPHRASES), 2, 1),  # else the first paraphrase
    ],
)
def test_which_template_base_and_margin_read(templates: tuple[TemplateRecord, ...], number: int, row: int) -> None:
    found = available_estimators(templates)[:2]
    assert [(e.name, e.templates, e.compute.keywords) for e in found] == [
        (n, (number,), {"row": row}) for n in ("base", "margin")
    ]


def test_without_their_templates_estimators_are_left_out() -> None:
    assert [estimator.name for estimator in available_estimators([MARKER])] == ["marker_possibly"]
    assert available_estimators([]) == ()


def test_an_estimator_reads_the_row_it_is_bound_to() -> None:
    base, margin, *_ = available_estimators((MARKER, *PARAPHRASES))
    spaces = Distributions.from_scores([[0.0, -9.0], [-9.0, 0.0], [0.0, -9.0]], [0, 2], [1])
    assert base(spaces).correct.tolist() == margin(spaces).correct.tolist() == [True]


def test_no_instances() -> None:
    spaces = Distributions.from_scores(np.zeros((1, 0)), [0], [])
    found = base_confidence(spaces)
    assert (len(found.prediction), len(found.confidence), len(found.correct), len(found.failed)) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([0], "answer_idx must have an entry for each of 2 instances; got 1"),
        ([0, 0.9], "answer_idx must be whole numbers; got 0.9 at place 1"),
        ([0, 2], "answer_idx must be a place among the instance's candidates; got 2 at place 1"),
        ([-1, 0], "answer_idx must be a place among the instance's candidates; got -1 at place 0"),
    ],
)
def test_misplaced_answers_are_refused(answers: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Distributions.from_scores([[0.0] * 4], [0, 2, 4], answers)
