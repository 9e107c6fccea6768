"""Maps in a file: written of one run, used on another, refused where they do not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import calprobe
from compared_runs import run_of, with_model
from printed_tables import printed
from sklearn.isotonic import IsotonicRegression

from calprobe.analysis import ReportOptions, report
from calprobe.confidence import confidences
from calprobe.errors import CalprobeError, DataMissingError, ProbeFormatError, UsageError
from calprobe.measures.calibration_file import CalibrationFile, read_calibration
from calprobe.measures.recalibrated import saved_maps
from calprobe.metrics import Resampling, ace, brier
from calprobe.metrics.calibration_map import CalibrationMap
from calprobe.runs import open_run
from calprobe.studies.scored.report_tables import report_sections

QUICK = ReportOptions(resampling=Resampling(0))
SHAPES = [(f"P{number}", 6, 3) for number in range(100, 112)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The same facts under two models."""
    folder = tmp_path_factory.mktemp("runs")
    other = with_model(name="other", weights_fingerprint="dd" * 32)
    return run_of(folder / "a", shapes=SHAPES), run_of(folder / "b", seed=9, shapes=SHAPES, change=other)


@pytest.fixture(scope="module")
def file(runs: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("maps") / "isotonic.json"
    (run,) = report(runs[0], replace(QUICK, recalibrate="isotonic")).runs
    assert run.recalibrated is not None
    path.write_text(saved_maps(run.recalibrated, path.name).text(), "utf-8")
    return path


def test_the_other_run_has_scikit_learns_predictions(runs: tuple[str, str], file: Path) -> None:
    given = read_calibration(str(file))
    (run,) = report(runs[1], replace(QUICK, recalibrate=given)).runs
    assert run.recalibrated is not None
    assert run.recalibrated.held_out
    fitted, used = (confidences(open_run(path)) for path in runs)
    for name in ("base", "margin", "pmi"):
        mine, others = (frame[frame["estimator"] == name] for frame in (fitted, used))
        isotonic = IsotonicRegression(out_of_bounds="clip").fit(mine["confidence"], mine["correct"].astype(float))
        mapped, correct = isotonic.predict(others["confidence"]), others["correct"].to_numpy()
        found = run.recalibrated.estimators[name]
        assert found["brier"].value == pytest.approx(brier(mapped, correct).value, abs=1e-12)
        assert found["ace"].value == pytest.approx(ace(mapped, correct).value, abs=1e-12)
    content = run.to_json()["recalibrated"]
    assert content["file"] == "isotonic.json"
    assert content["maps"]["base"] == {"all": given.maps["base"].to_json(), "folds": []}


def test_one_and_the_same_run_is_not_held_out(runs: tuple[str, str], file: Path) -> None:
    found = report(runs[0], replace(QUICK, recalibrate=read_calibration(str(file))))
    text = " ".join(printed(report_sections(found), 120).split())
    assert "Maps of isotonic.json, fitted on tiny on made-up, 72 instances in 12 relations" in text
    assert "NOT HELD OUT" in text
    assert "of of" not in text
    assert "in the file" in text
    with pytest.raises(ValueError, match="in one already"):
        saved_maps(found.runs[0].recalibrated, "x.json")  # type: ignore[arg-type]


def test_parameters_are_printed_of_all_facts_and_by_fold(runs: tuple[str, str]) -> None:
    found = report(runs[0], replace(QUICK, recalibrate="platt"))
    maps = found.runs[0].recalibrated
    assert maps is not None
    own = maps.maps["margin"]
    text = printed(report_sections(found), 120)
    row = next(line.split() for line in text.splitlines() if line.startswith("margin") and len(line.split()) == 7)
    values = [[fold.parameters[name] for fold in own.folds if fold.form == "platt"] for name in ("a", "b")]
    expected = [
        number
        for name, folds in zip(("a", "b"), values, strict=True)
        for number in (own.all.parameters[name], min(folds), max(folds))
    ]
    assert [float(cell) for cell in row[1:]] == pytest.approx(expected, abs=5e-5)
    assert len(own.folds) == 5


def test_files_that_do_not_fit(runs: tuple[str, str], file: Path, tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="no such file"):
        read_calibration(str(tmp_path / "none.json"))
    content = json.loads(file.read_text("utf-8"))
    for changed, said in (
        ({}, 'no "what"'),
        (content | {"method": "spline"}, "no method 'spline'"),
        (content | {"maps": {"base": {"form": "platt"}}}, "not a map of the form"),
        (content | {"fitted_on": {}}, "TypeError"),
    ):
        path = tmp_path / "bad.json"
        path.write_text(json.dumps(changed), "utf-8")
        with pytest.raises(ProbeFormatError, match=said):
            read_calibration(str(path))
    given = read_calibration(str(file))
    for text in ("[]", "{", "\xff"):
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(ProbeFormatError, match="not a file of calibration maps"):
            read_calibration(str(path))
    refused: list[tuple[CalibrationFile, ReportOptions, type[CalprobeError], str]] = [
        (given, replace(QUICK, reduction="mean"), UsageError, "fitted with --reduction sum, this report has mean"),
        (replace(given, maps={"own": given.maps["base"]}), QUICK, UsageError, "maps of own, of none that"),
    ]
    for own, options, error, said in refused:
        with pytest.raises(error, match=said):
            report(runs[1], replace(options, recalibrate=own))


def test_the_options(runs: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "maps.json"
    quick = ("--bootstrap", 0, "--json")
    done = calprobe("report", runs[0], "--recalibrate", "platt", "--save-maps", path, *quick)
    assert done.returncode == 0, done.stderr
    assert f"wrote {path}" in done.stderr
    used = calprobe("report", runs[1], "--recalibrate", path, *quick)
    assert used.returncode == 0, used.stderr
    found = json.loads(used.stdout)[runs[1]]["recalibrated"]
    assert found["maps"]["base"]["all"] == json.loads(path.read_text("utf-8"))["maps"]["base"]
    assert np.isfinite(found["estimators"]["base"]["ace"]["value"])
    for arguments, said in (
        (("--recalibrate", "plat"), "did you mean platt?"),
        (("--recalibrate", "none.json"), "no such file"),
        (("--save-maps", path), "--save-maps keeps fitted maps"),
        ((runs[1], "--recalibrate", "platt", "--save-maps", path), "the maps of one run; there are 2"),
    ):
        refused = calprobe("report", runs[0], *arguments)
        assert refused.returncode != 0
        assert said in refused.stderr


def test_maps_of_shares_of_votes_in_an_older_file_are_not_used(runs: tuple[str, str], tmp_path: Path) -> None:
    (run,) = report(runs[0], replace(QUICK, recalibrate="platt")).runs
    assert run.recalibrated is not None
    saved = saved_maps(run.recalibrated, "platt.json")
    older = replace(saved, maps={"fixed_agreement": CalibrationMap("platt", {"a": 0.2, "b": 0.1})})
    (used,) = report(runs[1], replace(QUICK, recalibrate=older)).runs
    assert used.recalibrated is not None
    assert used.recalibrated.without == ("fixed_agreement",)
    assert used.recalibrated.to_json()["estimators"]["fixed_agreement"]["ace"] == {"value": None, "ci95": None}
