"""Curves, comparisons and masses of whatever estimators and variants a run has; requests that come to nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from science_samples import CLAIMS, concluded, with_labels
from stated_samples import CALIBRATED, Scripted, calibrated, scripted_run

from calprobe.cells.asked import Asked
from calprobe.errors import UsageError
from calprobe.measures.options import CompareOptions, ReportOptions
from calprobe.metrics import Resampling, standard_metrics
from calprobe.runs.replies import LabelScores, Reply
from calprobe.studies.asked.asked_curves import asked_calibration
from calprobe.studies.asked.compare_asked import compare_asked
from calprobe.studies.asked.confidence_layouts import confidence_table
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.published.beside_science import beside_science
from calprobe.studies.stated.layouts import reliability_table

OPTIONS = ReportOptions(resampling=Resampling(0))


def sampled(samples: int = 4) -> Asked:
    """Verdicts on claims: Yes to the right option in all samples but the first."""
    return concluded(lambda claim, sample: "Yes" if claim.gold == "Yes" and sample else "No", CLAIMS, samples=samples)


def labelled(orders: int = 1) -> Asked:
    """Label probabilities under two designs: 0.4 on labels, most of it on the right option in whatever order."""
    return with_labels(lambda asked, _: [0.28 if place == asked.answer else 0.04 for place in range(4)], orders=orders)


def test_every_estimator_with_a_scale_has_a_reliability_diagram() -> None:
    run = sampled()
    (line,) = asked_calibration([run], OPTIONS, ["frequency"]).lines
    (own,) = report_asked([run], OPTIONS).runs
    assert (line.estimator, line.instances) == ("frequency", 12 * 4 * 4)
    found = own.sets["sums"].cells["direct"].estimators["frequency"]
    assert line.ece.value.value == pytest.approx(found.metrics["ece"].value)
    with pytest.raises(UsageError, match="answer_entropy"):
        asked_calibration([run], OPTIONS, ["answer_entropy"])  # has no scale


def test_orders_of_options_are_compared_by_what_is_chosen() -> None:
    """The right option is chosen in each order, under another label."""
    scores = ReportOptions(resampling=Resampling(10))
    found = compare_asked([labelled(orders=2)], CompareOptions(scores=scores), variants=[("direct", "direct+1")])
    (pair,) = found.pairs[0].cells
    assert (pair.rows, pair.agreement["label_argmax"].same_prediction) == (12, 1.0)


def test_designs_of_ones_own_file_stand_under_the_papers_columns() -> None:
    run = labelled()
    assert run.prompts is not None
    named = {"direct": "design2", "steps": "short"}
    prompts = replace(
        run.prompts, variants=tuple(replace(own, name=named[own.name]) for own in run.prompts.variants), name="mine"
    )
    replies = tuple(replace(own, variant=named[own.variant], key=f"n{own.key}") for own in run.replies)
    tables = beside_science(report_asked([replace(run, replies=replies, prompts=prompts)], OPTIONS))
    row = tables[0].rows[-1]
    assert (row.label, row.values) == ("sums, prompts mine, unknown", (None, pytest.approx(0.4), None, None))
    renamed = replace(run, replies=replies, prompts=prompts)
    runs = [replace(renamed, label=f"run {at}", asked_as=kind) for at, kind in enumerate(("base", "instruct", "base"))]
    *_, row = beside_science(report_asked(runs, OPTIONS))[0].rows
    assert (row.of, row.label) == ("mean", "base, 2 runs and sets"), "one instruct model is no mean"
    assert row.values == (None, pytest.approx(0.4), None, None)
    others = replace(prompts, variants=tuple(replace(own, name=f"x{own.name}") for own in prompts.variants))
    replies = tuple(replace(own, variant=f"x{own.variant}") for own in replies)
    empty = beside_science(report_asked([replace(run, replies=replies, prompts=others)], OPTIONS))
    assert {row.of for table in empty[:2] for row in table.rows} == {"published"}


def test_the_mass_of_a_closed_set_is_shown() -> None:
    scores = LabelScores(("1", "9"), ((1,), (2,)), np.array([0]), np.log([[0.01, 0.03]]), np.array([-np.inf]))

    def change(own: Reply) -> Reply:
        return replace(own, label_scores=scores) if own.stage == "stated:probability_10" else own

    (run,) = report_asked([scripted_run({"facts": Scripted(CALIBRATED, calibrated)}, change=change)], OPTIONS).runs
    cell = run.sets["facts"].cells["direct"].estimators
    assert (cell["stated_probability_10.expected"].mass, cell["stated_probability_10"].mass) == (
        pytest.approx(0.04),
        None,
    )
    assert run.stated is not None
    ways = run.stated.to_json()["variants"]["direct"]
    reliability = ways["expected"]["sets"]["facts"]["reliability"]
    assert [reliability[name]["mass"] for name in ("probability_10", "mean")] == pytest.approx([0.04] * 2)
    assert "mass" not in ways["ok"]["sets"]["facts"]["reliability"]["probability_10"]
    metrics = standard_metrics()
    for table in (confidence_table(run.sets["facts"], metrics), reliability_table(run.stated, metrics)):
        place = [column.title for column in table.columns].index("mass")
        assert {0.04} == {round(row.cells[place], 6) for row in table.rows if row.cells[place] is not None}


def test_plans_and_maps_that_nothing_has_are_refused() -> None:
    with pytest.raises(UsageError, match="--budget 12: most questions have fewer answers"):
        report_asked([sampled()], replace(OPTIONS, budget=(12,)))
    with pytest.raises(UsageError, match="--calibrate isotonic: no uncertainty of several answers"):
        report_asked([sampled(1)], replace(OPTIONS, calibrate="isotonic"))
