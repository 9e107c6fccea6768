"""The tidy table of confidences: columns, types, order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from run_samples import SHAPES, write_run

import calprobe
from calprobe.confidence import confidences, estimate
from calprobe.runs import ScoreTable, TemplateRecord, open_run

COLUMNS = ["relation", "instance", "estimator", "prediction", "confidence", "correct", "failed"]


def table(templates: tuple[TemplateRecord, ...] = (TemplateRecord(0, "paraphrase"),)) -> ScoreTable:
    """Three instances out of order, the last one failed."""
    scores = np.array([[-1.0, -2.0, -3.0, -1.0, np.nan, 0.0]])
    return ScoreTable(
        scores=np.repeat(scores, len(templates), axis=0),
        offsets=np.array([0, 2, 4, 6]),
        answer_idx=np.array([0, 0, 1]),
        relation=np.array(["P36", "P30", "P30"]),
        instance=np.array([4, 9, 2]),
        templates=templates,
    )


def test_rows_by_hand() -> None:
    found = confidences(table())
    names = ["base", "margin", "entropy", "temperature", "temperature_top", "chance", "pmi"]
    assert found["estimator"].tolist() == names * 3
    found = found[found["estimator"].isin(["base", "margin"])].reset_index(drop=True)
    p, q = 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(-2))
    expected = [
        ("P30", 2, "base", -1, 0.0, False, True),
        ("P30", 2, "margin", -1, 0.0, False, True),
        ("P30", 9, "base", 1, q, False, False),
        ("P30", 9, "margin", 1, 2 * q - 1, False, False),
        ("P36", 4, "base", 0, p, True, False),
        ("P36", 4, "margin", 0, 2 * p - 1, True, False),
    ]
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected, columns=COLUMNS), check_dtype=False)
    assert [str(found[c].dtype) for c in COLUMNS[3:]] == ["int32", "float64", "bool", "bool"]
    assert found["instance"].dtype == np.int32


def test_nothing_to_estimate_gives_no_rows() -> None:
    found = confidences(table(()))
    assert (list(found.columns), len(found)) == (COLUMNS, 0)


def test_from_a_run(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "run"))
    found = calprobe.confidences(run, "mean")
    expected = estimate(run.table("mean"))
    assert len(found) == len(expected) * sum(n for _, n, _ in SHAPES)
    for name, confidence in expected.items():
        mine = found[found["estimator"] == name]
        assert mine["confidence"].tolist() == confidence.confidence.tolist()
        assert mine["correct"].tolist() == confidence.correct.tolist()
    assert not found["confidence"].equals(confidences(run, "sum")["confidence"])
