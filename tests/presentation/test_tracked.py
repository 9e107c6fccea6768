"""What trackers get of a run: its configuration without places and secrets, and the numbers of its report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from asked_samples import make_ask_manifest, write_asked
from run_samples import make_manifest, write_run

import calprobe
from calprobe.analysis import ReportOptions
from calprobe.metrics import Resampling
from calprobe.presentation.tracked import configuration, figures, tracked_id
from calprobe.runs import ModelRecord, open_run

PRINTED = ("accuracy", "mean_confidence", "ace", "ece", "brier", "auroc")


def test_the_configuration_of_scores_is_the_manifests() -> None:
    manifest = replace(make_manifest(), model=ModelRecord(f"{Path.home()}/models/gemma.gguf", kind="causal"))
    assert configuration(manifest) == {
        "task": "score",
        "calprobe": "0.1.0",
        "model": "gemma.gguf",
        "kind": "causal",
        "probe": "made-up",
        "template_set": "native",
        "templates": "0,1",
        "relations": 3,
        "instances": 9,
        "dtype": "float32",
        "device": "cpu",
        "path": "padded",
    }


def test_the_configuration_of_replies_has_no_place_and_no_secret() -> None:
    manifest = make_ask_manifest(overrides=(f"--prompts {Path.home()}/p.json", "--base-url https://me:pw@example.org"))
    found = configuration(manifest)
    assert found["overrides"] == "--prompts ~/p.json --base-url https://***@example.org"
    assert {key: found[key] for key in ("task", "model", "backend", "dtype", "sets", "questions", "temperature")} == {
        "task": "ask",
        "model": "toy",
        "backend": "fake",
        "dtype": "float32",
        "sets": "sums",
        "questions": 6,
        "temperature": 0.0,
    }


def test_an_id_is_of_the_run_and_its_name() -> None:
    manifest = make_manifest()
    others = [replace(manifest, created="2027"), make_manifest(numbers=(0,))]
    ids = {tracked_id(own, "a/b") for own in (manifest, *others)} | {tracked_id(manifest, "a/c")}
    assert len(ids) == 4
    assert tracked_id(make_manifest(), "a/b") in ids
    assert all(len(own) == 16 and own.isalnum() for own in ids)


def test_the_figures_of_scores_are_those_of_the_report(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "run"))
    found = figures(run)
    (own,) = calprobe.report(run, ReportOptions(resampling=Resampling(0))).runs
    assert own.accuracy is not None
    assert own.bear_score is not None
    assert (found["accuracy"], found["bear_score"]) == (own.accuracy.value, own.bear_score.value)
    for estimator in own.estimators:
        for name in PRINTED:
            estimate = estimator.metrics.get(name)
            value = float("nan") if estimate is None else estimate.value
            assert found.get(f"{estimator.name}/{name}", float("nan")) == pytest.approx(value, nan_ok=True)
        assert found[f"{estimator.name}/coverage"] == estimator.coverage.value
    assert len(found) <= 2 + len(own.estimators) * (len(PRINTED) + 1)


def test_the_figures_of_replies_are_those_of_the_report(tmp_path: Path) -> None:
    write_asked(tmp_path / "run")
    run = open_run(tmp_path / "run")
    found = figures(run)
    (own,) = calprobe.report(run, ReportOptions(resampling=Resampling(0))).runs
    cells = list(own.reports())
    for cell in cells:
        accuracy = cell.accuracy["last_marker"].value.value
        assert found[f"sums/{cell.variant}/last_marker/accuracy"] == accuracy
        label = cell.estimators["label"]
        assert found[f"sums/{cell.variant}/label/ece"] == label.metrics["ece"].value
        assert found[f"sums/{cell.variant}/label/coverage"] == label.coverage.value
    assert {name.split("/")[1] for name in found} == {cell.variant for cell in cells}
