"""The same answers under other graders: confidences stay, and what is right is what each grader alone would say."""

from __future__ import annotations

from dataclasses import replace

import asked_replies as made
import numpy as np

from calprobe.cells.asked import Asked, AskedCell, read_sets
from calprobe.cells.regrading import graders_of, regraded
from calprobe.measures.options import ReportOptions
from calprobe.questions import Question
from calprobe.runs.grades import StoredGrade

TEXTS = ("Paris", "It is Paris.", "Not Paris", "Rome", "I don't know", "The Paris")
# By rule: exact, then a judge that errs in the third and the sixth; people say of the first four what is right.
JUDGED = (True, True, True, False, False, False)
BY_HAND = (True, True, False, False, None, None)


def stored(key: str, place: int) -> StoredGrade:
    """As `calprobe grade --judge` and a file of grades leave it."""
    rule = "exact" if place == 0 else "abstention" if place == 4 else "judge"
    score = 0.9 if JUDGED[place] else 0.2
    return StoredGrade(
        key,
        "",
        *("quiz", f"q{place}", "plain", 0, 0),
        automatic=JUDGED[place],
        rule=rule,
        score=score if rule == "judge" else None,
        imported=BY_HAND[place],
    )


def open_run() -> Asked:
    """Six questions with the answer Paris, a stated confidence, and grades of a judge and of people."""
    questions = [Question(f"q{at}", "Which capital?", "open", accepted=("Paris",)) for at in range(len(TEXTS))]
    replies = [made.reply(question.id, text) for question, text in zip(questions, TEXTS, strict=True)]
    stated = [made.reply(question.id, f"0.{9 - at}", stage="stated:decimal") for at, question in enumerate(questions)]
    grades = {reply.key: stored(reply.key, at) for at, reply in enumerate(replies)}
    return replace(made.asked(questions, [*replies, *stated]), grades=grades)


def cell_of(run: Asked) -> AskedCell:
    (of_set,) = read_sets(run, ReportOptions())
    (cell,) = of_set.cells.values()
    return cell


def test_each_grader_alone_decides() -> None:
    opened = cell_of(open_run())
    assert graders_of(opened) == ("exact", "contains", "includes", "rouge", "judge", "imported")
    nan = float("nan")
    right = {
        "exact": [1, 0, 0, 0, 0, 1],
        "contains": [1, 1, 0, 0, 0, 1],
        "includes": [1, 1, 1, 0, 0, 1],
        "judge": [1, 1, 1, 0, 0, 0],
        "imported": [1, 1, 0, 0, nan, nan],
    }
    before = opened.confidences["stated_decimal"]
    for name, expected in right.items():
        found = regraded(opened, name)
        np.testing.assert_array_equal(found.correct, expected)
        confidence = found.cell.confidences["stated_decimal"]
        known = ~np.isnan(np.array(expected, np.float64))
        np.testing.assert_array_equal(confidence.read, known)
        np.testing.assert_array_equal(confidence.confidence[known], before.confidence[known])
        np.testing.assert_array_equal(confidence.correct[known], np.array(expected)[known] == 1)


def test_samples_keep_their_classes_and_what_is_unknown_of_a_majority_is_left_out() -> None:
    """Three questions with three samples: what the most frequent answer is graded decides, not that of another."""
    questions = [Question(f"q{at}", "Which?", "open", accepted=("Paris",)) for at in range(3)]
    texts = (("Paris", "Paris", "Rome"), ("Rome", "It is Paris", "Rome"), ("Oslo", "Oslo", "Paris"))
    replies = [
        made.reply(question.id, text, sample=sample)
        for question, of_question in zip(questions, texts, strict=True)
        for sample, text in enumerate(of_question)
    ]
    replies = [replace(reply, key=f"{reply.key}{at}") for at, reply in enumerate(replies)]
    # By hand: both samples of the first majority, none of the second, the third's alone wrong one.
    by_hand = {0: True, 1: True, 8: False}
    grades = {
        reply.key: StoredGrade(
            reply.key, "", "quiz", reply.question, "plain", 0, reply.sample, False, "exact", imported=by_hand.get(at)
        )
        for at, reply in enumerate(replies)
    }
    opened = cell_of(replace(made.asked(questions, replies), grades=grades))
    exact, hand = regraded(opened, "exact"), regraded(opened, "imported")
    assert exact.cell.confidences["frequency.majority"].correct[[0, 3, 6]].tolist() == [True, False, False]
    assert hand.cell.confidences["frequency.majority"].read.tolist() == [True, *[False] * 8]
    assert hand.cell.confidences["frequency"].read.tolist() == [True, True, *[False] * 6, True]
    before = opened.confidences["frequency"].confidence
    np.testing.assert_array_equal(exact.cell.confidences["frequency"].confidence, before)


def test_numbers_have_tolerances_and_choices_their_reader_alone() -> None:
    questions = [Question(f"q{at}", "How far?", "number", number=2.5) for at in range(3)]
    replies = [made.reply(question.id, text) for question, text in zip(questions, ("2.5", "2.51", "2.55"), strict=True)]
    opened = cell_of(made.asked(questions, replies))
    assert graders_of(opened) == ("rounded", "equal", "scibench")
    right = {name: regraded(opened, name).correct.tolist() for name in graders_of(opened)}
    assert right == {"rounded": [1, 1, 0], "equal": [1, 0, 0], "scibench": [1, 1, 1]}
    choices = cell_of(made.asked(*made.answered({"plain": ["A", "B"]}, [0, 0])))
    assert graders_of(choices) == ("last_marker",)
    assert regraded(choices, "last_marker").correct.tolist() == [1, 0]


def test_replies_that_came_with_grades_are_graded_by_rule_too() -> None:
    questions = [Question(f"q{at}", "Which?", "open", accepted=("Paris",)) for at in range(3)]
    replies = [
        made.reply(question.id, text, correct=right)
        for question, text, right in zip(questions, ("Paris", "It is Paris", "Rome"), (True, True, True), strict=True)
    ]
    opened = cell_of(made.asked(questions, replies))
    assert graders_of(opened)[-1] == "imported"
    assert regraded(opened, "imported").correct.tolist() == [1, 1, 1]
    assert regraded(opened, "exact").correct.tolist() == [1, 0, 0]
    assert regraded(opened, "contains").correct.tolist() == [1, 1, 0]
