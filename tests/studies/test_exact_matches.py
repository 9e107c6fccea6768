"""Answers that exact matching calls wrong though an accepted text stands in them, and readers that tables leave out."""

from __future__ import annotations

import asked_replies as made
import pytest

from calprobe.cells.asked import Asked
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.questions import Question
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.exact_matches import ExactMatches
from calprobe.studies.asked.figures import pictures
from calprobe.studies.asked.report_asked import report_asked

OPTIONS = ReportOptions(resampling=Resampling(0))


def open_run(*texts: str) -> Asked:
    """A question "Which capital?" for each reply, whose accepted answer is Paris."""
    questions = [Question(f"q{place}", "Which capital?", "open", accepted=("Paris",)) for place in range(len(texts))]
    replies = [made.reply(own.id, text) for own, text in zip(questions, texts, strict=True)]
    return made.asked(questions, replies)


def test_wrong_answers_with_an_accepted_text_are_counted_and_warned_of() -> None:
    report = report_asked([open_run("Paris", "It is certainly Paris.", "Not Paris.", "Rome", "Paris, France")], OPTIONS)
    (run,) = report.runs
    assert run.sets["quiz"].exact == ExactMatches(graded=5, right=1, contain=2, sentences=1)
    found = run.to_json()["disclosure"]
    assert found["exact_matching"] == {"quiz": {"n": 5, "right": 1, "wrong_and_contain_accepted": 2, "sentences": 1}}
    (warning,) = found["warnings"]
    assert warning.startswith("quiz: 2 of 5 answers (40 %) are wrong by exact matching and contain an accepted text")
    assert "accuracy is 0.200, or 0.600 if these were right; 1 of the wrong answers is a sentence. " in warning
    assert "`calprobe grade RUN --grader contains`" in warning
    assert "--judge MODEL" in warning
    notes = [note for table in asked_tables(report) for note in table.notes]
    assert f"Warning: {warning.removeprefix('quiz: ')}." in notes


@pytest.mark.parametrize(("contain", "is_warned"), [(5, False), (6, True)])
def test_the_warning_begins_above_five_percent(contain: int, is_warned: bool) -> None:
    assert bool(ExactMatches(graded=100, right=20, contain=contain).warning) is is_warned


def choices() -> Asked:
    questions, replies = made.answered({"plain": ["Answer: A", "B"], "other": ["A", "B"]}, [0, 0])
    return made.asked(questions, replies)


@pytest.mark.parametrize(
    ("options", "readers"),
    [
        (OPTIONS, {"last_marker"}),
        (ReportOptions(resampling=Resampling(0), readers=("last_marker", "first_char")), {"last_marker", "first_char"}),
        (ReportOptions(resampling=Resampling(0), compat="audit2026"), {"first_char", "first_marker"}),
    ],
)
def test_readers_of_the_audit_are_shown_by_its_rules_or_by_name(options: ReportOptions, readers: set[str]) -> None:
    report = report_asked([choices()], options)
    tables = {table.kind: table for table in asked_tables(report)}
    assert {column.title for column in tables["answers"].columns} & {
        "last_marker",
        "first_char",
        "first_marker",
    } == readers
    assert {row.label for row in tables["spread"].rows} == readers
    (figure,) = pictures(report.runs[0], options).figures[0].panels
    assert set(figure.series) == readers


def test_the_json_has_every_reader() -> None:
    cell = report_asked([choices()], OPTIONS).runs[0].to_json()["sets"]["quiz"]["variants"]["plain"]
    assert set(cell["accuracy"]) == {"last_marker", "first_char"}
    assert cell["accuracy"]["first_char"]["value"] == 0.5  # "Answer" begins with A
