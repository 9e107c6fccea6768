"""A set with questions of several kinds: n, chance, accuracy and confidences of each kind, none pooled in silence."""

from __future__ import annotations

import asked_replies as made
import pytest

from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.presentation.report_pages import asked_page
from calprobe.questions.types import Question
from calprobe.show.tables.types import Table
from calprobe.studies.asked.asked_choice import choose_asked
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.figures import pictures
from calprobe.studies.asked.overall import overall_of
from calprobe.studies.asked.report_asked import report_asked

CAPITALS = {"France": "Paris", "Spain": "Madrid", "Italy": "Rome"}


@pytest.fixture(scope="module")
def report() -> AskedReport:
    """Two choices of four options, one of them right, with label probabilities; three capitals, two of them right."""
    questions = [made.choice(f"c{at}", answer=at) for at in range(2)]
    labels = made.scores([0.7, 0.1, 0.1, 0.1])
    replies = [made.reply(own.id, "A", label_scores=labels) for own in questions]
    for country, capital in CAPITALS.items():
        questions.append(Question(country, f"The capital of {country}?", "open", accepted=(capital,)))
        replies.append(made.reply(country, "Lyon" if country == "France" else capital))
    replies += [made.reply(own.id, "0.9", stage="stated:decimal") for own in questions]
    return report_asked([made.asked(questions, replies)], ReportOptions(resampling=Resampling(0)))


def cell_of(report: AskedReport) -> CellReport:
    (cell,) = report.runs[0].reports()
    return cell


def table_of(report: AskedReport, kind: str) -> Table:
    return next(table for table in asked_tables(report) if table.kind == kind)


def test_each_kind_has_n_chance_accuracy_and_its_estimators(report: AskedReport) -> None:
    kinds = cell_of(report).kinds
    assert {kind: own.rows for kind, own in kinds.items()} == {"choice": 2, "open": 3}
    assert {kind: own.chance for kind, own in kinds.items()} == {"choice": 0.25, "open": 0.0}
    accuracy = {kind: next(iter(own.accuracy.values())).value.value for kind, own in kinds.items()}
    assert accuracy == {"choice": 0.5, "open": pytest.approx(2 / 3)}
    assert "label" in kinds["choice"].estimators
    assert "label" not in kinds["open"].estimators
    assert (kinds["choice"].estimators["label"].rows, kinds["choice"].estimators["label"].coverage.value) == (2, 1)
    stated = {kind: own.estimators["stated_decimal"].metrics for kind, own in kinds.items()}
    assert stated["choice"]["ece"].value == pytest.approx(0.4)
    assert stated["open"]["ece"].value == pytest.approx(0.9 - 2 / 3)


def test_tables_have_a_row_a_kind_and_say_what_is_of_all(report: AskedReport) -> None:
    answers = table_of(report, "answers")
    assert [(row.group, row.label, row.cells[:2]) for row in answers.rows] == [
        ("plain", "choice", (2, 0.25)),
        ("plain", "open", (3, 0.0)),
        ("plain", "all kinds", (5, 0.1)),
    ]
    rows = [(row.group, row.label) for row in table_of(report, "confidence").rows]
    assert ("plain, choice (2)", "label") in rows
    assert ("plain, open (3)", "label") not in rows
    assert ("plain, all kinds (5)", "label") not in rows, "it is of one kind"
    assert ("plain, all kinds (5)", "stated_decimal") in rows
    keys = [row.keys for row in table_of(report, "confidence").rows if row.label == "label"]
    assert keys == [{"variant": "plain", "estimator": "label", "kind": "choice"}]


def test_files_and_choices_have_the_kinds_too(report: AskedReport) -> None:
    cell = report.to_json()["run"]["sets"]["quiz"]["variants"]["plain"]
    assert cell["kinds"]["choice"]["n"] == 2
    assert cell["confidences"]["label"]["n"] == 2
    assert cell["confidences"]["label"]["chance"] == 0.25
    chosen = cell_of(choose_asked(report, ["label"], ["ece"]))
    assert [list(own.estimators) for own in chosen.kinds.values()] == [["label"], []]


def test_the_numbers_of_the_run_are_of_the_kind_that_has_the_confidence(report: AskedReport) -> None:
    found = overall_of(report.runs[0])
    assert found is not None
    assert (found.of, found.rows, found.chance) == ("label", 2, 0.25)
    assert found.metrics["accuracy"].value == 0.5


def test_a_set_of_one_kind_has_no_kinds() -> None:
    questions, replies = made.answered({"plain": ["A", "B"]}, [0, 1])
    one = report_asked([made.asked(questions, replies)], ReportOptions(resampling=Resampling(0)))
    assert cell_of(one).kinds == {}
    assert [row.label for row in table_of(one, "answers").rows] == ["plain"]
    assert "kinds" not in next(iter(one.to_json().values()))["sets"]["quiz"]["variants"]["plain"]


def test_the_page_says_on_which_kind_and_the_report_by_which_readers(report: AskedReport) -> None:
    page = asked_page(report, {"run": pictures(report.runs[0], report.options)})
    assert ">accuracy of label on choice questions<" in page
    said = dict(report.runs[0].disclosure.lines())["answers"]
    assert said.startswith("read by the reader of each question's kind (default); an answer ")
