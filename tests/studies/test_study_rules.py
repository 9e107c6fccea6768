"""The rules of the study of science questions (`--compat science2026`), and token counts in reports."""

from __future__ import annotations

from dataclasses import replace

import asked_replies as made
import numpy as np
import pytest

from calprobe.answers import read_stated
from calprobe.answers.number_reader import read_first_number
from calprobe.cells.asked import Asked
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.metrics.concentration import ece_of_centred_bins, ece_of_middles
from calprobe.questions.types import Question
from calprobe.runs.replies import THOUGHT_ENDED
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.length_layouts import lengths_table
from calprobe.studies.asked.report_asked import report_asked_run

PLAIN = ReportOptions(resampling=Resampling(0))
STUDY = replace(PLAIN, compat="science2026")
# Of each question: what each sample concludes, and how sure it says that it is.
SAID = {"n0": [("5", "0.9"), ("-5", "1"), ("5", "10%")], "n1": [("5.01", ".95"), ("NONE", "0.3"), ("7", "0.4")]}


def run() -> Asked:
    questions = [Question(name, "2 + 3?", "number", number=5.0, unit="m") for name in SAID]
    replies = [
        made.reply(name, text, stage=stage, sample=at, logprobs=(-0.5,))
        for name, several in SAID.items()
        for at, (concluded, stated) in enumerate(several)
        for stage, text in (("answer", "So .."), ("final", concluded), ("stated:decimal", stated))
    ]
    return made.asked(questions, replies)


def cell(options: ReportOptions) -> CellReport:
    return report_asked_run(run(), options).sets["quiz"].cells["plain"]


def test_numbers_are_read_and_compared_as_in_the_study() -> None:
    ours, study = cell(PLAIN), cell(STUDY)
    assert ours.accuracy[ours.reader].value.value == pytest.approx(3 / 6)  # 5, 5, 5.01; not -5
    assert (study.reader, study.accuracy["first_number"].value.value) == (
        "first_number",
        pytest.approx(3 / 6),
    )  # 5, -5, 5
    assert read_first_number("1,000.50").value == 1000.5
    assert read_first_number("-3.5e4").value == 3.5


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.85", 0.85), ("Probability: 1.0", 1.0), (".95", None), ("85%", None), ("90%", 0.0), ("10%", 1.0), ("so", None)],
)
def test_stated_confidence_is_the_first_number_from_0_to_1(text: str, value: float | None) -> None:
    assert read_stated(text, parser="first").value == value


def test_rows_without_an_answer_are_in_no_metric_of_a_confidence() -> None:
    study = cell(STUDY)
    found = study.estimators["stated_decimal"]
    assert (found.rows, found.reasons) == (4, {"no answer": 1, "none": 1})
    confidence, right = np.array([0.9, 1.0, 1.0, 0.4]), np.array([True, True, True, False])
    assert found.metrics["ece_15_middle"].value == pytest.approx(ece_of_middles(confidence, right))
    frequency = study.estimators["frequency"]
    assert frequency.rows == 5
    assert frequency.metrics["ece_11_centred"].value == pytest.approx(
        ece_of_centred_bins([1, 1, 1, 1 / 3, 1 / 3], [True, True, True, False, False], 11)
    )
    assert "ece_11_centred" not in cell(PLAIN).estimators["frequency"].metrics
    report = report_asked_run(run(), STUDY)
    assert "numbers by the first digits" in report.disclosure.about["science2026"]


def test_labels_are_looked_for_among_twenty_tokens() -> None:
    questions = [made.choice("q0"), made.choice("q1")]
    ranks = {"q0": [[0, 19, 20, 21]], "q1": [[3, 1, 0, 2]]}
    replies = [
        made.reply(name, "A", label_scores=made.scores([0.4, 0.2, 0.2, 0.1], ranks=own), token_ids=(made.FORM,))
        for name, own in ranks.items()
    ]
    asked = made.asked(questions, replies)
    opened = {
        options.compat: report_asked_run(asked, options).cells[0].confidences["label"].confidence.tolist()
        for options in (PLAIN, STUDY)
    }
    assert opened[None] == pytest.approx([0.4 / 0.9, 0.4 / 0.9])
    assert opened["science2026"] == pytest.approx([0.4 / 0.6, 0.4 / 0.9])


def test_reports_count_the_tokens_of_replies_and_thoughts() -> None:
    questions = [made.choice(f"q{at}") for at in range(4)]
    thoughts = {
        "q0": {"reasoning": "Hm", "thought_tokens": 10, "token_ids": (1,) * 12},
        "q1": {"reasoning": f"Hm. {THOUGHT_ENDED}", "thought_tokens": 20, "token_ids": (1,) * 24, "finish": "length"},
        "q2": {"reasoning": "Hm", "reasoning_is_open": True, "thought_tokens": 30, "token_ids": (1,) * 30},
        "q3": {"reasoning": "Hm", "token_ids": (1,) * 9},  # a thought that was not counted
    }
    asked = made.asked(questions, [made.reply(name, "A", **more) for name, more in thoughts.items()])
    report = report_asked_run(asked, PLAIN)
    (found,) = report.sets["quiz"].cells["plain"].lengths
    assert (found.stage, found.replies, found.cut, found.open_thoughts) == ("answer", 4, 0.25, 0.25)
    assert found.ended_thoughts == 0.25
    assert found.tokens is not None
    assert found.thoughts is not None
    assert (found.tokens.n, found.tokens.mean, found.tokens.most) == (3, 2.0, 4.0)
    assert (found.thoughts.least, found.thoughts.median, found.thoughts.most) == (10.0, 20.0, 30.0)
    said = report.to_json()["sets"]["quiz"]["variants"]["plain"]["lengths"]["answer"]
    assert said["thoughts"] == {
        "n": 3,
        "mean": 20,
        "least": 10,
        "quartile_1": 15,
        "median": 20,
        "quartile_3": 25,
        "most": 30,
    }
    table = lengths_table(report.sets["quiz"])
    assert len(table.rows[0].cells) == len(table.columns) == 14
