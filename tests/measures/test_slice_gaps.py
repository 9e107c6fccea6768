"""Gaps of slices, what maps of their own mend, and what tables, figures and sentences say of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from printed_tables import printed

from calprobe.cells.cell import Cell
from calprobe.cells.table import table_cell
from calprobe.interop.score_tables import ScoredAnswers
from calprobe.measures.slice_gaps import SliceGaps, slice_gaps
from calprobe.metrics import GroupGaps, Resampling
from calprobe.show.kinds.gap_figure import gap_figures
from calprobe.show.tables.gap_table import gap_sentences, slice_gaps_table

QUICK = Resampling(100)
HALVES = {"first": np.arange(400) < 200, "second": np.arange(400) >= 200}


@pytest.fixture(scope="module")
def cell() -> Cell:
    """200 answers of which the model is too sure by 0.2, and 200 of which it is not sure enough by as much."""
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.3, 0.7, 400)
    correct = rng.random(400) < confidence - np.where(HALVES["first"], 0.2, -0.2)
    return table_cell(ScoredAnswers({"p": confidence, "u": -confidence}, correct.astype(np.int64)), "answers.csv")


@pytest.fixture(scope="module")
def found(cell: Cell) -> dict[str, SliceGaps]:
    return slice_gaps(cell, ["p", "u"], HALVES, QUICK)


def test_own_maps_mend_what_one_map_cannot(found: dict[str, SliceGaps]) -> None:
    assert list(found) == ["p"]  # an order has no gap
    maps = found["p"].maps
    assert maps is not None
    assert maps.mapped == 2
    assert maps.change.value == pytest.approx(maps.own_maps.value - maps.one_map.value)
    assert maps.change.high < 0
    # Two halves that are off by as much in opposite directions: a map for both cannot see it, and loses 0.2 squared.
    assert found["p"].grouping_loss == pytest.approx(0.04, abs=0.015)
    assert maps.one_map.value - maps.own_maps.value == pytest.approx(found["p"].grouping_loss, abs=0.015)


def test_slices_that_overlap_have_gaps_alone(cell: Cell) -> None:
    overlapping = slice_gaps(cell, ["p"], {**HALVES, "all": np.ones(400, np.bool_)}, QUICK)["p"]
    assert [group.name for group in overlapping.found.groups] == ["first", "second", "all"]
    assert overlapping.maps is None
    assert np.isnan(overlapping.grouping_loss)
    assert overlapping.to_json()["grouping_loss"] is None


def test_folds_keep_the_answers_to_a_question_together(cell: Cell) -> None:
    """All answers to a question alike: a map that saw one of them would know the others."""
    places = np.repeat(np.arange(400), 3)
    thrice = {name: mask[places] for name, mask in HALVES.items()}
    questions = np.char.add("q", places.astype(str))
    maps = slice_gaps(cell.at(places), ["p"], thrice, QUICK, questions)["p"].maps
    once = slice_gaps(cell, ["p"], HALVES, QUICK, np.char.add("q", np.arange(400).astype(str)))["p"].maps
    assert maps is not None
    assert once is not None
    assert maps.own_maps.value == pytest.approx(once.own_maps.value, abs=1e-6)


def test_the_table_says_what_follows(found: dict[str, SliceGaps]) -> None:
    table = slice_gaps_table({"": found}, "half", "Gaps", "gaps", "half")
    assert table is not None
    lines = " ".join(printed([table]).split())
    assert "p: 2 of 2 gaps can be told from 0; largest in" in lines
    assert "(held out): -." in lines
    assert "), own maps are better; grouping loss of the Brier score about ." in lines
    assert "above 0 the model is too sure" in lines
    assert [row.significant for row in table.rows] == [True, True]
    assert table.rows[0].keys == {"estimator": "p", "covariate": "half", "slice": "first"}


def test_a_direction_is_named_only_where_the_interval_leaves_out_0(found: dict[str, SliceGaps]) -> None:
    largest = found["p"].found.largest
    assert largest is not None
    assert next(gap_sentences("p", found["p"])).endswith(("), too sure.", "), not sure enough."))
    unsure = replace(
        largest, gap=replace(largest.gap, low=-0.3, high=0.3)
    )  # p steps down, and may be small all the same
    gaps = replace(found["p"], found=GroupGaps((unsure,), unsure.p_value), maps=None)
    assert next(iter(gap_sentences("p", gaps))).endswith("(-.300 to +.300).")


def test_what_cannot_be_told_is_said(cell: Cell) -> None:
    """Halves that were drawn by chance need no maps of their own."""
    drawn = np.random.default_rng(1).random(400) < 0.5
    gaps = slice_gaps(cell, ["p"], {"a": drawn, "b": ~drawn}, QUICK)["p"]
    assert gaps.maps is not None
    maps = replace(gaps.maps, change=replace(gaps.maps.change, value=0.001, low=-0.001, high=0.003))
    sentence = list(gap_sentences("p", replace(gaps, maps=maps, grouping_loss=-0.002)))[1]
    assert sentence.endswith(
        "(held out): +.0010 (-.0010 to +.0030), which cannot be told from 0; no grouping loss found."
    )


def test_few_answers_have_no_debiased_error(cell: Cell) -> None:
    of_sizes = {"few": np.arange(400) < 29, "enough": np.arange(400) >= 29}
    few, enough = slice_gaps(cell, ["p"], of_sizes, QUICK)["p"].found.groups
    assert np.isnan(few.debiased_ece)
    assert enough.debiased_ece > 0


def test_no_table_where_no_slice_has_an_interval(cell: Cell) -> None:
    few = slice_gaps(cell, ["p"], {"few": np.arange(400) < 20}, QUICK)
    assert slice_gaps_table({"": few}, "size", "Gaps", "gaps", "size") is None
    assert not gap_figures({"": few}, "size").panels


def test_the_figure_has_the_most_overconfident_on_top(found: dict[str, SliceGaps]) -> None:
    (panel,) = gap_figures({"plain": found}, "half").panels
    assert panel.title == "plain, p"
    assert [row.name for row in panel.rows] == ["first", "second"]  # type: ignore[attr-defined]
    assert panel.panel.y.names == ("first (200)", "second (200)")  # type: ignore[union-attr]
