"""A report's numbers against those of the stages before it, its JSON, and what a partial run leaves out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from run_samples import SHAPES, write_run

import calprobe
from calprobe.analysis import EstimatorReport, Report, ReportOptions, report
from calprobe.confidence import Distributions, base_confidence, estimate
from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.metrics import (
    Estimate,
    Metric,
    Resampling,
    bootstrap,
    bootstrap_multiclass,
    multiclass_metrics,
    standard_metrics,
)
from calprobe.runs import open_run

COMPLETE = [metric.name for metric in multiclass_metrics()]
OVER_PARAPHRASES = ("average", "consistency", "mixture", "fixed")
QUICK = ReportOptions(resampling=Resampling(6))


def drop_relation(run: Path, relation: str) -> None:
    for shard in (run / "shards").glob(f"*{relation}*1.parquet"):
        shard.unlink()


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "complete")


def meant(estimator: EstimatorReport) -> list[Metric]:
    """The metrics that have a meaning for an estimator: of order for chance, without logarithms for shares of votes."""
    of_order = ("accuracy", "auroc", "aurc", "e_aurc", "augrc", "prr", "prr_50")
    if estimator.name == "chance":
        return [metric for metric in standard_metrics(5) if metric.name in of_order]
    of_shares = estimator.name.startswith("consistency") or estimator.name == "fixed_agreement"
    of_logarithms = ("nll", "nll_mcb", "cox_intercept", "cox_slope")
    return [metric for metric in standard_metrics(5) if metric.name not in of_logarithms or not of_shares]


def test_numbers_are_those_of_confidences_and_metrics(run_path: Path) -> None:
    options = ReportOptions("mean_answer", ace_bins=5, resampling=Resampling(8, seed=4))
    (found,) = report(run_path, options).runs
    table = open_run(run_path).table("mean_answer")
    confidences = estimate(table)
    assert [estimator.name for estimator in found.estimators] == list(confidences)
    for estimator, confidence in zip(found.estimators, confidences.values(), strict=True):
        expected = bootstrap(meant(estimator), confidence.confidence, confidence.correct, options.resampling)
        if confidence.probabilities is None:
            expected |= dict.fromkeys(COMPLETE, Estimate(math.nan))
        else:
            distributions = {"": confidence.probabilities}, table.offsets, table.answer_idx
            expected |= bootstrap_multiclass(multiclass_metrics(), *distributions, options.resampling)[""]
        # As text, since NaN (no interval of what is undefined) does not equal itself.
        assert repr(estimator.metrics) == repr(expected)
        assert estimator.failed == confidence.failed.sum()
        assert estimator.templates == ((0, 1) if estimator.name.startswith(OVER_PARAPHRASES) else (0,))
    assert found.accuracy == found.estimators[0].metrics["accuracy"]


def test_what_was_scored(run_path: Path) -> None:
    (found,) = report(run_path, QUICK).runs
    assert (found.facts.relations, found.instances, found.facts.candidates) == (3, sum(n for _, n, _ in SHAPES), (3, 5))
    assert not found.facts.partial
    assert found.facts.chance_accuracy == pytest.approx((4 / 3 + 3 / 5 + 2 / 4) / 9)


def test_bear_score_is_the_mean_accuracy_over_paraphrases(run_path: Path) -> None:
    (found,) = report(run_path, QUICK).runs
    table = open_run(run_path).table()
    spaces = Distributions.from_scores(table.scores, table.offsets, table.answer_idx)
    accuracies = [base_confidence(spaces, row).correct.mean() for row in (0, 1)]
    assert accuracies[0] != accuracies[1]
    assert found.bear_score is not None
    assert found.bear_score.value == pytest.approx(np.mean(accuracies))
    assert found.bear_score.low <= found.bear_score.value <= found.bear_score.high


def test_one_paraphrase_has_no_bear_score(tmp_path: Path) -> None:
    (found,) = report(write_run(tmp_path / "run", numbers=[3]), QUICK).runs
    assert found.bear_score is None
    assert found.estimators[0].templates == (3,)


def test_a_partial_run_counts_complete_relations_only(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run")
    drop_relation(path, "P36")
    (found,) = report(path, QUICK).runs
    assert (found.facts.partial, found.facts.relations, found.instances) == (True, 2, 7)
    assert report(path, QUICK).to_json()[str(path)]["partial"] is True


def test_a_run_without_a_complete_relation_has_no_numbers(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run")
    for relation, _, _ in SHAPES:
        drop_relation(path, relation)
    found = report(path, QUICK)
    assert (found.runs[0].instances, found.runs[0].facts.candidates) == (0, (0, 0))
    content = found.to_json()[str(path)]
    assert content["accuracy"] == {"value": None, "ci95": None}
    assert content["estimators"]["base"]["brier"] == {"value": None, "ci95": None}


def test_json_has_the_contracts_form(run_path: Path) -> None:
    found = report([run_path], QUICK).to_json()
    (content,) = found.values()
    assert list(found) == [str(run_path)]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert {key: content[key] for key in ("model", "kind", "probe", "instances", "partial", "candidates")} == {
        "model": "tiny",
        "kind": "causal",
        "probe": "made-up",
        "instances": 9,
        "partial": False,
        "candidates": [3, 5],
    }
    assert set(content) == {
        "model", "kind", "probe", "instances", "partial", "limited", "same_tokens", "candidates", "accuracy",
        "bear_score", "estimators", "sensitivity", "uncertainty", "intervals", "coverage", "answered", "ties",
        "temperatures", "cost", "estimator_cost",
    }  # fmt: skip
    names = [metric.name for metric in (*standard_metrics(), *multiclass_metrics())]
    assert list(content["estimators"]) == [
        "base", "margin", "average_vote_2", "average_min", "average_max", "consistency_vote_2", "consistency_min",
        "consistency_max", "mixture", "fixed_mean", "fixed_agreement", "entropy", "temperature", "temperature_top",
        "chance", "pmi",
    ]  # fmt: skip
    assert all(list(metrics) == names for metrics in content["estimators"].values())
    for found_one in (content["accuracy"], content["bear_score"], content["estimators"]["margin"]["ace"]):
        low, high = found_one["ci95"]
        assert low <= found_one["value"] <= high
    assert content["accuracy"] == content["estimators"]["base"]["accuracy"]


def test_without_resamples_there_are_no_intervals(run_path: Path) -> None:
    (content,) = report(run_path, ReportOptions(resampling=Resampling(0))).to_json().values()
    assert content["accuracy"]["ci95"] is None
    assert content["bear_score"]["ci95"] is None
    assert 0 <= content["bear_score"]["value"] <= 1


def test_bear_score_is_null_with_one_paraphrase(tmp_path: Path) -> None:
    (content,) = report(write_run(tmp_path / "run", numbers=[0]), QUICK).to_json().values()
    assert content["bear_score"] is None
    assert content["accuracy"] is not None


def test_several_runs_keep_their_order_and_names(run_path: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "a", numbers=[0])
    found = report([run_path, open_run(other)], QUICK)
    assert [run.label for run in found.runs] == list(found.to_json()) == [str(run_path), str(other)]


@pytest.mark.usefixtures("two_clusters_enough")
def test_relations_can_be_drawn_completely(run_path: Path) -> None:
    options = ReportOptions(resampling=Resampling(12), cluster="relation")
    (found,), (plain,) = (report(run_path, o).runs for o in (options, ReportOptions(resampling=Resampling(12))))
    table = open_run(run_path).table()
    confidence = estimate(table)["base"]
    expected = bootstrap(
        standard_metrics(), confidence.confidence, confidence.correct, options.resampling, table.relation
    )
    base, plain_base = found.estimators[0].metrics, plain.estimators[0].metrics
    assert repr({name: base[name] for name in expected}) == repr(expected)
    for ours, others in ((found.bear_score, plain.bear_score), (base["brier_sum"], plain_base["brier_sum"])):
        assert ours.value == others.value
        assert (ours.low, ours.high) != (others.low, others.high)
    assert found.sensitivity.msd.low != plain.sensitivity.msd.low
    assert found.uncertainty.total.low != plain.uncertainty.total.low


def test_compat_reaches_the_scores(run_path: Path) -> None:
    plain, compat = (
        report(run_path, ReportOptions(compat=compat, resampling=Resampling(0))) for compat in (None, "kissling2026")
    )
    assert plain.runs[0].estimators[0].metrics["brier"] != compat.runs[0].estimators[0].metrics["brier"]


def test_the_package_offers_the_function(run_path: Path) -> None:
    found = calprobe.report(run_path, QUICK)
    assert isinstance(found, Report)
    assert not math.isnan(found.runs[0].facts.chance_accuracy)


def test_refusals(run_path: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r" is named twice: name one run or more, each once"):
        report([run_path, run_path])
    with pytest.raises(UsageError, match="name one run or more"):
        report([])
    with pytest.raises(DataMissingError, match=r"nowhere: no such run; make one with"):
        report(tmp_path / "nowhere")
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(CalprobeError, match=r"manifest.json: damaged"):
        report(tmp_path)
