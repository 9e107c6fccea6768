"""Coverage, and the numbers over the instances that an estimator answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from compared_runs import SHAPES, run_of

from calprobe.analysis import CompareOptions, Report, ReportOptions, compare, report
from calprobe.metrics import Estimate, Resampling, auroc, bootstrap_mean, standard_metrics
from calprobe.runs import PieceScores
from calprobe.show.tables import best_cells, tidy_csv
from calprobe.show.tables.comparison import comparison_tables, pair_tables
from calprobe.studies.scored.notes import calibration_sentences
from calprobe.studies.scored.report_tables import report_tables

QUICK = ReportOptions(resampling=Resampling(6))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("runs")
    return report([run_of(folder / "a"), run_of(folder / "b", 1)], QUICK)


def test_answered_numbers_are_those_of_the_other_instances(found: Report) -> None:
    run, scored = found.runs[0], found.scored[0]
    some_failed = [estimator for estimator in run.estimators if estimator.failed]
    assert some_failed
    for estimator in some_failed:
        confidence = scored.confidence(estimator.name)
        kept = ~confidence.failed
        own, right = confidence.confidence[kept], confidence.correct[kept]
        assert estimator.coverage == bootstrap_mean(kept, QUICK.resampling)
        assert estimator.coverage.value == (30 - estimator.failed) / 30
        assert estimator.answered["accuracy"].value == right.mean()
        assert estimator.answered["mean_confidence"].value == pytest.approx(own.mean())
        assert estimator.answered["brier"].value == pytest.approx(((own - right) ** 2).mean())
        np.testing.assert_equal(estimator.answered["auroc"].value, auroc(own, right).value)
        names = [metric.name for metric in standard_metrics() if metric.name in estimator.metrics]
        assert [*estimator.answered] == names


def test_who_answers_everything_has_full_coverage_and_no_second_row(found: Report) -> None:
    base = found.runs[0].estimators[0]
    assert (base.failed, base.coverage, base.answered) == (0, Estimate(1.0), {})


def test_the_json_has_coverage_and_answered_beside_the_estimators(found: Report) -> None:
    run = found.runs[0]
    own = json.loads(json.dumps(found.to_json()))[run.label]
    assert own["coverage"]["base"] == {"value": 1.0, "ci95": None}
    assert set(own["coverage"]) == set(own["estimators"])
    assert set(own["answered"]) == {estimator.name for estimator in run.estimators if estimator.failed}
    vote = next(estimator for estimator in run.estimators if estimator.failed)
    assert own["answered"][vote.name]["ace"]["value"] == vote.answered["ace"].value


def test_a_row_of_less_coverage_is_never_the_best(found: Report) -> None:
    table = report_tables(found)[1]
    assert [column.title for column in table.columns][:3] == ["accuracy", "coverage", "mean conf"]
    failing = {estimator.name for estimator in found.runs[0].estimators if estimator.failed}
    marked = {table.rows[row].label for row, _ in best_cells(table)}
    assert marked
    assert not marked & failing
    for row, below in zip(table.rows, table.rows[1:], strict=False):
        if row.label in failing:
            assert row.cells[1] == next(e.coverage for e in found.runs[0].estimators if e.name == row.label)
            assert (below.label.split()[0], below.label.split()[-1], below.of) == ("of", "answered", row.label)
            assert below.cells[1] is None


def test_the_summary_compares_equal_coverage_only(found: Report) -> None:
    summary = report_tables(found)[0]
    coverage = [place for place, column in enumerate(summary.columns) if column.heading == "coverage"]
    assert [summary.columns[place].title for place in coverage] == ["average_vote_2", "consistency_vote_2"]
    of_votes = {place for place, column in enumerate(summary.columns) if column.title.endswith("vote_2")}
    first, second = (run.estimators[2].coverage.value for run in found.runs)
    assert first != second
    assert not {column for _, column in best_cells(summary)} & of_votes


def test_no_line_of_a_tidy_file_is_there_twice(found: Report) -> None:
    lines = [line.split(",")[:4] for line in tidy_csv(report_tables(found)).splitlines()]
    assert len({tuple(line) for line in lines}) == len(lines)
    assert any(line[2:] == ["average_vote_2:answered", "ace"] for line in lines)
    assert any(line[2:] == ["average_vote_2", "coverage"] for line in lines)


def test_without_failures_there_is_no_coverage(tmp_path: Path) -> None:
    one = report(run_of(tmp_path / "one", numbers=(0,)), QUICK)
    (table,) = report_tables(one)
    assert "coverage" not in [column.title for column in table.columns]
    assert "coverage" not in tidy_csv([table])


def without_scores(folder: Path, relations: set[str]) -> str:
    """A run in which these relations have no scores."""

    def edit(piece: PieceScores) -> PieceScores:
        return replace(piece, sum=np.full(len(piece.sum), np.nan)) if piece.relation in relations else piece

    return run_of(folder, edit=edit)


def test_a_verdict_is_of_the_answered_instances_and_says_how_many_they_are(tmp_path: Path) -> None:
    (run,) = report(without_scores(tmp_path / "some", {"P30"}), QUICK).runs
    (said,) = calibration_sentences(run)
    base = next(estimator for estimator in run.estimators if estimator.name == "base")
    assert "Of 18 of 30 answers, confidence - accuracy " in said
    assert f"{base.answered['confidence_gap'].value:+.2f}".replace("0.", ".") in said
    (run,) = report(without_scores(tmp_path / "none", {name for name, *_ in SHAPES}), QUICK).runs
    assert calibration_sentences(run) == ("base: none of 30 answers has one.",)


def test_a_comparison_marks_neither_side_where_one_answers_less(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / "all", 1), without_scores(tmp_path / "some", {"P30"})]
    options = CompareOptions(scores=QUICK, estimators=("base",), metrics=("accuracy", "brier", "auroc"))
    comparison = compare(runs, options)
    contrasts = {c.metric: c for c in comparison.pairs[0].everything.contrasts if c.estimator}
    assert {metric: c.failed for metric, c in contrasts.items()} == {
        "accuracy": (0, 0),
        "brier": (0, 12),
        "auroc": (0, 12),
    }
    table = comparison_tables(comparison)[0]
    marked = {table.columns[column].title for _, column in best_cells(table)}
    assert not marked & {"Brier", "AUROC"}
    rows = {row.label: row.ranked for row in pair_tables(comparison)[0].rows if row.group.startswith("all")}
    assert [label for label, ranked in rows.items() if not ranked] == ["base Brier", "base AUROC"]
