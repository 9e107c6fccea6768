"""Which metrics judge an estimator, and what reports, slices, comparisons and curves do with the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from compared_runs import run_of

from calprobe.analysis import (
    CompareOptions,
    CurveOptions,
    ReportOptions,
    SliceOptions,
    accuracy_ace,
    calibration,
    compare,
    report,
)
from calprobe.confidence import available_estimators
from calprobe.errors import UsageError
from calprobe.measures.meaningful import is_meaningful
from calprobe.metrics import Resampling, calibration_tests, scoring_rules, standard_metrics
from calprobe.runs import open_run

QUICK = ReportOptions(ace_bins=4, resampling=Resampling(6))
ESTIMATORS = ("base", "chance", "consistency_vote_2", "margin")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runs")
    return [run_of(folder / name, seed=seed) for seed, name in enumerate("ab")]


def expected(run: str) -> dict[str, set[str]]:
    estimators = {own.name: own for own in available_estimators(open_run(run).manifest.templates)}
    return {
        name: {metric.name for metric in standard_metrics(4) if is_meaningful(metric, estimators[name])}
        for name in ESTIMATORS
    }


def test_orders_alone_judge_what_is_no_probability(runs: list[str]) -> None:
    names = expected(runs[0])
    assert {"accuracy", "auroc", "aurc"} <= names["chance"]
    assert not {"brier", "ace", "nll", "ece"} & names["chance"]
    assert "nll" not in names["consistency_vote_2"]
    assert {"brier", "nll"} <= names["margin"]


def test_a_report_a_comparison_and_slices_agree_on_it(runs: list[str]) -> None:
    names = expected(runs[0])
    (own,) = report(runs[0], QUICK).runs
    of_one_label = {metric.name for metric in standard_metrics(4)}  # the others are of the distribution
    assert {e.name: set(e.metrics) & of_one_label for e in own.estimators if e.name in ESTIMATORS} == names

    metrics = ("accuracy", "brier", "nll", "auroc")
    options = CompareOptions(scores=QUICK, estimators=ESTIMATORS, metrics=metrics)
    (pair,) = compare(runs, options).pairs
    found = {(c.estimator, c.metric) for c in pair.everything.contrasts if c.estimator is not None}
    assert found == {(name, metric) for name in ESTIMATORS for metric in names[name] & set(metrics)}

    by = SliceOptions("domain", ESTIMATORS)
    (sliced,) = report(runs[0], ReportOptions(ace_bins=4, resampling=Resampling(6), slices=by)).runs
    assert sliced.slices is not None
    for slice_ in sliced.slices.slices:
        defined = {
            name: {metric for metric, found in own.items() if not math.isnan(found.value)}
            for name, own in slice_.estimators.items()
        }
        assert not {"brier", "ace", "smooth_ece"} & defined["chance"]
        assert {"brier", "ace", "smooth_ece"} <= defined["margin"]


def test_no_number_of_shares_of_votes_depends_on_how_a_1_is_clipped(
    runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def numbers() -> dict[str, dict[str, float]]:
        (run,) = report(runs[0], ReportOptions(ace_bins=4, resampling=Resampling(0), recalibrate="platt")).runs
        assert run.recalibrated is not None
        return {
            own.name: {name: found.value for name, found in own.metrics.items()}
            | {f"{name} by platt": found.value for name, found in run.recalibrated.estimators[own.name].items()}
            for own in run.estimators
            if own.name.startswith(("consistency_", "fixed_agreement"))
        }

    strict = numbers()
    for module in (scoring_rules, calibration_tests):
        monkeypatch.setattr(module, "LEAST_PROBABILITY", 0.05)
    assert strict
    for name, found in numbers().items():
        assert found == pytest.approx(strict[name], nan_ok=True)


@pytest.mark.parametrize(
    ("estimator", "metric"),
    [("chance", "brier"), ("consistency_vote_2", "nll"), ("fixed_agreement", "nll_mcb")],
)
def test_what_was_asked_for_and_has_no_meaning_is_refused(runs: list[str], estimator: str, metric: str) -> None:
    options = CompareOptions(scores=QUICK, estimators=("base", estimator), metrics=(metric,))
    with pytest.raises(UsageError, match=f"{estimator}: {metric} ha"):
        compare(runs, options)


@pytest.mark.parametrize("draw", [calibration, accuracy_ace])
def test_curves_of_probabilities_refuse_another_scale(runs: list[str], draw: Callable[..., object]) -> None:
    with pytest.raises(UsageError, match="chance"):
        draw(runs[0], CurveOptions(estimators=("chance",), scores=QUICK))


def test_an_estimator_of_the_fixed_answer_is_paired_with_base_within_a_run(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    options = CompareOptions(scores=QUICK, pairs=(("chance", "base"),), metrics=("accuracy", "brier"))
    found = compare(run, options).within
    assert found is not None
    (pair,) = found.estimators
    assert {c.metric for c in pair.contrasts} == {"accuracy"}
