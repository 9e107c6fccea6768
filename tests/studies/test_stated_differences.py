"""Differences between stated prompts, and reports of some prompts and metrics alone."""

from __future__ import annotations

import numpy as np
import pytest
from stated_samples import CALIBRATED, Scripted, ignores_reversal, saying, scripted_run

from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling, holm, paired_differences, standard_metrics
from calprobe.studies.asked.asked_choice import choose_asked
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.stated.results import PromptDifference, StatedRun

DRAWS = Resampling(60)


@pytest.fixture(scope="module")
def report() -> AskedReport:
    asked = scripted_run(
        {"facts": Scripted(CALIBRATED, ignores_reversal)}, change=saying("no idea", "stated:reversed_1", ["q0", "q29"])
    )
    return report_asked([asked], ReportOptions(resampling=DRAWS))


def study_of(report: AskedReport) -> StatedRun:
    assert report.stated is not None
    return report.stated.runs[0]


def difference(run: StatedRun, first: str, second: str) -> PromptDifference:
    (scope,) = run.of("ok")
    (found,) = [own for own in scope.differences if (own.first, own.second) == (first, second)]
    return found


def test_differences_are_of_the_answers_that_both_prompts_have(report: AskedReport) -> None:
    found = difference(study_of(report), "probability_1", "reversed_1")
    values = np.array([own for own, _ in CALIBRATED[1:29]])
    right = np.array([own for _, own in CALIBRATED[1:29]])
    metrics = [own for own in standard_metrics() if own.name in ("brier", "ece", "auroc")]
    pair = ("a", "b")
    expected = paired_differences(metrics, {"a": (values, right), "b": (1 - values, right)}, [pair], DRAWS)[pair]
    assert found.answers == 28
    assert found.metrics.keys() == {"brier", "ece", "auroc"}
    for name, own in found.metrics.items():
        assert own.value == pytest.approx(expected[name].value)
        assert (own.low, own.high) == pytest.approx((expected[name].low, expected[name].high))
        assert own.p_value == expected[name].p_value
    same = difference(study_of(report), "probability_1", "letter")
    assert (same.answers, same.metrics["brier"].value, same.metrics["brier"].p_value) == (30, 0.0, 1.0)


def test_p_values_are_corrected_for_all_pairs_and_metrics(report: AskedReport) -> None:
    (scope,) = study_of(report).of("ok")
    assert len(scope.differences) == 45
    plain = [own.p_value for found in scope.differences for own in found.metrics.values()]
    corrected = [p for found in scope.differences for p in found.p_holm.values()]
    assert len(plain) == 135
    assert corrected == pytest.approx(holm(plain).tolist())


def test_estimators_and_metrics_choose_the_studys_numbers_too(report: AskedReport) -> None:
    few = choose_asked(report, ["stated_letter", "stated_probability_1"], ["ece_values", "auroc"])
    run = study_of(few)
    assert [own.name for own in run.prompts] == ["probability_1", "letter"]
    (scope,) = run.of("ok")
    assert {name: list(own.metrics) for name, own in scope.reliability.items()} == {
        name: ["ece_values", "auroc"] for name in ("probability_1", "letter")
    }
    assert set(scope.fidelity) == {"probability_1", "letter"}
    assert [list(own.metrics) for own in scope.differences] == [["auroc"]]
    assert not scope.deviations
    tables = {table.kind: table for table in asked_tables(few)}
    shown = [column.keys["metric"] for column in tables["reliability"].columns if column.printed]
    assert shown == ["n", "coverage", "ece_values", "auroc", "distinct_values", "mode", "mode_share"]
    assert "consistency" not in tables
    everything = choose_asked(report, None, ["brier"])
    (scope,) = study_of(everything).of("ok")
    assert "mean" in scope.reliability
    assert set(scope.deviations) == set(next(study_of(report).of("ok")).deviations)
    with pytest.raises(UsageError, match="no 'ece_valuse' in this report"):
        choose_asked(report, None, ["ece_valuse"])
