"""Cells: units and what estimators say of them, whatever was scored, asked or read from a table."""

from __future__ import annotations

from pathlib import Path

import asked_replies as made
import numpy as np
import pytest
from compared_runs import run_of

from calprobe.analysis import ReportOptions
from calprobe.cells.asked import AskedCell, read_sets
from calprobe.cells.cell import Cell, Confidences, Units, sample_of, shared_places
from calprobe.cells.opening import open_scored_runs
from calprobe.cells.table import table_cell
from calprobe.confidence import NO_PREDICTION, Confidence, Estimator
from calprobe.confidence.types import NOT_ASKED, OK, REQUEST
from calprobe.interop.score_tables import ScoredAnswers

CORRECT = np.array([True, False, True, False])
SURE = np.array([0.9, 0.2, np.nan, np.nan])
WHY = np.array([OK, OK, "no answer", REQUEST])


def confidence(values: np.ndarray = SURE) -> Confidence:
    return Confidence(np.arange(4), values, CORRECT, why=WHY, probabilities=np.ones(8), more={"low": values - 0.1})


def estimator(name: str, scale: str = "probability") -> Estimator:
    return Estimator(name, "", "samples", lambda evidence: evidence, scale=scale)  # type: ignore[arg-type]


def cell_of(estimators: dict[str, Estimator]) -> Cell:
    ids, n_options = np.array([0, 1, 0, 1]), np.array([4, 2, 0, 4])
    units = Units(np.array(list("aabb")), ids, n_options, np.array(list("xyxy")))
    confidences = Confidences(estimators, lambda _: confidence())
    return Cell("run", "model", "set", "plain", units, estimators, confidences)


def asked_cell() -> AskedCell:
    questions = [made.choice("q0"), made.choice("q1", n_options=2)]
    replies = [made.reply("q0", "A"), made.reply("q0", "B", sample=1), made.reply("q1", "A")]
    (found,) = read_sets(made.asked(questions, replies), ReportOptions())
    return found.cells["plain"]


def test_rows_without_a_confidence_say_why() -> None:
    found = confidence()
    assert found.read.tolist() == [True, True, False, False]
    assert found.asked.tolist() == [True, True, True, False]
    assert found.reasons == {"no answer": 1}
    assert not found.failed.any()
    assert found.status is WHY


def test_what_has_no_prediction_failed_and_counts_as_incorrect_with_confidence_0() -> None:
    found = Confidence.of(np.array([0, NO_PREDICTION, 1]), np.array([0.5, 0.5, np.nan]), np.array([0, 1, 1]))
    assert found.failed.tolist() == [False, True, True]
    assert found.confidence.tolist() == [0.5, 0, 0]
    assert found.correct.tolist() == [True, False, False]
    assert found.status.tolist() == ["ok", "failed", "failed"]
    assert found.read.all()
    assert found.at([2, 0]).failed.tolist() == [True, False]
    assert found.at(np.array([True, False, True])).prediction.tolist() == [0, NO_PREDICTION]


def test_some_rows_keep_all_that_is_of_rows() -> None:
    found = confidence().at([1, 0])
    assert found.confidence.tolist() == [0.2, 0.9]
    assert found.more["low"] == pytest.approx([0.1, 0.8])
    assert found.probabilities is None  # of candidates
    assert confidence().at([]).status.tolist() == []
    kept = confidence().known_where(np.array([False, True, True, True]), np.full(4, NOT_ASKED))
    assert kept.status.tolist() == [NOT_ASKED, OK, "no answer", REQUEST]
    assert kept.read.tolist() == [False, True, False, False]


def test_larger_is_surer_whatever_the_scale() -> None:
    assert confidence().sureness("uncertainty")[:2].tolist() == [-0.9, -0.2]
    assert confidence().sureness("order")[:2].tolist() == [0.9, 0.2]
    values, correct = sample_of(confidence(), confidence().read, "uncertainty")
    assert values.tolist() == [0, 1]  # type: ignore[union-attr]
    assert correct.tolist() == [True, False]  # type: ignore[union-attr]


def test_confidences_are_computed_when_they_are_first_asked_for() -> None:
    computed: list[str] = []
    estimators = {name: estimator(name) for name in ("first", "second")}

    def compute(own: Estimator) -> Confidence:
        computed.append(own.name)
        return confidence()

    found = Confidences(estimators, compute)
    assert list(found) == ["first", "second"]
    assert "second" in found
    assert "third" not in found
    assert computed == []
    assert found["second"] is found["second"]
    assert computed == ["second"]
    with pytest.raises(KeyError, match="third"):
        found["third"]


def test_a_part_of_a_cell_has_the_confidences_of_the_whole() -> None:
    cell = cell_of({"first": estimator("first"), "second": estimator("second", "uncertainty")})
    part = cell.only(["second"]).at([3, 1])
    assert list(part.estimators) == list(part.confidences) == ["second"]
    assert part.confidences["second"].confidence[1] == 0.2
    assert part.units.places == {("b", 1): 0, ("a", 1): 1}
    assert part.units.clusters is not None
    assert part.units.clusters.tolist() == ["y", "y"]
    assert cell.units.chance.tolist() == [0.25, 0.5, 0, 0.25]
    assert cell.sample("second", np.array([True, True, False, False]))[0].tolist() == [0, 1]  # type: ignore[union-attr]


def test_answers_are_units_of_their_questions() -> None:
    cell = asked_cell().cell
    assert (cell.run, cell.set, cell.variant) == ("run", "quiz", "plain")
    assert cell.units.group.tolist() == ["q0", "q0", "q1"]
    assert list(cell.units.places) == [("q0", ("q0", 0, 0)), ("q0", ("q0", 0, 1)), ("q1", ("q1", 0, 0))]
    assert cell.units.n_options.tolist() == [4, 4, 2]
    assert cell.units.clusters is not None
    assert cell.units.clusters.tolist() == ["q0", "q0", "q1"]
    assert "frequency" in cell.estimators


def test_a_part_with_one_answer_a_question_has_no_clusters() -> None:
    part = asked_cell().at([1, 2])
    assert part.units.clusters is None
    assert list(part.units.places) == [("q0", ("q0", 0, 1)), ("q1", ("q1", 0, 0))]
    whole = asked_cell()
    assert part.confidences["frequency"].confidence.tolist() == whole.confidences["frequency"].confidence[1:].tolist()


def test_units_of_several_cells_are_paired() -> None:
    first = Units(np.array(list("aabb")), np.array([0, 1, 0, 1]), np.zeros(4, np.int64), None)
    second = first.at([3, 1, 0])
    assert shared_places([first, second]) == [[0, 1, 3], [2, 1, 0]]
    assert shared_places([]) == []


def test_instances_are_units_of_their_relations(tmp_path: Path) -> None:
    (run,) = open_scored_runs(run_of(tmp_path / "run"), ReportOptions())
    units = run.cell.units
    assert len(units) == 8 + 12 + 10
    assert units.places["P30", 3] == 8 + 3
    assert units.n_options.tolist() == run.widths.tolist()
    assert units.clusters is None


def test_rows_of_a_table_are_units() -> None:
    scores = {"entropy": np.array([2.5, 0.1, 0.7]), "sure": np.array([0.2, 0.9, 0.4])}
    cell = table_cell(ScoredAnswers(scores, np.array([0, 1, 1])), "mine.csv", lambda name: name == "entropy")
    assert cell.units.places == {("", 0): 0, ("", 1): 1, ("", 2): 2}
    assert cell.confidences["entropy"].confidence.tolist() == [0, 1, 0.5]
    assert cell.confidences["sure"].confidence.tolist() == [0.2, 0.9, 0.4]
    assert {name: own.scale for name, own in cell.estimators.items()} == {"entropy": "order", "sure": "probability"}
    assert not cell.confidences["sure"].failed.any()
