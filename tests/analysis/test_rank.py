"""Metrics of (score, correct) tables: calibration for confidences only, ranking for any scale and direction."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from calprobe.analysis.options import ReportOptions
from calprobe.analysis.rank import RankOptions, rank, run_of_answers
from calprobe.analysis.report_runs import report_run
from calprobe.interop.score_tables import ScoredAnswers
from calprobe.metrics import Resampling

RNG = np.random.default_rng(5)
CONFIDENCE = RNG.integers(0, 11, 300) / 10
CORRECT = (RNG.random(300) < CONFIDENCE).astype(np.int64)
ANSWERS = ScoredAnswers({"confidence": CONFIDENCE, "logit": 40 * CONFIDENCE - 25}, CORRECT)
QUICK = Resampling(20)
ORDER_ONLY = {"accuracy", "auroc", "aurc", "e_aurc", "prr"}


def test_confidences_get_every_metric_other_scores_those_of_order() -> None:
    found = rank(ANSWERS, RankOptions(resampling=QUICK), "mine.csv")
    confidence, logit = found.scores
    assert (confidence.scale, logit.scale) == ("probability", "order")
    assert set(logit.metrics) == ORDER_ONLY
    assert {name: confidence.metrics[name] for name in ORDER_ONLY} == dict(logit.metrics)
    assert confidence.metrics["auroc"].value == pytest.approx(roc_auc_score(CORRECT, CONFIDENCE), abs=1e-12)
    assert confidence.metrics["brier"].value == pytest.approx(brier_score_loss(CORRECT, CONFIDENCE), abs=1e-12)
    assert {"ace", "ece", "brier"} < set(confidence.metrics) == {metric.name for metric in found.metrics}


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
    assert found.to_json()["estimators"]["logit"].keys() == ORDER_ONLY
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
