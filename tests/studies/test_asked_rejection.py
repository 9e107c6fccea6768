"""Accuracy-rejection curves of asked runs: hand-computed points, uncertainties, bands by question."""

from __future__ import annotations

from dataclasses import replace

import asked_replies as made
import numpy as np
import pytest
from sources import ROOT

from calprobe.cells.asked import Asked
from calprobe.cells.opening import asked_runs, open_runs
from calprobe.curves import plot
from calprobe.curves.accuracy_rejection import RejectionLine
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling, accuracy_bands
from calprobe.metrics.rejection import AtCoverage
from calprobe.metrics.sample import sort_instances
from calprobe.studies.asked.asked_curves import asked_rejection
from calprobe.studies.asked.figures import pictures
from calprobe.studies.asked.report_asked import report_asked_run

STATED = "stated_decimal"
QUICK = ReportOptions(resampling=Resampling(0))


def stated(said: dict[str, list[str]], letters: str) -> Asked:
    """One answer a question under each variant; A is right."""
    return made.asked(*made.answered({name: list(letters) for name in said}, [0] * len(letters), said))


def line_of(run: Asked, name: str = STATED, resamples: int = 0) -> RejectionLine:
    (line,) = asked_rejection([run], ReportOptions(resampling=Resampling(resamples)), [name]).lines
    return line


def test_stated_confidences_are_rejected_from_the_least_sure_and_ties_go_together() -> None:
    line = line_of(stated({"plain": ["0.9", "0.5", "0.5", "0.1"]}, "AABB"))
    assert line.by_rank.threshold.tolist() == [0.1, 0.5, 0.9]
    assert line.by_rank.rejected.tolist() == [0.0, 0.25, 0.75]
    np.testing.assert_allclose(line.by_rank.accuracy, [1 / 2, 2 / 3, 1])
    assert line.band.y[50] == pytest.approx((1 + 0.5) / 2)  # of the two tied ones, half of the place left


def test_a_report_draws_the_curves_of_its_own_confidences() -> None:
    run = stated({"plain": ["0.9", "0.5", "0.5", "0.1"]}, "AABB")
    drawn = pictures(report_asked_run(run, QUICK), QUICK)
    assert [line.estimator for line in drawn.rejection.lines] == [line.estimator for line in drawn.calibration.lines]
    drawn_line = next(line for line in drawn.rejection.lines if line.estimator == STATED)
    np.testing.assert_array_equal(drawn_line.by_rank.accuracy, line_of(run).by_rank.accuracy)
    assert [kind for kind, _ in drawn.drawn()][:2] == ["reliability", "accuracy-rejection"]


def test_a_report_draws_the_confidences_that_it_was_asked_for() -> None:
    run = report_asked_run(stated({"plain": ["0.9", "0.5", "0.5", "0.1"]}, "AABB"), QUICK)
    usual = pictures(run, QUICK)
    for line in usual.calibration.lines:
        alone = pictures(run, QUICK, [line.estimator])
        assert {own.estimator for own in (*alone.calibration.lines, *alone.rejection.lines)} == {line.estimator}


def test_the_order_of_replies_changes_nothing() -> None:
    run = stated({"plain": ["0.9", "0.5", "0.7", "0.1"], "other": ["0.2", "0.6", "0.6", "0.3"]}, "ABAB")
    backwards = replace(run, replies=run.replies[::-1])
    np.testing.assert_array_equal(line_of(run).band.y, line_of(backwards).band.y)
    assert line_of(run).by_rank.kept.max() == 8  # pooled over both variants


def test_bands_draw_complete_questions_where_variants_repeat_them() -> None:
    said = [f"0.{place % 9 + 1}" for place in range(12)]
    once = line_of(stated({"plain": said}, "AAB" * 4), resamples=200)
    twice = line_of(stated({"plain": said, "other": said}, "AAB" * 4), resamples=200)
    assert twice.by_rank.kept.max() == 24
    # The same answers again say nothing new: the band at nothing rejected is no narrower.
    assert (twice.band.low[0], twice.band.high[0]) == pytest.approx((once.band.low[0], once.band.high[0]), abs=0.05)
    correct = [letter == "A" for letter in "AAB" * 4] * 2
    instances = sort_instances([float(text) for text in said * 2], correct)
    alone = accuracy_bands({"": AtCoverage(instances, np.ones(1))}, 24, Resampling(200))[""]
    assert alone.high[0] - alone.low[0] < twice.band.high[0] - twice.band.low[0]


def test_an_uncertainty_is_rejected_from_the_largest_on_and_has_no_thresholds() -> None:
    (run,) = asked_runs(open_runs([str(ROOT / "tests" / "golden" / "runs" / "answers")]))
    name = "answer_entropy"
    line = line_of(run, name, 20)
    (cell,) = (cell for cell in report_asked_run(run, QUICK).cells if name in cell.confidences)
    entropy, correct = cell.confidences[name].confidence, cell.confidences[name].correct
    values = np.unique(entropy)[::-1]
    expected = [correct[entropy <= value].mean() for value in values]
    np.testing.assert_allclose(line.by_rank.accuracy, expected)
    assert len(line.by_threshold.curve.kept) == len(line.by_threshold.low) == 0
    assert np.isnan(line.band.low).all()  # fewer than ten questions have no band


def test_figures_of_uncertainties_alone_have_no_panel_of_thresholds() -> None:
    runs = asked_runs(open_runs([str(ROOT / "tests" / "golden" / "runs" / "wording")]))
    curves = asked_rejection(runs, ReportOptions(resampling=Resampling(20)), ["answer_entropy", "frequency"])
    assert np.isfinite(curves.lines[0].band.low).all()
    assert len(plot(curves).axes) == 2  # by threshold, by rank
    (panel,) = plot(curves.only(["answer_entropy"])).axes
    assert panel.get_title(loc="left").startswith("answer_entropy")


def test_what_no_run_has_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="no estimator p_true"):
        line_of(stated({"plain": ["0.9"] * 4}, "AABB"), "p_true")
