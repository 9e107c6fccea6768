"""Real replies of another tool, imported and measured: `sequence` against scikit-learn on the same numbers."""

from __future__ import annotations

import gzip
import json
import math
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_auc_score

from calprobe.cells.opening import asked_runs
from calprobe.interop.reply_import import import_replies
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.studies.asked.report_asked import report_asked_run

MODELS = ("gpt2-xl", "llama-7b-hf", "Llama-2-7b-hf")


def measured(shared: Path, tmp_path: Path, limit: int | None) -> None:
    lines, confidence, right = [], [], []
    for model in MODELS:
        for path in sorted((shared / "questions" / "litcab").glob(f"*_{model}.jsonl.gz")):
            with gzip.open(path, "rt", encoding="utf-8") as file:
                rows = [json.loads(line) for line in islice(file, limit)]
            for at, row in enumerate(rows):
                (answer,), (scores,) = row["answer"], row["scores"]
                if not scores or min(scores) <= 0:
                    continue  # a probability that was rounded to 0 has no logarithm
                place = {"set": path.name.partition("_")[0], "variant": model, "question": f"{at}"}
                logprobs = [min(0.0, math.log(own)) for own in scores]
                correct = row["rouge_correct_first_answer"]
                lines.append({**place, "text": answer, "logprobs": logprobs, "correct": correct})
                confidence.append(((place["set"], model), math.exp(float(np.mean(logprobs)))))
                right.append(correct)
    if not lines:
        pytest.skip("no replies")
    (tmp_path / "replies.jsonl").write_text("\n".join(map(json.dumps, lines)))
    import_replies(tmp_path / "replies.jsonl", tmp_path / "run")
    (run,) = asked_runs([tmp_path / "run"])
    report = report_asked_run(run, ReportOptions(resampling=Resampling(0)))
    for own in report.reports():
        kept = [at for at, (place, _) in enumerate(confidence) if place == (own.set, own.variant)]
        sure, correct = np.array([confidence[at][1] for at in kept]), np.array([right[at] for at in kept])
        metrics = own.estimators["sequence"].metrics
        assert own.estimators["sequence"].rows == len(kept)
        assert metrics["auroc"].value == pytest.approx(roc_auc_score(correct, sure), abs=1e-12)
        assert metrics["ece"].value == pytest.approx(ece_by_scikit_learn(sure, correct), abs=1e-12)
        assert own.estimators["perplexity"].metrics["auroc"].value == pytest.approx(metrics["auroc"].value, abs=1e-12)


def ece_by_scikit_learn(sure: np.ndarray, correct: np.ndarray) -> float:
    """Ten bins of equal width: accuracy and mean confidence of each are scikit-learn's, weighted by its size."""
    accuracy, mean = calibration_curve(correct, sure, n_bins=10)
    sizes = np.bincount(np.searchsorted(np.linspace(0, 1, 11)[1:-1], sure), minlength=10)
    return float((sizes[sizes > 0] * abs(accuracy - mean)).sum() / len(sure))


def test_sequence_of_real_replies(shared: Path, tmp_path: Path) -> None:
    measured(shared, tmp_path, 40)


@pytest.mark.proof
def test_sequence_of_all_real_replies(shared: Path, tmp_path: Path) -> None:
    measured(shared, tmp_path, None)
