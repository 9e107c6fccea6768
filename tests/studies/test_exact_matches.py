"""Answers that exact matching calls wrong though an accepted text stands in them, and readers that tables leave out."""

from __future__ import annotations

from dataclasses import replace

import asked_replies as made
import pytest

from calprobe.cells.asked import Asked
from calprobe.measures.options import CompareOptions, ReportOptions
from calprobe.metrics import Resampling
from calprobe.presentation.comparison_pages import asked_comparison_page
from calprobe.presentation.report_pages import asked_page
from calprobe.questions import Question
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.compare_asked import compare_asked
from calprobe.studies.asked.compared_layouts import compared_tables
from calprobe.studies.asked.exact_matches import ExactMatches
from calprobe.studies.asked.figures import pictures
from calprobe.studies.asked.glance import compared_at_a_glance, tables_at_a_glance
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.asked.run_verdict import verdict

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


def test_the_warning_stands_once_before_what_is_said_of_confidences() -> None:
    runs = [replace(open_run("It is Paris.", "Rome"), label=label) for label in "ab"]
    for number in (1, 2):
        report = report_asked(runs[:number], OPTIONS)
        tables = tables_at_a_glance(report, asked_tables(report))
        lines = [line for table in tables for line in (*table.heading, *table.notes)]
        assert [line[:30] for line in lines if "Warning" in line] == ["Warning: quiz: 1 of 2 answers "] * number
        assert verdict(report.runs[0])[1].startswith("Warning: quiz: 1 of 2 answers (50 %)"), "behind the accuracy"
        page = asked_page(report, {run.label: pictures(run, OPTIONS) for run in report.runs})
        assert page.count("are wrong by exact matching") == number
        assert page.index("are wrong by exact matching") < page.index("<table")


def test_a_comparison_warns_of_each_run() -> None:
    runs = [replace(open_run("It is Paris.", "Rome"), label="a"), replace(open_run("Paris", "Rome"), label="b")]
    found = compare_asked(runs, CompareOptions(scores=OPTIONS))
    (warning,) = found.runs[0].warnings
    assert not found.runs[1].warnings
    head, *others = compared_at_a_glance(found, compared_tables(found))
    assert head.heading[2] == f"Warning: a, {warning}."
    assert not any("Warning" in note for table in others for note in table.notes)
    assert asked_comparison_page(found).count("are wrong by exact matching") == 1


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
