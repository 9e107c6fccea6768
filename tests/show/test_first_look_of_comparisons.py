"""The verdict on a comparison: the direction of each metric, and several cells counted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
from commands import calprobe
from printed_tables import printed
from sources import ROOT

from calprobe.measures.chosen import known_metrics
from calprobe.measures.compare_results import Contrast, Corrected
from calprobe.measures.options import CompareOptions
from calprobe.metrics import ACCURACY, Difference, Estimate
from calprobe.show.tables.side_by_side import Sides, comparison_at_a_glance, lettered, sides_of_one, verdict_on


class Compared(Corrected):
    """Contrasts with their p-values as given."""

    def __init__(self, contrasts: list[Contrast]) -> None:
        self.metrics = (ACCURACY, *known_metrics(("brier", "ece", "auroc"), 20))
        self.options = CompareOptions()
        self.given = contrasts

    @property
    def contrasts(self) -> Iterator[Contrast]:
        yield from self.given

    def replaced(self, change: object) -> Compared:
        return self


def contrast(metric: str, first: float, second: float, p: float) -> Contrast:
    difference = Difference(first - second, first - second - 0.1, first - second + 0.1, p)
    estimator = None if metric == "accuracy" else "label"
    return Contrast(estimator, metric, Estimate(first), Estimate(second), difference, p_holm=p)


@pytest.mark.parametrize(
    ("metric", "first", "second", "better"),
    [
        ("accuracy", 0.9, 0.5, "A"),
        ("accuracy", 0.5, 0.9, "B"),
        ("ece", 0.1, 0.4, "A"),
        ("brier", 0.4, 0.1, "B"),
        ("auroc", 0.6, 0.9, "B"),
    ],
)
def test_the_better_side_is_that_of_the_metric(metric: str, first: float, second: float, better: str) -> None:
    of_one = contrast(metric, first, second, 0.01)
    (sentence,) = verdict_on(Sides("a", "b", [[of_one]], 100), Compared([of_one]))
    assert f"{better} is better" in sentence
    of_none = contrast(metric, first, second, 0.05)
    (sentence,) = verdict_on(Sides("a", "b", [[of_none]], 100), Compared([of_none]))
    assert "A and B cannot be told apart" in sentence


def test_a_difference_is_said_with_interval_and_p_value() -> None:
    one = contrast("ece", 0.1, 0.4, 0.01)
    assert verdict_on(Sides("a", "b", [[one]], 100), Compared([one])) == (
        "ECE of label: A is better; A - B -.30 (-.40 to -.20), Holm p .010.",
    )


@pytest.mark.parametrize("p", [0.01, 0.5])
@pytest.mark.parametrize("metric", ["ece", "brier", "auroc"])
def test_who_answers_fewer_facts_is_not_compared(metric: str, p: float) -> None:
    one = replace(contrast(metric, 0.4, 0.1, p), failed=(0, 74))
    (sentence,) = verdict_on(Sides("a", "b", [[one]], 200), Compared([one]))
    assert "neither is better: of the questions in common, 0 have no answer in A, 74 in B" in sentence
    both = replace(one, failed=(74, 74))
    (sentence,) = verdict_on(Sides("a", "b", [[both]], 200), Compared([both]))
    assert "neither" not in sentence


def test_too_few_facts_have_no_winner() -> None:
    one = replace(contrast("ece", 0.1, 0.4, math.nan), few=3)
    assert verdict_on(Sides("a", "b", [[one]], 3, compared="facts in common"), Compared([one])) == (
        "ECE of label: too few facts in common to compare (3; 10 are needed); A - B -.30 (-.40 to -.20).",
    )
    right = replace(contrast("accuracy", 0.1, 0.4, math.nan), few=8)
    sides = Sides("a", "b", [[right, one]], 8, confident="questions with both confidences")
    accuracy, ece = verdict_on(sides, Compared([right, one]))
    assert accuracy.startswith("Accuracy: too few questions in common to compare (8; 10 are needed)")
    assert ece.startswith("ECE of label: too few questions with both confidences to compare (3; 10 are needed)")


def test_letters_have_names_in_any_comparison_of_two_sides() -> None:
    pairs = [Sides("margin", "base", [[contrast("ece", 0.1, 0.4, 0.01)]], 100)]
    assert list(sides_of_one(["one run"], pairs)) == ["A margin, B base"]
    assert [*sides_of_one(["a", "b"], pairs), *sides_of_one(["one run"], pairs * 2)] == []
    assert [letter for letter, _ in lettered(["a", "b"], pairs)] == ["A ", "B "]
    clm = ROOT / "tests" / "golden" / "runs" / "clm"
    by_pair = calprobe("compare", clm, "--pairs", "margin:base", "--bootstrap", 20).stdout
    by_name = calprobe("compare", clm, "--templates", "0:1", "--bootstrap", 20, "--tables", "differences").stdout
    assert ("A margin, B base" in by_pair, "A template 0, B template 1" in by_name) == (True, True)


def test_the_smallest_p_value_of_few_questions_is_not_printed_as_0() -> None:
    one = contrast("ece", 0.1, 0.4, 0.002)
    _, table, _ = comparison_at_a_glance(Compared([one]), [Sides("a", "b", [[one]], 20)], (), [], "the questions")
    assert "0.002" in printed([table], 80)


def test_cells_are_counted_and_their_differences_are_means() -> None:
    cells = [[contrast("accuracy", 0.9, 0.5, 0.01)], [contrast("accuracy", 0.6, 0.5, 0.6)]]
    comparison = Compared([*cells[0], *cells[1]])
    (sentence,) = verdict_on(Sides("a", "b", cells, 100), comparison)
    assert sentence == (
        "Accuracy: A is better under 1 of 2 variants, A and B cannot be told apart under 1; "
        "A - B +.25 on average, least Holm p .010."
    )
    _, table, _ = comparison_at_a_glance(comparison, [Sides("a", "b", cells, 100)], ("A a, B b",), [], "the questions")
    first, second, difference, _ = table.rows[0].cells
    assert isinstance(first, Estimate)
    assert isinstance(second, Estimate)
    assert isinstance(difference, Difference)
    assert (first.value, second.value, difference.value) == pytest.approx((0.75, 0.5, 0.25))
