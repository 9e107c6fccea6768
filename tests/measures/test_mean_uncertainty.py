"""Means of the uncertainty decomposition: by hand, against the table of all instances, and what JSON says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from run_samples import write_run

from calprobe.analysis import ReportOptions, prompt_sensitivity, report
from calprobe.confidence import Distributions, uncertainties
from calprobe.measures.uncertainty import mean_uncertainty
from calprobe.metrics import Resampling
from calprobe.runs import open_run

QUICK = ReportOptions(resampling=Resampling(12))


def test_by_hand() -> None:
    # One instance of two candidates, sure of another answer under each wording; one of four, evenly spread under both.
    scores = np.array([[0.0, -math.inf, 1, 1, 1, 1], [-math.inf, 0.0, 1, 1, 1, 1]])
    found = mean_uncertainty(Distributions.from_scores(scores, [0, 2, 6], [0, 0]), [0, 1], QUICK)
    assert found.instances == 2
    assert found.nats == pytest.approx(((math.log(2) + math.log(4)) / 2, math.log(4) / 2, math.log(2) / 2))
    assert (found.total.value, found.aleatoric.value, found.epistemic.value) == pytest.approx((1, 0.5, 0.5))
    rhos = [(math.log(2) + 1e-4) / (math.log(2) + 2e-4), 1e-4 / (math.log(4) + 2e-4)]
    assert found.rho == pytest.approx(sum(rhos) / 2)


def test_against_the_table_of_all_instances(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", numbers=(0, 1, 2))
    (run,) = report(path, QUICK).runs
    found, table = run.uncertainty, uncertainties(open_run(path))
    assert found is not None
    assert found.instances == len(table)
    parts = ("total", "aleatoric", "epistemic")
    assert found.nats == pytest.approx([table[f"entropy_{part}"].mean() for part in parts], abs=1e-12)
    assert found.rho == pytest.approx(table["entropy_rho"].mean(), abs=1e-12)
    for part in parts:
        share, estimate = table[f"entropy_{part}"] / np.log(table["candidates"]), getattr(found, part)
        assert estimate.value == pytest.approx(share.mean(), abs=1e-12)
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


def test_failed_instances_and_those_of_one_candidate_are_left_out() -> None:
    even = [0.0, 0.0]
    scores = np.array([[*even, 1.0, *even], [*even, 1.0, 0.0, math.nan]])
    found = mean_uncertainty(Distributions.from_scores(scores, [0, 2, 3, 5], [0, 0, 0]), [0, 1], QUICK)
    assert found.instances == 2  # one of two candidates, one of one, which has no uncertainty
    assert found.nats == pytest.approx((math.log(2) / 2, math.log(2) / 2, 0))
    assert found.total.value == pytest.approx(1)


def test_nothing_to_take_a_mean_of() -> None:
    found = mean_uncertainty(Distributions.from_scores(np.array([[math.nan, 0.0]]), [0, 2], [0]), [0], QUICK)
    assert found.instances == 0
    nothing = {"value": None, "ci95": None}
    assert found.to_json() == {
        "instances": 0,
        "entropy": {"total": None, "aleatoric": None, "epistemic": None},
        "normalised_entropy": {"total": nothing, "aleatoric": nothing, "epistemic": nothing},
        "rho": None,
    }


def test_json_of_a_report(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", numbers=(0, 1, 2))
    (content,) = report(path, QUICK).to_json().values()
    sensitivity, expected = content["sensitivity"], prompt_sensitivity(path, QUICK)
    assert sensitivity == json.loads(json.dumps(expected.to_json(), allow_nan=False))
    assert list(sensitivity) == [
        "templates", "reference", "failed", "accuracy", "accuracy_spread", "accuracy_sd", "ace", "ace_spread", "msd",
        "fidelity", "correlation", "mean_correlation",
    ]  # fmt: skip
    assert sensitivity["accuracy"] == expected.accuracy.tolist()
    assert sensitivity["correlation"] == expected.correlation.tolist()
    assert sensitivity["msd"] == {"value": expected.msd.value, "ci95": [expected.msd.low, expected.msd.high]}
    assert list(content["uncertainty"]) == ["instances", "entropy", "normalised_entropy", "rho"]


def test_one_paraphrase_has_neither(tmp_path: Path) -> None:
    (content,) = report(write_run(tmp_path / "run", numbers=(3,)), QUICK).to_json().values()
    assert content["sensitivity"] is None
    assert content["uncertainty"] is None
