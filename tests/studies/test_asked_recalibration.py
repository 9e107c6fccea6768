"""Confidences of asked runs, recalibrated by maps that were fitted on other questions."""

from __future__ import annotations

import asked_replies as made
import numpy as np
import pytest

from calprobe.cells.asked import Asked
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling, ace, recalibrated
from calprobe.studies.asked.asked_choice import choose_asked
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.report_asked import report_asked

STATED = "stated_decimal"
OPTIONS = ReportOptions(resampling=Resampling(20), recalibrate="isotonic")


@pytest.fixture
def run() -> Asked:
    """Answers to forty questions under two variants; one statement cannot be read."""
    generator = np.random.default_rng(3)
    letters = generator.choice(list("AAB"), 40).tolist()
    said = [f"0.{digit}" for digit in generator.integers(1, 10, 40)]
    return made.asked(
        *made.answered({"plain": letters, "other": letters}, [0] * 40, {"plain": ["?", *said[1:]], "other": said})
    )


def test_numbers_are_of_maps_that_have_seen_no_reply_to_the_question(run: Asked) -> None:
    (report,) = report_asked([run], OPTIONS).runs
    for cell in report.cells:
        confidence = cell.confidences[STATED]
        read = confidence.read
        mapped = recalibrated(confidence.confidence[read], confidence.correct[read], cell.units.group[read], "isotonic")
        found = report.sets[cell.table.set].cells[cell.table.variant].recalibrated
        assert found is not None
        assert found.estimators[STATED]["ace"].value == pytest.approx(float(ace(mapped, confidence.correct[read])))
        assert found.to_json()["maps"][STATED]["all"]["form"] == "isotonic"


def test_the_table_has_each_variant_before_and_after(run: Asked) -> None:
    report = report_asked([run], OPTIONS)
    (table,) = (table for table in asked_tables(report) if table.kind == "recalibrated")
    assert {row.keys["variant"] for row in table.rows} == {"plain", "other"}
    assert [column.title for column in table.columns[:2]] == ["before", "isotonic"]
    (one,) = choose_asked(report, [STATED], ["ace"]).runs
    assert {name for cell in one.reports() if cell.recalibrated for name in cell.recalibrated.estimators} == {STATED}


def test_nothing_is_recalibrated_unless_it_is_asked_for(run: Asked) -> None:
    report = report_asked([run], ReportOptions(resampling=Resampling(0)))
    assert all("recalibrated" not in cell.to_json() for of_run in report.runs for cell in of_run.reports())
