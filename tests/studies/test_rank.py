"""Metrics of (score, correct) tables: calibration for confidences only, ranking for any scale and direction."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from calprobe.errors import UsageError
from calprobe.interop.score_tables import ScoredAnswers
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling, holm, paired_differences, standard_metrics
from calprobe.studies.rank.rank_runs import RankOptions, rank, rank_groups, run_of_answers
from calprobe.studies.rank.rank_tables import rank_tables
from calprobe.studies.scored.report_runs import report_run

RNG = np.random.default_rng(5)
CONFIDENCE = RNG.integers(0, 11, 300) / 10
CORRECT = (RNG.random(300) < CONFIDENCE).astype(np.int64)
ANSWERS = ScoredAnswers({"confidence": CONFIDENCE, "logit": 40 * CONFIDENCE - 25}, CORRECT)
QUICK = Resampling(20)
ORDER_ONLY = {"accuracy", "auroc", "aurc", "e_aurc", "augrc", "prr", "prr_50"}


def test_confidences_get_every_metric_other_scores_those_of_order() -> None:
    found = rank(ANSWERS, RankOptions(resampling=QUICK), "mine.csv")
    confidence, logit = found.scores
    assert (confidence.scale, logit.scale) == ("probability", "order")
    assert set(logit.metrics) == ORDER_ONLY
    assert {name: confidence.metrics[name] for name in ORDER_ONLY} == dict(logit.metrics)
    assert confidence.metrics["auroc"].value == pytest.approx(roc_auc_score(CORRECT, CONFIDENCE), abs=1e-12)
    assert confidence.metrics["brier"].value == pytest.approx(brier_score_loss(CORRECT, CONFIDENCE), abs=1e-12)
    listed = {metric.name for metric in found.metrics}
    assert {"ace", "ece", "brier"} | ORDER_ONLY < listed < set(confidence.metrics)
    assert {"ace_p", "spiegelhalter_z", "cox_slope", "brier_mcb", "nll_dsc"} <= set(confidence.metrics) - listed


def test_an_uncertainty_is_a_confidence_turned_round() -> None:
    sure = rank(ANSWERS, RankOptions(resampling=QUICK)).scores[1]
    unsure = ScoredAnswers({"entropy": -ANSWERS.scores["logit"], "in [0, 1]": 1 - CONFIDENCE}, CORRECT)
    for score in rank(unsure, RankOptions(uncertainty=True, resampling=QUICK)).scores:
        assert score.scale == "order"
        assert dict(score.metrics) == dict(sure.metrics)


def test_a_table_is_a_run_that_only_lacks_what_candidates_give() -> None:
    run = run_of_answers(ANSWERS, "mine.csv")
    found = report_run(run, ReportOptions(resampling=QUICK))
    assert (found.label, found.instances, found.facts.partial) == ("mine.csv", 300, False)
    assert (found.accuracy, found.bear_score, found.sensitivity, found.uncertainty) == (None,) * 4
    assert [(score.name, score.templates, score.failed) for score in found.estimators] == [
        ("confidence", (), 0),
        ("logit", (), 0),
    ]
    estimators = found.to_json()["estimators"]
    assert {name for name, value in estimators["logit"].items() if value is not None} == ORDER_ONLY
    assert estimators["logit"].keys() == estimators["confidence"].keys()
    np.testing.assert_array_equal(run.released().confidence("confidence").confidence, CONFIDENCE)
    with pytest.raises(ValueError, match=r"mine\.csv: a table of scores has no manifest"):
        _ = found.manifest


@pytest.mark.parametrize(
    ("scores", "correct", "message"),
    [
        ([0.5, float("nan")], [0, 1], "NaN"),
        ([0.5, 0.6], [0, 1, 1], "correct must have"),
        ([0.5, 0.6], [0, 2], "correct must be"),
    ],
)
def test_what_is_no_table_of_answers_is_refused(scores: list[float], correct: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rank(ScoredAnswers({"s": np.array(scores)}, np.array(correct)), RankOptions(resampling=Resampling(0)))


def test_json_has_the_shape_of_a_report() -> None:
    answers = ScoredAnswers({"s": np.array([3.0, 4.0])}, np.array([1, 1]))
    found = rank(answers, RankOptions(resampling=Resampling(0)), "mine.csv").to_json()
    assert list(found) == ["mine.csv"]
    assert found["mine.csv"]["answers"] == 2
    assert found["mine.csv"]["scores"]["s"]["accuracy"] == {"value": 1.0, "ci95": None}
    assert found["mine.csv"]["scores"]["s"]["auroc"] == {"value": None, "ci95": None}, "one class only"


def test_confidences_and_uncertainties_in_one_table() -> None:
    mixed = ScoredAnswers({"confidence": CONFIDENCE, "entropy": -ANSWERS.scores["logit"]}, CORRECT)
    found = rank(mixed, RankOptions(resampling=QUICK, uncertainties=("entropy",)))
    alone = rank(ANSWERS, RankOptions(resampling=QUICK))
    for score, expected in zip(found.scores, alone.scores, strict=True):
        assert dict(score.metrics) == dict(expected.metrics)
    with pytest.raises(UsageError, match="'entropie' is not one of the scores: confidence, entropy"):
        rank(mixed, RankOptions(uncertainties=("entropie",)))


def test_differences_are_paired_and_corrected() -> None:
    noisy = np.clip(CONFIDENCE + RNG.normal(0, 0.4, len(CONFIDENCE)), 0, 1)
    answers = ScoredAnswers({"a": CONFIDENCE, "b": noisy, "u": -CONFIDENCE}, CORRECT)
    options = RankOptions(resampling=Resampling(200, 3), uncertainties=("u",), baseline="a")
    found = rank(answers, options, "mine.csv")
    metrics = [m for m in standard_metrics() if m.name in ("ace", "ece", "brier", "nll", "auroc", "aurc", "prr")]
    expected = paired_differences(
        metrics, {"b": (noisy, CORRECT), "a": (CONFIDENCE, CORRECT)}, [("b", "a")], Resampling(200, 3)
    )["b", "a"]
    of_b = {contrast.metric: contrast.difference for contrast in found.contrasts if contrast.estimator == "b"}
    assert of_b == expected
    of_u = {c.metric: c for c in found.contrasts if c.estimator == "u"}
    assert set(of_u) == {"auroc", "aurc", "prr"}
    assert {(c.difference.value, c.difference.p_value) for c in of_u.values()} == {(0.0, 1.0)}
    p_values = [contrast.difference.p_value for contrast in found.contrasts]
    assert [contrast.p_holm for contrast in found.contrasts] == holm(p_values).tolist()
    differences = found.to_json()["mine.csv"]["differences"]
    assert differences["baseline"] == "a"
    assert differences["scores"]["b"]["auroc"]["value"] == of_b["auroc"].value
    assert len(rank_tables(found)) == 2


def test_groups_are_measured_by_themselves() -> None:
    labels = ["odd" if row % 2 else "even" for row in range(len(CORRECT))]
    answers = ScoredAnswers(ANSWERS.scores, CORRECT, labels)
    found = rank_groups(answers, "parity", RankOptions(resampling=QUICK), "mine.csv")
    assert list(found.groups) == ["even", "odd"]
    odd = ScoredAnswers({name: values[1::2] for name, values in ANSWERS.scores.items()}, CORRECT[1::2])
    expected = rank(odd, RankOptions(resampling=QUICK))
    assert [dict(s.metrics) for s in found.groups["odd"].scores] == [dict(s.metrics) for s in expected.scores]
    assert found.to_json()["mine.csv"]["groups"]["even"]["answers"] == 150
    assert [table.stub for table in rank_tables(found)] == ["parity", "parity"], "a table for each score"


def test_a_score_that_ranks_wrong_answers_first_is_questioned() -> None:
    turned = ScoredAnswers({"entropy": -ANSWERS.scores["logit"]}, CORRECT)
    (table,) = rank_tables(rank(turned, RankOptions(resampling=QUICK)))
    assert "far below 0.5; is it an uncertainty? Then give --uncertainty entropy." in table.notes[0]
    (table,) = rank_tables(rank(turned, RankOptions(uncertainty=True, resampling=QUICK)))
    assert table.notes == ()
    (table,) = rank_tables(rank(ANSWERS, RankOptions(uncertainty=True, resampling=QUICK)))
    assert "is it a confidence? Then give it with --score" in table.notes[0]


def test_of_few_right_answers_an_order_has_no_interval_and_is_questioned_only_where_it_is_nearly_reversed() -> None:
    correct = [1] * 4 + [0] * 16
    near_0, low = (np.r_[np.full(4, value), np.arange(16)].astype(float) for value in (-1, 4.5))
    (table,) = rank_tables(rank(ScoredAnswers({"near": near_0, "low": low}, correct), RankOptions(resampling=QUICK)))
    assert any("metrics of the order have no interval, and their differences" in note for note in table.general)
    assert [note.partition(":")[0] for note in table.notes if "far below" in note] == ["near"]
    (table,) = rank_tables(rank(ANSWERS, RankOptions(resampling=QUICK)))
    assert not any("no interval" in note for note in table.general)
