"""The scores of gpt2 that lm-pub-quiz published, against loops over its files and against scikit-learn."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_auc_score

from calprobe.analysis import EstimatorReport, ReportOptions, report
from calprobe.confidence import confidences
from calprobe.interop.lm_pub_quiz_import import import_lm_pub_quiz
from calprobe.metrics import Resampling
from calprobe.runs import open_run


@pytest.fixture(scope="module")
def published(shared: Path) -> list[tuple[int, list[float]]]:
    """(right candidate, scores) of every instance of the ten relations."""
    files = sorted((shared / "lm_pub_quiz_gpt2").glob("*_results.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(files) == 10
    return [(line["answer_idx"], line["pll_scores"]) for line in lines]


@pytest.fixture(scope="module")
def run_path(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "gpt2"
    import_lm_pub_quiz(shared / "lm_pub_quiz_gpt2", out)
    return out


def by_hand(answer: int, scores: list[float]) -> dict[str, tuple[float, bool]]:
    """The estimators of one template of one instance, and whether the prediction is right."""
    weights = [math.exp(score - max(scores)) for score in scores]
    shares = [weight / math.fsum(weights) for weight in weights]
    best = max(range(len(scores)), key=lambda k: scores[k])
    runner_up = max(share for k, share in enumerate(shares) if k != best)
    n, right = len(scores), best == answer
    entropy = -math.fsum(share * math.log(share) for share in shares if share > 0)
    return {
        "base": (shares[best], right),
        "margin": (shares[best] - runner_up, right),
        "entropy": (1 - entropy / math.log(n), right),
        "chance": ((shares[best] - 1 / n) / (1 - 1 / n), right),
    }


def ace_by_hand(pairs: list[tuple[float, bool]], n_bins: int = 20) -> float:
    ordered = sorted(confidence for confidence, _ in pairs)
    edges = []
    for b in range(1, n_bins):
        place = (len(ordered) - 1) * b / n_bins
        low = math.floor(place)
        edges.append(ordered[low] + (ordered[low + 1] - ordered[low]) * (place - low))
    gaps = []
    for b in range(n_bins):
        inside = [(c, y) for c, y in pairs if sum(edge < c for edge in edges) == b]
        if inside:
            gaps.append(abs(math.fsum(c for c, _ in inside) - sum(y for _, y in inside)) / len(inside))
    return math.fsum(gaps) / len(gaps)


@pytest.mark.parametrize("name", ["base", "margin", "entropy", "chance"])
def test_numbers_of_the_published_scores(published: list[tuple[int, list[float]]], run_path: Path, name: str) -> None:
    pairs = [by_hand(answer, scores)[name] for answer, scores in published]
    (run,) = report(run_path, ReportOptions(resampling=Resampling(0))).runs
    estimators: dict[str, EstimatorReport] = {estimator.name: estimator for estimator in run.estimators}
    found = {metric: estimate.value for metric, estimate in estimators[name].metrics.items()}

    confidence, correct = [c for c, _ in pairs], [y for _, y in pairs]
    accuracy, mean = calibration_curve(correct, confidence, n_bins=20, strategy="quantile")
    assert run.instances == len(pairs) == 1053
    assert found["accuracy"] == pytest.approx(sum(correct) / len(correct), abs=1e-12)
    assert found["auroc"] == pytest.approx(roc_auc_score(correct, confidence), abs=1e-12)
    if name == "chance":  # no probability of being right
        assert "ace" not in found
        return
    assert found["ace"] == pytest.approx(abs(accuracy - mean).mean(), abs=1e-12)
    assert found["ace"] == pytest.approx(ace_by_hand(pairs), abs=1e-12)
    assert found["brier"] == pytest.approx(brier_score_loss(correct, confidence), abs=1e-12)
    assert found["brier"] == pytest.approx(math.fsum((c - y) ** 2 for c, y in pairs) / len(pairs), abs=1e-12)


def test_confidences_of_the_published_scores(published: list[tuple[int, list[float]]], run_path: Path) -> None:
    found = confidences(open_run(run_path))
    for name in ("base", "margin", "entropy", "chance"):
        mine = found[found["estimator"] == name]
        expected = sorted(by_hand(answer, scores)[name] for answer, scores in published)
        assert sorted(mine["confidence"]) == pytest.approx([c for c, _ in expected], abs=1e-12)
        assert int(mine["correct"].sum()) == sum(y for _, y in expected)
