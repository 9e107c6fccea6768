"""Draws: seeded, nested or as in the audit, and refused where there are too few questions."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.errors import UsageError
from calprobe.questions import QuestionOptions
from calprobe.questions.drawing import drawn_places, fingerprint_of_places, rule_of, taken_places


def test_the_audits_draw_is_its_printed_line_of_python() -> None:
    assert drawn_places(14_042, 500, 42, "sample") == random.Random(42).sample(range(14_042), 500)
    assert drawn_places(1172, 500, 42, "sample")[:5] == random.Random(42).sample(range(1172), 500)[:5]


@given(n=st.integers(0, 3000), seed=st.integers(0, 10**9), data=st.data())
def test_a_larger_draw_begins_with_the_smaller_one(n: int, seed: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, n))
    largest = drawn_places(n, n, seed)
    assert sorted(largest) == list(range(n))
    assert drawn_places(n, count, seed) == largest[:count]


def test_a_sample_of_the_audits_rule_need_not_be_part_of_a_larger_one() -> None:
    assert set(drawn_places(1319, 200, 0, "sample")) - set(drawn_places(1319, 500, 0, "sample"))


def test_every_question_is_drawn_as_often() -> None:
    counts = [0] * 20
    for seed in range(4000):
        for place in drawn_places(20, 5, seed):
            counts[place] += 1
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 44  # chi-squared with 19 degrees, p about 0.001


def test_what_the_options_take() -> None:
    assert taken_places(5, QuestionOptions(), "s") == [0, 1, 2, 3, 4]
    assert taken_places(5, QuestionOptions(limit=3), "s") == [0, 1, 2]
    assert taken_places(5, QuestionOptions(limit=9), "s") == [0, 1, 2, 3, 4]
    assert sorted(taken_places(5, QuestionOptions(draw=5), "s")) == [0, 1, 2, 3, 4]
    named = [
        QuestionOptions(),
        QuestionOptions(limit=3),
        QuestionOptions(draw=3),
        QuestionOptions(draw=3, draw_rule="sample"),
    ]
    assert [rule_of(options) for options in named] == ["all", "first", "nested", "sample"]
    with pytest.raises(
        UsageError, match=r"--draw 500: arc has 299 questions; draw at most 299, or choose another --split"
    ):
        taken_places(299, QuestionOptions(draw=500), "arc")
    with pytest.raises(ValueError, match=r"count must be within 0 to 2, got 3"):
        drawn_places(2, 3, 0)


def test_options_that_cannot_be() -> None:
    for values, says in [
        ({"draw": 1, "limit": 1}, "--draw and --limit contradict each other"),
        ({"draw": 0}, "--draw 0 is too small; give 1 or more"),
        ({"limit": 0}, "--limit 0 is too small"),
        ({"shots": -1}, "--shots -1 is too small; give 0 or more"),
        ({"n_options": 1}, "--options 1 is out of range; give 2 to 26"),
        ({"n_options": 27}, "--options 27 is out of range"),
        ({"as_": "free"}, "--as: no 'free'; give some of choice, open"),
        ({"shots_by": "groups"}, "--shots-by: no 'groups'; did you mean group"),
        ({"draw_rule": "random"}, "--draw-rule: no 'random'; give some of nested, sample, relation"),
    ]:
        with pytest.raises(UsageError, match=says):
            QuestionOptions(**values)


def test_the_fingerprint_of_places_is_over_their_order() -> None:
    assert fingerprint_of_places([1, 2]) != fingerprint_of_places([2, 1])
