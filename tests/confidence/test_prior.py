"""Pointwise mutual information by hand, against plain loops, and where there is no prior to divide out."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.confidence import Distributions, available_estimators, estimate
from calprobe.confidence.prior import pmi_confidence
from calprobe.runs import ScoreTable, TemplateRecord

TEMPLATES = (TemplateRecord(0, "paraphrase"),)
WIDTHS = {"P30": 3, "P36": 2, "P1": 1}
SCORES = st.sampled_from([-1.0, -2.5, -700.0, -1500.0, math.nan, -math.inf]) | st.floats(-20, 0)


@st.composite
def tables(draw: st.DrawFn) -> ScoreTable:
    relations = draw(st.lists(st.sampled_from(sorted(WIDTHS)), min_size=1, max_size=9))
    widths = [WIDTHS[name] for name in relations]
    scores = draw(st.lists(SCORES, min_size=sum(widths), max_size=sum(widths)))
    lines = draw(st.permutations(range(len(widths))))
    return table_of(relations, scores, lines)


def table_of(relations: list[str], scores: list[float], lines: list[int]) -> ScoreTable:
    widths = [WIDTHS[name] for name in relations]
    return ScoreTable(
        np.array([scores]),
        np.cumsum([0, *widths]),
        np.zeros(len(widths), np.int64),
        np.array(relations),
        np.array(lines),
        TEMPLATES,
    )


def by_definition(table: ScoreTable, i: int) -> list[float]:
    """The instance's distribution, NaN where it has none. In exact sums of ratios to the largest probabilities."""
    logs = [_log_softmax(table.scores[0, a:b].tolist()) for a, b in pairwise(table.offsets)]
    others = [
        logs[j]
        for j in range(len(logs))
        if j != i and table.relation[j] == table.relation[i] and not math.isnan(logs[j][0])
    ]
    if not others or math.isnan(logs[i][0]):
        return [math.nan] * len(logs[i])
    lifted = []
    for k, own in enumerate(logs[i]):
        most = max(other[k] for other in others)
        if own == -math.inf:
            lifted.append(-math.inf)
        elif most == -math.inf:
            return [math.nan] * len(logs[i])
        else:
            lifted.append(own - most - math.log(math.fsum(math.exp(other[k] - most) for other in others)))
    return [math.exp(value) for value in _log_softmax(lifted)]


def _log_softmax(values: list[float]) -> list[float]:
    most = max(values) if not any(map(math.isnan, values)) else math.nan
    if math.isnan(most) or math.isinf(most):
        return [math.nan] * len(values)
    total = math.log(math.fsum(math.exp(value - most) for value in values))
    return [value - most - total for value in values]


@given(tables())
def test_the_distribution_is_what_its_definition_says(table: ScoreTable) -> None:
    found = pmi_confidence(Distributions.from_table(table, "first"))
    assert found.probabilities is not None
    for i, (start, end) in enumerate(pairwise(table.offsets)):
        expected = by_definition(table, i)
        assert found.probabilities[start:end] == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert found.failed[i] == math.isnan(expected[0])
        assert found.confidence[i] == pytest.approx(0.0 if math.isnan(expected[0]) else max(expected), abs=1e-12)


def test_by_hand() -> None:
    # p of three subjects: .8 .2, .8 .2, .5 .5. Of the third, the others' mean is .8 .2: .5/.8 to .5/.2 is 1 to 4.
    p = [0.8, 0.2, 0.8, 0.2, 0.5, 0.5]
    spaces = Distributions.from_scores([np.log(p)], [0, 2, 4, 6], [0, 0, 1], shared=[4, 4, 4])
    found = pmi_confidence(spaces)
    assert found.prediction.tolist() == [0, 0, 1]
    first = (0.8 / 0.65) / (0.8 / 0.65 + 0.2 / 0.35)
    assert found.confidence == pytest.approx([first, first, 0.8], abs=1e-12)
    assert found.correct.tolist() == [True, True, True]


@given(st.lists(st.floats(-9, 0), min_size=4, max_size=4), st.lists(st.floats(-30, 30), min_size=2, max_size=2))
def test_a_taste_for_candidates_that_all_subjects_share_changes_nothing(
    scores: list[float], taste: list[float]
) -> None:
    # With two subjects q is the other's p, so what is added to a candidate everywhere cancels exactly.
    spaces = [
        Distributions.from_scores([np.array(scores) + np.tile(added, 2)], [0, 2, 4], [0, 1], shared=[0, 0])
        for added in ([0.0, 0.0], taste)
    ]
    before, after = map(pmi_confidence, spaces)
    assert after.probabilities == pytest.approx(before.probabilities, abs=1e-9)


def test_subjects_that_change_nothing_leave_all_candidates_alike() -> None:
    table = table_of(["P30"] * 4, [-1.0, -2.0, -3.0] * 4, [0, 1, 2, 3])
    assert pmi_confidence(Distributions.from_table(table)).confidence == pytest.approx([1 / 3] * 4)


def test_own_candidates_have_no_prior() -> None:
    table = table_of(["P30", "P30", "P36"], [-1.0, -2.0, -3.0, -2.0, -1.0, -3.0, -1.0, -2.0], [0, 1, 2])
    assert table.shared_sets().tolist() == [0, 0, 1]
    assert estimate(table)["pmi"].failed.tolist() == [False, False, True]
    own = replace(table, own_candidates=frozenset({"P30"}))
    assert own.shared_sets().tolist() == [-1, -1, 1]
    assert not own.shares_candidates
    assert "pmi" not in estimate(own)
    assert "pmi" not in [found.name for found in available_estimators(TEMPLATES, shared=False)]
    ragged = replace(table, offsets=np.array([0, 2, 6, 8]))
    assert ragged.shared_sets().tolist() == [-1, -1, 1]
    assert pmi_confidence(Distributions.from_scores([[0.0, 0.0]], [0, 2], [0])).failed.tolist() == [True]


def test_groups_that_cannot_be() -> None:
    for shared, said in (([0, 0], "as many candidates"), ([0], "a number for each of 2")):
        with pytest.raises(ValueError, match=said):
            Distributions.from_scores([[0.0, 0.0, 0.0]], [0, 1, 3], [0, 0], shared=shared)
