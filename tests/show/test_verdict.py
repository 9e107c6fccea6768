"""The verdict on a confidence, in words and numbers."""

from __future__ import annotations

import math

import pytest

from calprobe.metrics import Estimate
from calprobe.show.verdict import APART, BALANCED, NEITHER, OVER, UNDER, UNKNOWN, Judged, few_answers, sentence_on


def numbers(gap: Estimate, p: float = 0.5) -> dict[str, Estimate]:
    return {"confidence_gap": gap, "ece": Estimate(0.1), "ece_if_calibrated": Estimate(0.08), "ece_p": Estimate(p)}


@pytest.mark.parametrize(
    ("gap", "p", "word"),
    [
        (Estimate(0.1, 0.04, 0.16), 0.5, OVER),
        (Estimate(-0.1, -0.16, -0.04), 0.5, UNDER),
        (Estimate(0.1, -0.01, 0.21), 0.05, NEITHER),
        (Estimate(0.1, -0.01, 0.21), 0.04, APART),
        (Estimate(0.1, -0.01, 0.21), math.nan, BALANCED),
        (Estimate(0.1), math.nan, UNKNOWN),
        (Estimate(0.1), 0.5, NEITHER),
        (Estimate(0.1), 0.04, OVER),
        (Estimate(-0.1), 0.04, UNDER),
        (Estimate(1e-17), 0.04, APART),
    ],
)
def test_the_interval_of_the_gap_decides_and_then_p(gap: Estimate, p: float, word: str) -> None:
    assert Judged("label", numbers(gap, p), 60, "ece").verdict == word


@pytest.mark.parametrize("word", [APART, BALANCED, NEITHER])
def test_no_verdict_affirms_that_there_is_no_bias(word: str) -> None:
    """An interval with 0 in it, as -.76 to +.02 of five facts, is no proof of none."""
    assert "cannot be told" in word
    assert "neither" not in word


def test_several_cells_are_counted_by_word() -> None:
    cells = [numbers(Estimate(0.1, 0.04, 0.16)), *[numbers(Estimate(0.0, -0.1, 0.1))] * 2]
    assert Judged("label", numbers(Estimate(0.03)), 60, "ece", cells).verdict == (
        "cannot be told from calibrated under 2 of 3 variants, under 1 overconfident"
    )
    assert Judged("label", numbers(Estimate(0.1)), 60, "ece", cells[:1] * 4).verdict == (
        "overconfident under each of 4 variants"
    )
    without = numbers(Estimate(0.1), math.nan)
    assert Judged("label", without, 60, "ece", [without] * 4).verdict == UNKNOWN


@pytest.mark.parametrize(("n", "gap"), [(20, "+.12"), (7_731, "+.123"), (70_210, "+.1235")])
def test_digits_follow_from_the_number_of_questions(n: int, gap: str) -> None:
    judged = Judged("base", {"confidence_gap": Estimate(0.12346, 0.1, 0.2)}, n, "ace")
    assert f"accuracy {gap} (" in sentence_on(judged, 0.5)


def test_its_own_accuracy_is_said_where_it_is_another() -> None:
    judged = Judged("label", numbers(Estimate(0.1, 0.04, 0.16)) | {"accuracy": Estimate(0.4)}, 60, "ece")
    assert sentence_on(judged, 0.4).endswith("ECE .10, .08 if calibrated (ECE p .500).")
    assert sentence_on(judged, 0.6).endswith("Accuracy of its answers .40.")


def test_a_confidence_of_few_answers_says_of_how_many() -> None:
    metrics = numbers(Estimate(0.1, 0.04, 0.16))
    assert "overconfident. Of 1 of 30 answers, confidence - accuracy" in sentence_on(
        Judged("stated", metrics, 1, "ece", answered=(1, 30)), 0.5
    )
    assert "answers" not in sentence_on(Judged("stated", metrics, 60, "ece", answered=(57, 60)), 0.5)


def test_an_order_of_few_right_or_wrong_answers_says_of_how_many() -> None:
    metrics = {"auroc": Estimate(0.68), "accuracy": Estimate(0.02)}
    assert "AUROC .68 (only 1 right)." in sentence_on(
        Judged("label", metrics, 60, "ece", rests_on=few_answers([1], 0.02)), 0.02
    )
    assert "(only" not in sentence_on(Judged("label", metrics, 60, "ece", rests_on=few_answers([10], 0.2)), 0.02)
    assert few_answers([0, 9], 0.85) == "9 wrong"


def test_cells_without_the_confidence_are_not_counted() -> None:
    over, nobody = numbers(Estimate(0.1, 0.04, 0.16)), numbers(Estimate(math.nan))
    assert Judged("stated", over, 60, "ece", [over, nobody]).verdict == "overconfident"
    assert Judged("stated", over, 60, "ece", [over, nobody, over]).verdict == "overconfident under each of 2 variants"
