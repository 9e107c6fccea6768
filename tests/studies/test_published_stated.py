"""The published tables of stated confidence: what follows from them, and one's own numbers beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from stated_samples import CALIBRATED, Scripted, calibrated, constant, scripted_run

from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.metrics.consistency import largest_deviation
from calprobe.runs.replies import Reply
from calprobe.show.tables import markdown
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.published.beside import published
from calprobe.studies.published.beside_stated import STATED2025, beside_stated
from calprobe.studies.published.published_tables import published_tables
from calprobe.studies.stated.layouts import reliability_table, stated_run_tables
from calprobe.studies.stated.model_layouts import models_tables
from calprobe.studies.stated.results import StatedStudy

TABLES = {key: table.values() for key, table in published(STATED2025).items()}
MODELS = [name for name in TABLES["msd"] if name != "Avg."]


def rows(key: str) -> np.ndarray:
    """The 13 models' values of a table, [models, columns]."""
    return np.array([TABLES[key][name] for name in MODELS])


@pytest.mark.parametrize("key", list(TABLES))
def test_printed_averages_are_those_of_the_rows(key: str) -> None:
    values, mean = rows(key), TABLES[key]["Avg."]
    assert values.shape == (13, 5 if key == "msd" else 11)
    assert values.mean(axis=0)[: len(mean)] == pytest.approx(mean, abs=0.00101)
    if key != "msd":
        assert values[:, :10].mean(axis=1) == pytest.approx(values[:, 10], abs=0.00101)


def test_no_deviation_is_above_its_maximum_and_one_is_nearly_there() -> None:
    largest = [largest_deviation(k) for k in (3, 3, 2, 3, 10)]
    shares = rows("msd") / largest
    assert shares.max() < 1
    assert shares[MODELS.index("OLMo-32B-INS"), 3] == pytest.approx(0.977, abs=0.001)


def test_seventeen_aurocs_are_below_one_half_and_fourteen_of_them_are_reversed() -> None:
    below = rows("auroc")[:, :10] < 0.5
    assert (below.sum(), below[:, 7:].sum()) == (17, 14)


def test_two_cells_are_of_a_constant_model() -> None:
    at = MODELS.index("OLMo-32B-INS")
    for column, value in ((1, 0.624), (8, 0.374)):
        assert rows("brier")[at, column] == rows("ece")[at, column] == value
        assert rows("auroc")[at, column] == 0.5
    # Always saying the accuracy would have been better than all ten prompts.
    assert rows("brier")[at, :10].min() > 0.376 * 0.624


def two_runs(compat: bool = False) -> AskedReport:
    options = ReportOptions(compat="stated2025" if compat else None, resampling=Resampling(5))
    runs = [
        scripted_run({"facts": Scripted(CALIBRATED, rule)}, label)
        for rule, label in ((calibrated, "a"), (constant, "b"))
    ]
    return report_asked(runs, options)


def study(compat: bool = False) -> StatedStudy:
    found = two_runs(compat).stated
    assert found is not None
    return found


def test_own_rows_stand_below_the_published_ones() -> None:
    found = {own.key: own for own in beside_stated(study())}
    assert [len(own.rows) for own in found.values()] == [16, 16, 16, 16, 14, 16]
    row = found["msd"].rows[-1]
    assert (row.of, row.label, [own.value for own in row.values]) == ("b", "facts", [0.0] * 5)  # type: ignore[union-attr]
    brier = found["brier"].rows[-1].values
    assert [own.value for own in brier] == pytest.approx([0.41] * 11)  # type: ignore[union-attr]


def test_smooth_ece_stands_beside_theirs_under_compat_alone() -> None:
    plain = {own.key: own for own in beside_stated(study())}
    assert {row.of for row in plain["smooth_ece"].rows} == {"published"}
    assert "relplot 1.0" in plain["smooth_ece"].notes[0]
    assert plain["ece"].caption == "ECE"
    paper = {own.key: own for own in beside_stated(study(compat=True))}
    assert paper["smooth_ece"].caption == "Smooth ECE (smooth_ece_relplot10)"
    assert paper["ece"].caption == "ECE (ece_lower_edges)"
    assert {row.of for row in paper["smooth_ece"].rows} == {"published", "a", "b"}


def test_means_over_other_prompts_stand_beside_no_published_one() -> None:
    def unread(own: Reply) -> Reply:
        return replace(own, text="no idea") if "letter" in own.stage else own

    options = ReportOptions(resampling=Resampling(0))
    plan = {"facts": Scripted(CALIBRATED, calibrated)}
    runs = [scripted_run(plan, "a"), scripted_run(plan, "b", change=unread)]
    found = report_asked(runs, options).stated
    assert found is not None
    averages = {row.of: row.values[-1] for own in beside_stated(found) if own.key == "auroc" for row in own.rows}
    assert (averages["a"] is None, averages["b"]) == (False, None)
    _, fidelity, brier, *_ = models_tables(found)
    assert [row.label for row in brier.rows][-1] == "reversed_10"
    assert fidelity.notes == brier.notes == ("No mean over prompts where a run lacks one that another has.",)
    (row,) = [own for own in reliability_table(found.runs[1], found.metrics).rows if own.note]
    assert (row.label, row.note) == ("mean over prompts", "9 of 10")


def test_tables_have_a_row_a_prompt_and_a_column_a_run() -> None:
    found = study()
    msd, fidelity, *_ = models_tables(found)
    assert [column.title for column in msd.columns] == ["a", "b"]
    assert [row.label for row in msd.rows] == ["scale", "lexical", "linguistic", "reversed", "All"]
    assert [row.label for row in fidelity.rows][-2:] == ["reversed_10", "mean over prompts"]
    assert [cell.value for cell in fidelity.rows[-1].cells] == [1.0, 0.0]  # type: ignore[union-attr]
    kinds = [table.kind for table in stated_run_tables(found.runs[1], found.metrics)]
    assert kinds == [
        *("consistency", "correlation", "correlation", "fidelity", "conditions", "reliability"),
        *("differences", "reversed"),
    ]
    said = markdown([*stated_run_tables(found.runs[1], found.metrics), *published_tables("stated2025", two_runs())])
    assert "always the same confidence" in said
    assert "OLMo-13B-SFT" in said
