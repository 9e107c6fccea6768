"""The study of sampled answers on made-up verdicts and numbers: closed forms by response and by question."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from asked_samples import PROMPTS, question_set

from calprobe.analysis.asked.opened import Asked
from calprobe.analysis.asked.options import AskedOptions
from calprobe.analysis.asked.report_asked import report_asked
from calprobe.analysis.asked.science.answer_results import AnswerCell
from calprobe.analysis.asked.science.published import beside_science, published
from calprobe.analysis.tables.asked import asked_tables
from calprobe.answers.grading import TOLERANCES, GradeRules, grade
from calprobe.answers.types import Reading
from calprobe.metrics import Resampling
from calprobe.prompts import judged
from calprobe.questions import Question, QuestionSet, SetSource
from calprobe.runs import Reply

OPTIONS = AskedOptions(resampling=Resampling(50))
SAMPLES = 4
Said = Callable[[Question, int], str]  # a claim or question, the sample -> what is concluded


def asked(said: Said, questions: QuestionSet, backwards: bool = False) -> Asked:
    """Made-up conclusions behind sampled replies."""
    replies = []
    for question in questions.questions:
        for sample in range(SAMPLES):
            for stage, text in (("answer", "Let us see."), ("final", said(question, sample))):
                place = (questions.name, question.id, "direct", stage)
                replies.append(Reply(f"{place}{sample}", *place, text=text, finish="stop", sample=sample))
    return Asked("run", "toy", (questions,), tuple(reversed(replies)) if backwards else tuple(replies), PROMPTS)


def study(said: Said, questions: QuestionSet, backwards: bool = False) -> AnswerCell:
    (run,) = report_asked([asked(said, questions, backwards)], OPTIONS).runs
    assert run.answers is not None
    (cell,) = run.answers.cells
    return cell


CLAIMS = judged(question_set(12), "{label}: {option}", "{label}. {option}")


def leans(claim: Question, sample: int) -> str:
    """Yes to the right option in three of four samples, to the option behind it in one, to others never."""
    right = claim.gold == "Yes"
    place = "ABCD".index(claim.id[-1])
    is_next = (place - int(claim.of[1:])) % 4 == 1
    return "Yes" if (right and sample < 3) or (is_next and sample == 3) else "No"


def test_responses_and_questions_have_their_closed_forms() -> None:
    found = study(leans, CLAIMS)
    responses, questions = found.responses, found.questions
    assert (responses.rows, responses.failed, found.samples) == (12 * 4 * 4, 0, 4)
    assert responses.accuracy.value == pytest.approx((3 + 3 + 4 + 4) / 16)
    assert responses.yes_where_true is not None
    assert responses.yes_where_false is not None
    assert responses.balanced is not None
    assert responses.yes_where_true.value == pytest.approx(3 / 4)
    assert responses.yes_where_false.value == pytest.approx(1 / 12)
    assert responses.balanced.value == pytest.approx((3 / 4 + 11 / 12) / 2)
    assert not responses.degenerate
    assert (questions.rows, questions.tied, questions.accuracy.value) == (12, 0, 1.0)
    assert questions.all_right is not None
    assert questions.all_right.value == 1
    assert questions.share["mean_confidence"].value == pytest.approx(3 / 4)
    assert questions.normalised is not None
    assert questions.normalised["mean_confidence"].value == pytest.approx(3 / 4)


def test_always_yes_is_said_to_be_degenerate_and_has_no_answer() -> None:
    found = study(lambda claim, sample: "Yes", CLAIMS)
    assert found.responses.degenerate == "Yes in 100.0% of the verdicts, whatever the option"
    assert found.responses.accuracy.value == pytest.approx(0.25)
    assert found.responses.balanced is not None
    assert found.responses.balanced.value == pytest.approx(0.5)
    assert (found.questions.tied, found.questions.accuracy.value) == (12, 0.0)
    report = report_asked([asked(lambda claim, sample: "No", CLAIMS)], OPTIONS)
    (table,) = (own for own in asked_tables(report) if "Every response: what" in own.caption)
    assert table.rows[0].note == "DEGENERATE: No in 100.0% of the verdicts, whatever the option"


def test_three_treatments_of_failures() -> None:
    def mumbles(claim: Question, sample: int) -> str:
        """Right in two samples, unreadable in the two others."""
        return claim.gold if sample < 2 else "Perhaps."

    found = study(mumbles, CLAIMS).responses
    assert (found.failed, found.extraction.value) == (12 * 4 * 2, 0.5)
    ways = found.treatments["frequency"]
    assert ways["dropped"]["accuracy"].value == 1
    assert ways["dropped"]["mean_confidence"].value == pytest.approx(0.5)  # two of four asked for
    assert ways["zero"]["accuracy"].value == 0.5
    assert ways["zero"]["mean_confidence"].value == pytest.approx(0.25)
    assert ways["worst"]["mean_confidence"].value == pytest.approx(0.75)


def test_numbers_have_the_most_frequent_answer() -> None:
    sums = QuestionSet(
        "sums", tuple(Question(f"n{n}", f"{n} + 1?", "number", number=n + 1.0) for n in range(12)), SetSource("f" * 64)
    )

    def adds(question: Question, sample: int) -> str:
        """Right three times of four; the other time there is no result, or from the seventh question on, another."""
        number = int(question.id[1:])
        if sample == 0:
            return "NONE" if number < 6 else f"{number + 5}"
        return f"{number + 1}.0"

    found = study(adds, sums)
    assert found.responses.failed == 6
    assert found.responses.balanced is None
    assert found.questions.accuracy.value == 1
    assert found.questions.share["mean_confidence"].value == pytest.approx(0.75)
    assert found.questions.normalised is None
    assert {name: own.value for name, own in found.responses.tolerances.items()} == {
        "rounded": 0.75,
        "equal": 0.75,
        "scibench": 0.75,
    }


@pytest.mark.parametrize(
    ("value", "right", "rounded", "equal", "scibench"),
    [
        (12.05, 12.0, False, False, True),  # 0.1 around numbers from 1 on
        (12.2, 12.0, False, False, False),
        (1000.5, 1000.25, True, False, False),
        (0.0105, 0.01, False, False, True),  # a tenth of smaller ones
        (0.25, 0.25, True, True, True),
        (-4.05, -4.0, False, False, True),
    ],
)
def test_tolerances_are_named(value: float, right: float, rounded: bool, equal: bool, scibench: bool) -> None:
    question, reading = Question("1", "?", "number", number=right), Reading(value, "ok", "extracted")
    found = [grade(reading, question, rules=GradeRules(tolerance=name)).correct for name in TOLERANCES]
    assert found == [rounded, equal, scibench]


def test_the_order_of_replies_changes_nothing() -> None:
    assert repr(study(leans, CLAIMS)) == repr(study(leans, CLAIMS, backwards=True))


def test_published_figures_are_those_of_the_paper_with_ones_own_below() -> None:
    known = published()
    rows = known["comprehension"]["rows"]
    for column in range(4):
        mean = np.mean([rows[kind][column] for kind in ("base", "instruct", "reasoning")])
        assert rows["average"][column] == pytest.approx(mean, abs=1.1e-4)
    assert len(known["invalid"]["rows"]) == 20
    assert known["invalid"]["rows"]["gemma-3-27b-pt"] == [25316] * 4 + [0]
    assert {len(found["rows"]) for found in known["samples"].values()} == {12}
    for name, of_claims, of_numbers in (("auroc_p_true", 36, 3), ("auroc_stated", 18, 1)):  # of 55, of 33
        rows = [row for model, row in known["samples"][name]["rows"].items() if "Thinking" not in model]
        assert sum(value < 0.5 for row in rows for value in row[:5]) == of_claims
        assert sum(value < 0.5 for row in rows for value in row[5:]) == of_numbers
    named = QuestionSet("gpqa", CLAIMS.questions, CLAIMS.source)
    tables = {table.caption: table for table in beside_science(report_asked([asked(leans, named)], OPTIONS))}
    own = tables["Accuracy of responses"].rows[-1]
    assert (own.of, own.values[4], own.values[0]) == ("run", pytest.approx(14 / 16), None)
