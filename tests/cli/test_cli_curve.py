"""`calprobe curve`: every kind and format, every option, refusals before anything is computed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from compared_runs import run_of, with_model
from pandas.testing import assert_frame_equal
from proofs import few_of
from run_samples import make_manifest, make_piece, without_tokens

from calprobe.analysis import CurveOptions, ReportOptions, accuracy_ace, accuracy_rejection, calibration, options_curve
from calprobe.cli.app import main
from calprobe.curves import KINDS, plot
from calprobe.curves.files import DATA_SUFFIXES
from calprobe.metrics import Resampling
from calprobe.models.exposures import WEIGHTS_FILE, tiny_exposures
from calprobe.probes import load_probe
from calprobe.runs import ModelRecord, RunFolder, SourceRecord
from calprobe.show.plots import FIGURE_SUFFIXES, save

TINY_WEIGHTS = json.loads(WEIGHTS_FILE.read_text("utf-8"))
TINY = ModelRecord("tiny-clm", kind="causal", weights_fingerprint=TINY_WEIGHTS["tiny-clm"]["float32"])
FUNCTIONS = {
    "accuracy-rejection": accuracy_rejection,
    "calibration": calibration,
    "options": options_curve,
    "accuracy-ace": accuracy_ace,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate("ab"):
        run_of(folder / name, seed, with_model(name=f"model-{name}"))
    return folder


@pytest.fixture(autouse=True)
def _beside_the_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def curve(*arguments: object) -> None:
    main(["curve", *map(str, arguments)])


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[object, str]:
    """Exit code and stderr of a call that fails with nothing on stdout."""
    with pytest.raises(SystemExit) as ended:
        curve(*arguments)
    written = capsys.readouterr()
    assert written.out == ""
    return ended.value.code, written.err


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_data_files_hold_what_the_library_gives(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options: list[object] = ["--reduction", "mean", "--compat", "kissling2026", "--estimator", "margin, base"]
    given = {"bins": 5, "bootstrap": 30, "seed": 2, "cluster": "relation"}
    for name in KINDS[kind].ignores:
        del given[name]
    for name, value in given.items():
        options += [f"--{name}", value]
    (tmp_path / "new").mkdir()
    for suffix in DATA_SUFFIXES:
        curve("a", "b", "--kind", kind, *options, "--out", tmp_path / "new" / f"curve{suffix}")
    assert capsys.readouterr() == ("", "")
    scores = ReportOptions("mean", "kissling2026", 5, Resampling(8, 2), "relation")
    expected = FUNCTIONS[kind](["a", "b"], CurveOptions(scores, ("margin", "base")))
    assert_frame_equal(pd.read_csv(tmp_path / "new/curve.csv"), expected.frame(), check_dtype=False, rtol=1e-15)
    assert_frame_equal(pd.read_parquet(tmp_path / "new/curve.parquet"), expected.frame(), check_dtype=False)
    assert json.loads((tmp_path / "new/curve.json").read_text("utf-8")) == expected.to_json()


@pytest.mark.proof
def test_suffixes_in_capitals_are_the_same_formats(tmp_path: Path) -> None:
    for suffix, first in ((".CSV", b'"run"'), (".JSON", b"{"), (".PNG", b"\x89PNG")):
        curve("a", "--kind", "calibration", "--bootstrap", 0, "--out", tmp_path / f"curve{suffix}")
        assert (tmp_path / f"curve{suffix}").read_bytes().startswith(first)


FIRST_BYTES = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}


@pytest.mark.parametrize("suffix", few_of(FIGURE_SUFFIXES, lambda suffix: suffix == ".svg"))
def test_figures_are_drawn_from_the_same_result(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"figure{suffix}"
    curve("a", "--kind", "calibration", "--estimator", "margin", "--bootstrap", 20, "--out", out)
    assert capsys.readouterr() == ("", "")
    assert out.read_bytes().startswith(FIRST_BYTES[suffix])
    found = calibration("a", CurveOptions(ReportOptions(resampling=Resampling(20)), ("margin",)))
    save(plot(found), tmp_path / f"again{suffix}")
    assert out.read_bytes() == (tmp_path / f"again{suffix}").read_bytes()


def test_what_is_undefined_is_empty_in_csv_and_null_in_json(tmp_path: Path) -> None:
    for name in ("curve.csv", "curve.json"):
        curve("a", "--kind", "accuracy-rejection", "--estimator", "base", "--bootstrap", 0, "--out", tmp_path / name)
    rows = (tmp_path / "curve.csv").read_text("utf-8").splitlines()
    assert '"a","model-a","base","threshold",1,1,0,,,,,' in rows
    (line,) = json.loads((tmp_path / "curve.json").read_text("utf-8"))["lines"]
    assert line["by_threshold"]["curve"]["accuracy"][-1] is None
    assert line["band"]["low"] == [None] * 100


def test_the_same_call_writes_the_same_bytes(tmp_path: Path) -> None:
    for suffix in DATA_SUFFIXES:
        first, again = (tmp_path / f"{name}{suffix}" for name in ("first", "again"))
        for path in (first, again):
            curve("a", "--kind", "calibration", "--bootstrap", 20, "--out", path)
        assert first.read_bytes() == again.read_bytes()


def test_exposure_is_of_the_tiny_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shapes = (("month", 12, 12), ("moon-planet", 21, 5))
    mini = SourceRecord("mini", load_probe("mini").fingerprint)
    run = RunFolder.open(tmp_path / "tiny", replace(make_manifest(shapes, (0,)), model=TINY, probe=mini))
    for shape in shapes:
        run.write_piece(without_tokens(make_piece(shape)))
    curve(tmp_path / "tiny", "--kind", "exposure", "--bootstrap", 0, "--out", tmp_path / "exposure.csv")
    frame = pd.read_csv(tmp_path / "exposure.csv")
    counts = [count for name, _, _ in shapes for count in tiny_exposures()[name].counts]
    assert frame.instances.sum() == len(counts) == 33
    assert (frame.told * frame.instances).sum() == pytest.approx(sum(counts))
    code, error = refusal(capsys, "a", "--kind", "exposure", "--out", tmp_path / "a.csv")
    assert code == 2
    assert error == (
        "calprobe: model-a: no exposure counts for its weights; known for tiny-clm, tiny-mlm, tiny-chat, "
        "tiny-chat-overconfident on the probe mini\n"
    )


def test_an_unknown_suffix_is_refused_before_anything_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    code, error = refusal(capsys, "no-run", "--kind", "options", "--out", "curve.xlsx")
    assert code == 2
    assert error == (
        "calprobe: --out curve.xlsx: the suffix sets the format; give one of .csv, .json, .parquet, .png, .svg, .pdf\n"
    )


def test_refusals_are_one_line_with_their_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, error = refusal(capsys, "no-run", "--kind", "options", "--out", tmp_path / "x.csv")
    assert (code, error.count("\n")) == (3, 1)
    code, error = refusal(capsys, "a", "--kind", "markers", "--out", tmp_path / "x.csv")
    assert (code, error) == (2, "calprobe: a: no epistemic template; score it with --templates 0,verbal,numeric\n")
    code, error = refusal(capsys, "a", "--kind", "calibration", "--estimator", "sure", "--out", tmp_path / "x.csv")
    assert code == 2
    assert "for this curve, has no estimator sure (no such name, or templates or replies that it lacks)" in error
    assert "give some of base, margin, average_vote_2" in error
    code, error = refusal(capsys, "a", "--kind", "roc", "--out", tmp_path / "x.csv")
    assert code == 2
    assert all(kind in error for kind in KINDS)
    (tmp_path / "file").write_text("")
    for name in ("x.csv", "x.json"):
        code, error = refusal(capsys, "a", "--kind", "options", "--out", tmp_path / "file" / name)
        assert (code, error.count("\n")) == (2, 2)
        assert "there is no folder" in error
    assert not list(tmp_path.glob("x.*"))


def test_a_table_of_scores_has_curves_and_takes_no_option_of_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = tmp_path / "answers.csv", tmp_path / "out.csv"
    table.write_text("p,right\n" + "".join(f"0.{digit},{digit % 2}\n" for digit in range(1, 10)))
    columns = ["--score", "p", "--correct", "right", "--bootstrap", "0"]
    for kind in ("calibration", "accuracy-rejection"):
        main(["curve", str(table), *columns, "--kind", kind, "--out", str(out)])
        assert set(pd.read_csv(out)["estimator"]) == {"p"}
    for refused, why in (
        (["--kind", "options", *columns], "of a table there are --kind calibration and --kind accuracy-rejection"),
        (["--kind", "calibration", *columns, "--estimator", "base"], "--estimator is of runs; leave it out"),
        (["--kind", "calibration", "--score", "p"], "name its columns: --score or --uncertainty, and --correct"),
        (["--kind", "calibration", *columns, str(table)], "a table stands alone"),
    ):
        code, error = refusal(capsys, table, *refused, "--out", out)
        assert code == 2
        assert why in error
    before = table.read_text()
    code, error = refusal(capsys, table, "--kind", "calibration", *columns, "--out", table)
    assert (code, table.read_text()) == (2, before)
    assert "belongs to what is read, and would be overwritten; give another --out" in error
