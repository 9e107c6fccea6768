"""The numbers that stand for a run of replies: the same in lists, overviews and on its page, and without what reports
leave out of means.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import asked_replies as made
import pytest
from asked_samples import stated_run
from coarse_smoothing import coarse_smoothing

from calprobe.cells.asked_folder import asked_of
from calprobe.measures.options import CompareOptions, ReportOptions
from calprobe.metrics import Estimate, Resampling
from calprobe.presentation.overview_page import task_page
from calprobe.prompts.types import Variant
from calprobe.runs import open_asked
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.compare_asked import compare_asked
from calprobe.studies.asked.compared_layouts import compared_sides
from calprobe.studies.asked.glance import tables_at_a_glance
from calprobe.studies.asked.overall import overall_of, overall_read
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.asked.run_verdict import verdict
from calprobe.studies.overview.headlines import asked_headline
from calprobe.studies.overview.overview_tables import sides_table
from calprobe.studies.overview.overviews import Task, overview, report_task

RUN = Path(__file__).parents[1] / "golden" / "runs" / "audit"  # tiny-chat, 12 questions, five variants
USUAL = ("surface_paraphrase", "instruction_reorder", "fewshot_3", "implicit_framing")
OPTIONS = ReportOptions(resampling=Resampling(20))


@pytest.fixture(scope="module")
def report() -> AskedReport:
    with coarse_smoothing():
        return report_asked([asked_of("audit", open_asked(RUN))], OPTIONS)


def mean_over(report: AskedReport, variants: tuple[str, ...], metric: str) -> float:
    cells = report.runs[0].sets["mini"].cells
    return sum(cells[name].estimators["label"].metrics[metric].value for name in variants) / len(variants)


def test_a_right_option_always_in_one_place_stands_beside_the_accuracy() -> None:
    def said(n_elsewhere: int, *others: Variant, more: str = "") -> tuple[bool, bool]:
        questions = [made.choice(f"q{number}", int(number < n_elsewhere)) for number in range(20)]
        run = made.asked(questions, [made.reply(q.id, "A") for q in questions], made.prompts(made.PLAIN, *others))
        (found,) = report_asked([run], OPTIONS).runs
        text = f"in place 1 in {20 - n_elsewhere} of 20 questions of quiz; a model may prefer that place{more}"
        in_verdict = f"Warning: The right option is {text}." in verdict(found)
        return ("right option", text) in found.disclosure.lines(), in_verdict

    assert said(0) == said(2) == (True, True)
    assert said(3) == (False, False)
    turned = replace(made.PLAIN, name="plain+1", turned=1)
    assert said(0, turned, more="; variants +1, +2, .. have it elsewhere") == (True, True)


def test_means_leave_out_the_variants_of_another_form(report: AskedReport) -> None:
    found = overall_of(report.runs[0])
    assert found is not None
    assert (found.of, found.rows, found.asked, found.cells) == ("label", 48, 48, 4)
    assert found.left_out == ("format_change",)
    assert report.runs[0].sets["mini"].usual == USUAL
    for name in ("accuracy", "ace", "ece", "brier", "auroc", "ece_if_calibrated"):
        assert found.metrics[name].value == pytest.approx(mean_over(report, USUAL, name))
        assert math.isnan(found.metrics[name].low), "a mean over variants has no interval"
    assert found.metrics["ace"].value != pytest.approx(mean_over(report, (*USUAL, "format_change"), "ace"), abs=0.01)
    assert found.error == "ece", "stated confidences have few values"
    assert math.isnan(found.metrics["ece_p"].value), "p-values have no mean"


def test_lists_overviews_and_pages_show_the_same_numbers(report: AskedReport) -> None:
    found = overall_of(report.runs[0])
    assert found is not None
    asked = asked_of("audit", open_asked(RUN))
    assert overall_read(asked, OPTIONS) == found
    headline = asked_headline(asked, OPTIONS)
    accuracy, ece = found.metrics["accuracy"].value, found.metrics["ece"].value
    assert (headline.accuracy, headline.ece, headline.error, headline.n) == (accuracy, ece, "ece", 48)
    assert (headline.if_calibrated, headline.p) == (found.metrics["ece_if_calibrated"].value, None)
    options = OPTIONS
    with coarse_smoothing():
        task = report_task(Task("mini", {"tiny-chat": str(RUN)}), options).overview
    (side,) = task.sides
    assert (side.accuracy.value, side.metrics["ece"].value, side.of, side.n) == (accuracy, ece, "label", 48)
    table = sides_table(overview("runs", [task], options))
    titles = ["n", "accuracy", "conf - acc", "ECE", "if cal.", "ECE p", "Brier", "AUROC", "of"]
    assert [column.title for column in table.columns] == titles
    assert table.rows[0].cells[2] == side.gap == found.metrics["confidence_gap"], "on which the verdict rests"
    assert side.to_json()["confidence_gap"]["value"] == found.metrics["confidence_gap"].value
    assert "mini: means leave out format_change, of another form of reply or order of options." in table.notes
    with coarse_smoothing():
        page = task_page(report, options)
    head = page[page.index('<dl class="numbers">') :][:2000]
    assert f"{accuracy:.4f}" in head
    assert f"{ece:.4f}" in head
    assert f"{headline.if_calibrated:.4f} if calibrated" in head


def test_one_variant_has_intervals_and_p(report: AskedReport) -> None:
    alone = ReportOptions(resampling=Resampling(20), variants=("surface_paraphrase",))
    found = overall_read(asked_of("audit", open_asked(RUN)), alone)
    assert found is not None
    cell = report.runs[0].sets["mini"].cells["surface_paraphrase"].estimators["label"].metrics
    assert found.metrics["ece"] == cell["ece"]
    assert found.metrics["ece_p"] == cell["ece_p"]
    assert 0 < found.metrics["ece_p"].value <= 1


def test_where_all_variants_have_another_form_means_are_of_them() -> None:
    alone = ReportOptions(resampling=Resampling(0), variants=("format_change",))
    found = overall_read(asked_of("audit", open_asked(RUN)), alone)
    assert found is not None
    assert (found.cells, found.left_out) == (1, ())


def test_where_few_answers_have_the_confidence_the_accuracy_is_of_all(tmp_path: Path) -> None:
    said = [["0.9", *["hm"] * 4], ["0.9", "0.8"]]  # of 60 answers, two of three right
    few, all_have = (asked_of(f"run{i}", open_asked(stated_run(tmp_path / str(i), *own))) for i, own in enumerate(said))
    for asked, rows in ((few, 12), (all_have, 60)):
        (reported,) = report_asked([asked], OPTIONS).runs
        overall, headline = overall_of(reported), asked_headline(asked)
        assert overall is not None
        assert (overall.rows, overall.answers, overall.few) == (rows, 60, rows < 60)
        assert (headline.n, headline.accuracy) == (rows, pytest.approx(2 / 3)), "as a list has it"
        assert verdict(reported)[0].startswith("Accuracy .67")
    reported = report_asked([few], OPTIONS).runs[0]
    own = overall_of(reported)
    assert own is not None
    assert verdict(reported)[0].endswith("60 questions.")
    assert "Of 12 of 60 answers" in verdict(reported)[1]
    (sides,) = compared_sides(compare_asked([few, all_have], CompareOptions(scores=OPTIONS)))
    assert sides.few("stated_decimal") == " (12 of 60 answers)"


def test_a_run_that_is_not_finished_speaks_of_the_questions_that_have_replies() -> None:
    """As the same run without the other questions does: their number, digits by it, and what chance makes of errors."""
    asked = asked_of("audit", open_asked(RUN))
    (of_set,) = asked.sets
    more = tuple(replace(question, id=f"{question.id}-{at}") for question in of_set.questions for at in range(100))
    planned = replace(asked, sets=(replace(of_set, questions=(*of_set.questions, *more)),))
    finished, stopped = (report_asked([run], OPTIONS) for run in (asked, planned))
    assert verdict(stopped.runs[0]) == verdict(finished.runs[0])
    assert overall_of(stopped.runs[0]) == overall_of(finished.runs[0]) == overall_read(planned, OPTIONS)
    first_looks = (tables_at_a_glance(report, asked_tables(report)) for report in (finished, stopped))
    (_, *of_finished), (head, *of_stopped) = first_looks
    assert [(table.columns, table.decimals) for table in of_stopped] == [
        (table.columns, table.decimals) for table in of_finished
    ]
    assert "1,212 questions" in head.heading[0]  # what was asked of the model stays


@pytest.mark.parametrize(("right", "rests"), [(1, "1 right"), (9, "9 right"), (20, ""), (33, "7 wrong")])
def test_a_first_look_says_where_an_order_rests_on_few_answers(right: int, rests: str) -> None:
    """Of forty questions, by labels of which each has another probability."""
    questions = [made.choice(f"q{at}", answer=0) for at in range(40)]
    replies = []
    for at, own in enumerate(questions):
        largest = 0.5 + at % 17 / 40
        probabilities = [largest, *[(1 - largest) / 3] * 3]
        scores = made.scores(probabilities if at < right else probabilities[::-1])
        replies.append(made.reply(own.id, "A" if at < right else "D", label_scores=scores))
    report = report_asked([made.asked(questions, replies)], OPTIONS)
    head, *tables = tables_at_a_glance(report, asked_tables(report))
    sentence = next(line for line in head.heading if line.startswith("label:"))
    assert "AUROC" in sentence
    assert sentence.count("(only ") == sentence.count(f"(only {rests})") == bool(rests)
    notes = [note for table in tables for note in table.notes if "AUROC rests on few" in note]
    assert bool(notes) == bool(rests)
    auroc = report.runs[0].sets["quiz"].cells["plain"].estimators["label"].metrics["auroc"]
    assert math.isnan(auroc.low) == bool(rests)


def test_digits_are_those_of_the_questions_however_many_answers_each_has() -> None:
    questions = [made.choice(f"q{at}") for at in range(25)]
    replies = [
        made.reply(own.id, "AB"[(at + sample) % 3 == 0], sample=sample, label_scores=made.scores([0.7, 0.1, 0.1, 0.1]))
        for at, own in enumerate(questions)
        for sample in range(10)
    ]
    replies = [replace(own, key=f"{own.key}{at}") for at, own in enumerate(replies)]
    sentences = verdict(report_asked([made.asked(questions, replies)], OPTIONS).runs[0])
    shown = re.findall(r"[+-]?\.\d+", " ".join(re.sub(r"p \.\d+", "", own) for own in sentences))
    assert len(sentences) > 1
    assert {len(number.lstrip("+-.")) for number in shown} == {2}


def test_a_verdict_says_whose_accuracy_it_is_where_replies_say_another(report: AskedReport) -> None:
    first, *_ = verdict(report.runs[0])
    assert first == "Accuracy .56, mean over 4 variants; chance .25; 12 questions."
    cell = report.runs[0].sets["mini"].cells["surface_paraphrase"]
    other = replace(cell.accuracy[cell.reader], value=Estimate(0.25, 0.1, 0.4))
    cells = {"plain": replace(cell, accuracy={**cell.accuracy, cell.reader: other})}
    of_set = replace(report.runs[0].sets["mini"], cells=cells, usual=("plain",))
    two = replace(report.runs[0], sets={"mini": of_set})
    first, *_ = verdict(two)
    assert ") by label, .25 by last_marker; chance .25" in first
    page = task_page(replace(report, runs=(two,)), OPTIONS)
    assert first in page
    assert verdict(report.runs[0])[0] not in task_page(report, OPTIONS), "the numbers beside it say the same"
