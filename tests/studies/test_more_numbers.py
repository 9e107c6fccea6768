"""Three intervals of headline numbers, and recalibrated confidences, in a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from compared_runs import run_of
from printed_tables import printed

from calprobe.analysis import Report, ReportOptions, report
from calprobe.errors import UsageError
from calprobe.measures.number_text import interval
from calprobe.metrics import Resampling, Within, bootstrap, recalibrated, standard_metrics
from calprobe.metrics.intervals import FEW
from calprobe.runs import PieceScores
from calprobe.studies.scored.choice import choose
from calprobe.studies.scored.glance import tables_at_a_glance
from calprobe.studies.scored.report_tables import report_sections, report_tables

QUICK = ReportOptions(resampling=Resampling(8))
SHAPES = [(f"P{number}", 4, 3) for number in range(100, 130)]
ACE = [metric for metric in standard_metrics() if metric.name == "ace"]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of thirty relations."""
    return run_of(tmp_path_factory.mktemp("runs") / "many", shapes=SHAPES)


@pytest.fixture(scope="module")
def of_many(many: str) -> Report:
    return report(many, QUICK)


@pytest.mark.proof
def test_thirty_relations_have_all_three_intervals(of_many: Report) -> None:
    (run,), (scored,) = of_many.runs, of_many.scored
    assert run.intervals is not None
    assert list(run.intervals) == ["instances", "relation", "within-relation"]
    base, relation = scored.confidence("base"), scored.instances.group
    for kind, labels in (("instances", None), ("relation", relation), ("within-relation", Within(relation))):
        expected = bootstrap(ACE, base.confidence, base.correct, QUICK.resampling, labels)["ace"]
        assert run.intervals[kind].estimators["base"]["ace"] == expected
    assert run.to_json()["intervals"]["relation"]["bear_score"] == [
        run.intervals["relation"].bear_score.low,
        run.intervals["relation"].bear_score.high,
    ]
    text = printed(report_sections(of_many), 100)
    assert "95 % interval for" in text
    assert "other relations" in text


def test_the_first_lines_have_the_intervals_over_relations_beside_those_over_facts(of_many: Report) -> None:
    def sentences(found: Report) -> list[str]:
        first, *_ = tables_at_a_glance(found, report_tables(found))
        return [line for line in first.heading if "Of other relations" in line]

    (run,) = of_many.runs
    assert run.intervals is not None
    (line,) = sentences(of_many)
    assert f"accuracy {interval(run.intervals['relation'].estimators['base']['accuracy'])}," in line
    by_relation = replace(of_many, options=replace(of_many.options, cluster="relation"))
    assert sentences(by_relation) == sentences(replace(of_many, runs=(replace(run, intervals=None),))) == []


def test_a_first_look_says_where_an_order_rests_on_few_answers(tmp_path: Path, of_many: Report) -> None:
    for found in (of_many, report(run_of(tmp_path / "few", numbers=(0,)), QUICK)):
        first, *tables = tables_at_a_glance(found, report_tables(found))
        metrics = found.runs[0].estimators[0].metrics
        right = round(metrics["accuracy"].value * found.runs[0].instances)
        few = right < FEW
        assert few == (found is not of_many)
        base = next(line for line in first.heading if line.startswith("base:"))
        assert ("AUROC" in base, f"(only {right} right)" in base) == (True, few)
        row = next(row for table in tables for row in table.rows if row.keys.get("estimator") == "base")
        assert (f"AUROC of {right} right" in row.note) == few
        assert np.isnan(metrics["auroc"].low) == few


def test_intervals_are_of_the_estimators_asked_for(of_many: Report) -> None:
    (run,) = choose(of_many, ["base"], None).runs
    assert run.intervals is not None
    assert {name for own in run.to_json()["intervals"].values() for name in own["estimators"]} == {"base"}


def test_fewer_relations_or_no_resamples_have_none(tmp_path: Path, many: str) -> None:
    (few,) = report(run_of(tmp_path / "few"), QUICK).runs
    assert few.intervals is None
    (none,) = report(many, ReportOptions(resampling=Resampling(0))).runs
    assert none.to_json()["intervals"] is None


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_recalibrated_numbers_are_those_of_confidences_fitted_on_other_relations(many: str, method: str) -> None:
    found = report(many, replace(QUICK, recalibrate=method))  # type: ignore[arg-type]
    (run,), (scored,) = found.runs, found.scored
    assert run.recalibrated is not None
    base = scored.confidence("base")
    mapped = recalibrated(base.confidence, base.correct, scored.instances.group, method)  # type: ignore[arg-type]
    expected = bootstrap(ACE, mapped, base.correct, QUICK.resampling)["ace"]
    assert run.recalibrated.estimators["base"]["ace"] == expected
    assert run.to_json()["recalibrated"]["method"] == method
    vote = scored.confidence("average_vote_2")
    if vote.failed.any():
        values = run.recalibrated.estimators["average_vote_2"]["mean_confidence"].value
        assert values < np.mean(~vote.failed)
    assert f"{method}" in printed(report_sections(found), 120)


@pytest.mark.parametrize("method", ["isotonic", "platt", "beta", "temperature"])
def test_shares_of_votes_have_isotonic_maps_alone(many: str, method: str) -> None:
    found = report(many, replace(QUICK, recalibrate=method))  # type: ignore[arg-type]
    (run,) = found.runs
    assert run.recalibrated is not None
    assert list(run.recalibrated.estimators) == [e.name for e in run.estimators if e.name != "chance"]
    of_votes = {name for name in run.recalibrated.estimators if name.startswith(("consistency_", "fixed_agreement"))}
    undefined = {name for name, of in run.recalibrated.estimators.items() if np.isnan(of["ace"].value)}
    assert undefined == set(run.recalibrated.without) == (set() if method == "isotonic" else of_votes)
    assert set(run.recalibrated.maps) == set(run.recalibrated.estimators) - undefined
    for estimators in (["base"], ["fixed_agreement"]):
        text = printed(report_sections(choose(found, estimators, None)), 120)
        assert ("share of a few votes is often exactly 1" in text) == bool(undefined & {*estimators})


def test_one_relation_cannot_be_recalibrated(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"fits on other relations: .* has 1, it needs two"):
        report(run_of(tmp_path / "one", shapes=SHAPES[:1]), replace(QUICK, recalibrate="isotonic"))


def test_an_estimator_that_answers_in_one_relation_is_left_out(tmp_path: Path) -> None:
    def failed(piece: PieceScores) -> PieceScores:
        if (piece.relation, piece.template) != (SHAPES[0][0], 1):
            return piece
        return replace(piece, mean=np.full(piece.n_statements, np.nan))

    path = run_of(tmp_path / "two", shapes=SHAPES[:2], edit=failed)
    (run,) = report(path, replace(QUICK, reduction="mean", recalibrate="isotonic")).runs
    assert run.recalibrated is not None
    assert "base" in run.recalibrated.estimators
    assert "average_min" not in run.recalibrated.estimators
