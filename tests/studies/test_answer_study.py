"""The study of sampled answers on made-up verdicts and numbers: closed forms by response and by question."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from asked_samples import PROMPTS, question_set
from science_samples import CLAIMS, SAMPLES, Said, concluded

from calprobe import cells
from calprobe.answers.graders import TOLERANCES, GradeRules, grade
from calprobe.answers.reading import Reading
from calprobe.arrays import Floats
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.metrics.recalibration import fit_uncertainty
from calprobe.prompts import judged
from calprobe.prompts.types import Variant
from calprobe.questions import Question, QuestionSet, SetSource
from calprobe.studies.answers.layouts import answer_study_tables
from calprobe.studies.answers.results import TREATMENTS, AnswerCell
from calprobe.studies.asked.asked_choice import choose_asked
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.asked.results import AskedRunReport
from calprobe.studies.published.beside import published
from calprobe.studies.published.beside_science import SCIENCE2026, beside_science
from calprobe.words import Calibrate

OPTIONS = ReportOptions(resampling=Resampling(50))


def report(said: Said, questions: QuestionSet, backwards: bool = False, stated: Said | None = None) -> AskedRunReport:
    (run,) = report_asked([concluded(said, questions, backwards, stated)], OPTIONS).runs
    return run


def study(said: Said, questions: QuestionSet, backwards: bool = False, stated: Said | None = None) -> AnswerCell:
    run = report(said, questions, backwards, stated)
    assert run.answers is not None
    (cell,) = run.answers.cells
    return cell


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


def test_what_chance_makes_of_ece_stands_beside_it() -> None:
    run = report(lambda claim, sample: "Yes" if claim.id.endswith("A") else "No", CLAIMS)
    assert run.answers is not None
    (cell,) = run.answers.cells
    # A is always the answer with a share of 1, and right for 3 of 12 questions; calibrated it would be right for all.
    found = [cell.questions.share[name].value for name in ("ece_15", "ece_15_if_calibrated", "ece_15_p")]
    assert found == pytest.approx([0.75, 0, 1 / 51])
    table = next(answer_study_tables(run.answers, "sums"))
    titles = [column.title for column in table.columns if column.heading == "normalised"]
    assert titles[:3] == ["ECE 15", "ECE 15 if cal.", "ECE 15 p"]
    assert table.notes[-1].startswith("If cal.: ")


def test_always_yes_is_said_to_be_degenerate_and_draws_an_answer() -> None:
    found = study(lambda claim, sample: "Yes", CLAIMS)
    assert found.responses.degenerate == "Yes in 100.0% of the verdicts, whatever the option"
    assert found.responses.accuracy.value == pytest.approx(0.25)
    assert found.responses.balanced is not None
    assert found.responses.balanced.value == pytest.approx(0.5)
    assert (found.questions.tied, found.questions.unanswered) == (12, 0)
    assert found.questions.share["mean_confidence"].value == 1  # all options have all Yes
    of_noes = report_asked([concluded(lambda claim, sample: "No", CLAIMS)], OPTIONS)
    (table,) = (own for own in asked_tables(of_noes) if "Every response: what" in own.caption)
    assert table.rows[0].note == "DEGENERATE: No in 100.0% of the verdicts, whatever the option"


def test_a_model_that_knows_nothing_ranks_nothing_whether_claims_tie_or_not() -> None:
    many, rng = judged(question_set(300), "{label}: {option}", "{label}. {option}"), np.random.default_rng(7)
    said = {(claim.id, at): "Yes" if rng.random() < 0.85 else "No" for claim in many.questions for at in range(SAMPLES)}
    found = study(lambda claim, sample: said[claim.id, sample], many).questions
    assert found.tied > 100
    assert found.accuracy.value == pytest.approx(0.25, abs=0.08)
    assert found.share["auroc"].value == pytest.approx(0.5, abs=0.1)
    assert found.share["mean_confidence"].value > 0.9


def test_the_answer_of_a_question_is_read_off_all_samples_and_not_off_its_first() -> None:
    numbers = QuestionSet(
        "sums",
        tuple(Question(f"n{at}", "How many?", "number", number=15.0) for at in range(12)),
        SetSource("0" * 64),
    )
    found = study(lambda question, sample: "15" if sample else "NONE", numbers)
    for way in TREATMENTS:
        metrics = found.responses.treatments["frequency.majority"][way]
        assert metrics["accuracy"].value == 1
        assert metrics["ece_15"].value == pytest.approx(0.25)
        assert metrics["brier"].value == pytest.approx(0.0625)


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


def test_claims_without_a_readable_verdict_have_no_answer_by_chance() -> None:
    """An option drawn among four unread ones would be right in a quarter of the questions, with a share of 1/4."""
    many = judged(question_set(40), "{label}: {option}", "{label}. {option}")
    found = study(lambda claim, sample: "Let me think.", many).questions
    assert (found.rows, found.unanswered, found.tied, found.accuracy.value) == (40, 40, 0, 0)
    some = study(leans, many).questions
    assert (found.share.keys(), found.normalised and found.normalised.keys()) == (some.share.keys(), some.share.keys())
    assert all(np.isnan(metric.value) for metric in found.share.values())
    half = study(lambda claim, sample: claim.gold if int(claim.of[1:]) % 2 else "Let me think.", many).questions
    assert (half.rows, half.unanswered, half.accuracy.value) == (40, 20, 0.5)
    assert half.normalised is not None
    for metrics in (half.share, half.normalised):
        assert (metrics["accuracy"].value, metrics["mean_confidence"].value, metrics["brier"].value) == (1, 1, 0)


def test_questions_without_an_answer_are_in_the_shares_of_the_studys_rules_alone() -> None:
    """Half of the questions are guessed between two numbers, half not answered: a free order by the study's rule."""
    sums = QuestionSet(
        "sums",
        tuple(Question(f"n{at}", "How many?", "number", number=15.0) for at in range(40)),
        SetSource("0" * 64),
    )

    def guesses(question: Question, sample: int) -> str:
        number = int(question.id[1:])
        return "NONE" if number < 20 else "15" if number % 2 else "16"

    run = concluded(guesses, sums)
    of_shares = []
    for options in (OPTIONS, replace(OPTIONS, compat="science2026")):
        report = report_asked([run], options)
        assert report.runs[0].answers is not None
        (found,) = report.runs[0].answers.cells
        assert (found.questions.unanswered, found.questions.accuracy.value) == (20, 0.25)
        of_shares.append({name: found.questions.share[name].value for name in ("accuracy", "brier", "auroc")})
        (table,) = (own for own in asked_tables(report) if own.caption.startswith("One answer a question"))
        assert any(note.startswith("Unread: ") for note in table.notes)
    assert of_shares[0] == {"accuracy": 0.5, "brier": 0.5, "auroc": 0.5}
    assert of_shares[1] == {"accuracy": 0.25, "brier": 0.25, "auroc": pytest.approx(1 / 3 * 0.5 + 2 / 3)}


def test_requests_that_failed_are_in_no_number() -> None:
    found = study(lambda claim, sample: claim.gold if sample < 2 else None, CLAIMS)
    responses, questions = found.responses, found.questions
    assert (responses.rows, responses.failed) == (12 * 4 * 2, 0)
    assert (responses.accuracy.value, responses.extraction.value) == (1, 1)
    assert responses.balanced is not None
    assert responses.balanced.value == 1
    assert questions.share["mean_confidence"].value == 1
    without_option = study(lambda claim, sample: None if claim.id == "q3#B" else claim.gold, CLAIMS).questions
    assert (without_option.rows, without_option.accuracy.value) == (11, 1)


def test_right_answers_without_a_confidence_stay_right() -> None:
    def sure(claim: Question, sample: int) -> str:
        return "0.9" if sample < 2 else "sure"

    found = study(lambda claim, sample: claim.gold, CLAIMS, stated=sure).responses.treatments["stated_decimal"]
    assert [found[way]["accuracy"].value for way in TREATMENTS] == [1, 1, 1]
    assert [found[way]["mean_confidence"].value for way in TREATMENTS] == pytest.approx([0.45, 0.9, 0.45])
    wrong = study(lambda claim, sample: "No" if claim.gold == "Yes" else "Yes", CLAIMS, stated=sure)
    found = wrong.responses.treatments["stated_decimal"]
    assert found["worst"]["mean_confidence"].value == pytest.approx(0.95)


@pytest.mark.parametrize("other", ["Perhaps.", "Yes and no."])
def test_what_was_not_read_judges_no_option_right(other: str) -> None:
    found = study(lambda claim, sample: claim.gold if claim.gold == "Yes" else other, CLAIMS)
    assert found.responses.extraction.value == 0.25
    assert found.questions.all_right is not None
    assert found.questions.all_right.value == 0
    ties = study(lambda claim, sample: "No" if claim.gold == "No" and sample < 2 else "Yes", CLAIMS).questions
    assert ties.all_right is not None
    assert ties.all_right.value == 0


def test_what_was_not_read_is_no_answer_whatever_the_reason() -> None:
    """Yes and no, a number of several, and one that was cut have a rule that found them, and no value."""
    frequency = report(lambda claim, sample: claim.gold if sample < 2 else "Yes and no.", CLAIMS).cells[0].confidences
    assert int(frequency["frequency"].read.sum()) == 12 * 4 * 2
    sums = QuestionSet("sums", (Question("n", "?", "number", number=7.0),), SetSource("f" * 64))
    for text in ("2 or 3", "0,8"):
        (own,) = report(lambda claim, sample, text=text: text if sample else "7", sums).cells[0].read.samples  # type: ignore[misc]  # mypy loses the default
        assert own.strings.texts == ("7",)


def test_conclusions_that_are_not_there_yet_are_not_wrong() -> None:
    sums = QuestionSet(
        "sums", tuple(Question(f"n{n}", "So?", "number", number=n) for n in range(4)), SetSource("f" * 64)
    )
    every = concluded(lambda question, sample: question.gold, sums)
    lacking = replace(every, replies=tuple(own for own in every.replies if own.stage != "final" or own.sample < 3))
    both = report_asked([lacking], OPTIONS)
    assert both.runs[0].answers is not None
    (found,) = both.runs[0].answers.cells
    assert (found.responses.rows, found.responses.failed) == (4 * 3, 0)
    assert (found.responses.accuracy.value, found.responses.extraction.value) == (1.0, 1.0)
    assert found.responses.tolerances["equal"].value == 1.0
    tables = {own.label: own for own in asked_tables(both)}
    (responses,) = (own for name, own in tables.items() if "responses" in name)
    assert [column.title for column in responses.columns] == ["n", "failed", "extracted", "accuracy"]
    assert not any("option" in note for name in tables if "questions" in name for note in tables[name].notes)


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
    known = published(SCIENCE2026)
    rows = known["comprehension"].values()
    for column in range(4):
        mean = np.mean([rows[kind][column] for kind in ("base", "instruct", "reasoning")])
        assert rows["average"][column] == pytest.approx(mean, abs=1.1e-4)
    assert len(known["invalid"].rows) == 20
    assert known["invalid"].values()["gemma-3-27b-pt"] == (1, 1, 1, 1, 0)
    assert {len(table.rows) for key, table in known.items() if key not in ("comprehension", "invalid", "labels")} == {
        12
    }
    for name, of_claims, of_numbers in (("auroc_p_true", 36, 3), ("auroc_stated", 18, 1)):  # of 55, of 33
        rows = [row for model, row in known[name].values().items() if "Thinking" not in model]
        assert sum(value < 0.5 for row in rows for value in row[:5]) == of_claims
        assert sum(value < 0.5 for row in rows for value in row[5:]) == of_numbers
    named = QuestionSet("gpqa", CLAIMS.questions, CLAIMS.source)
    tables = {table.caption: table for table in beside_science(report_asked([concluded(leans, named)], OPTIONS))}
    own = tables["Accuracy of responses"].rows[-1]
    assert (own.of, own.values[4], own.values[0]) == ("run", pytest.approx(14 / 16), None)


def test_claims_about_one_question_are_calibrated_in_one_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def noted(values: Floats, right: Floats, questions: np.ndarray, method: Calibrate) -> object:
        seen.append(questions)
        return fit_uncertainty(values, right, questions, method)

    monkeypatch.setattr(cells.asked, "fit_uncertainty", noted)
    report_asked([concluded(leans, CLAIMS)], replace(OPTIONS, calibrate="isotonic"))
    assert {each for questions in seen for each in questions.tolist()} == {f"q{at}" for at in range(12)}


def test_frequencies_have_a_centred_bin_for_each_of_their_values_and_other_confidences_fifteen() -> None:
    found = study(leans, CLAIMS, stated=lambda claim, sample: "0.9")
    names = {
        name: {own for own in ways["zero"] if own.endswith("_centred")}
        for name, ways in found.responses.treatments.items()
    }
    assert names["frequency"] == {f"ece_{SAMPLES + 1}_centred"}
    # Every share is .75 and right: with the bins of ten samples it would be .3, since .75 lay with .7.
    assert found.questions.share[f"ece_{SAMPLES + 1}_centred"].value == pytest.approx(0.25)
    assert names["stated_decimal"] == {"ece_15_centred"}


def test_estimators_that_are_chosen_are_alone_in_tables_of_failures() -> None:
    whole = report_asked([concluded(leans, CLAIMS, stated=lambda claim, sample: "0.9")], OPTIONS)
    (run,) = choose_asked(whole, ["frequency"], None).runs
    assert run.answers is not None
    assert list(run.answers.cells[0].responses.treatments) == ["frequency"]


def test_conclusions_are_read_whatever_the_kind_of_question() -> None:
    """A choice that is no claim, alone and beside a number: the reasoning in front says neither."""
    turn = Variant("direct", "{input}", 8, conclusion="So?")
    number = Question("n", "1 + 1?", "number", number=2.0)
    both = (*question_set(2).questions, number)
    for questions, reader in ((both[:2], "chosen"), (both, "conclusion")):
        made = concluded(lambda own, sample: own.gold or "2", QuestionSet("s", questions, SetSource("f" * 64)))
        (run,) = report_asked([replace(made, prompts=replace(PROMPTS, variants=(turn,)))], OPTIONS).runs
        assert run.cells[0].read.answers.reader == reader
        assert run.cells[0].read.answers.correct.all()


def test_kinds_of_questions_in_one_set_have_tables_of_their_own() -> None:
    """Claims, numbers and texts together: each kind as if it were asked alone."""
    sums = tuple(Question(f"n{n}", "So?", "number", number=n) for n in range(4))
    open_ones = tuple(Question(f"o{n}", "Who?", "open", accepted=(f"Ann {n}",)) for n in range(4))
    kinds = {"claims": CLAIMS.questions, "numbers": sums, "texts": open_ones}

    def said(own: Question, sample: int) -> str:
        return leans(own, sample) if own.of else (own.gold or "") if sample else "3"

    both = report_asked([concluded(said, QuestionSet("s", tuple(chain(*kinds.values())), CLAIMS.source))], OPTIONS)
    assert both.runs[0].answers is not None
    found = both.runs[0].answers.of_set("s")
    assert list(found) == [f"direct, {kind}" for kind in kinds]
    for kind, cell in zip(kinds, found.values(), strict=True):
        alone = study(said, QuestionSet("s", kinds[kind], CLAIMS.source))
        assert repr(alone) == repr(cell)
    tables = [own for own in asked_tables(both) if own.kind == "sampled"]
    assert [len(table.rows) for table in tables[:3]] == [3, 3, 1]  # the last: tolerances of numbers
    assert any(note.startswith("Of numbers and texts, ") for note in tables[0].notes)
    both_json = both.to_json()["run"]["answer_study"]["sets"]["s"]
    assert [own["kind"] for own in both_json.values()] == list(kinds)
