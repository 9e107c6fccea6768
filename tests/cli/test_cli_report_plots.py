"""`calprobe report --plots`: which figures the runs allow, under which names, and what is said of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from compared_runs import run_of, with_model

from calprobe.cli.app import main
from calprobe.presentation.presentation import FORMATS_IN_FOLDER as FORMATS
from calprobe.presentation.run_file_names import file_names
from calprobe.runs import Manifest, TemplateRecord


def marked(plain: bool) -> Callable[[Manifest], Manifest]:
    """A run of "possibly", with the plain statement beside it or without."""
    records = ((TemplateRecord(0, "paraphrase"),) if plain else ()) + (TemplateRecord(5, "verbal", "possibly"),)
    return lambda manifest: replace(manifest, templates=records)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    run_of(folder / "runs" / "a", 0, with_model(name="org/model-a"))
    run_of(folder / "runs" / "b", 1, marked(plain=True), numbers=(0, 5))
    run_of(folder / "runs" / "c", 2, marked(plain=False), numbers=(5,))
    return folder


@pytest.fixture(autouse=True)
def _beside_the_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def kinds_of(plots: Path) -> dict[str, set[str]]:
    """The kinds of figures in a folder, by run; every one is there in each format."""
    found: dict[str, set[str]] = {}
    for path in plots.iterdir():
        run, kind = path.stem.split(".")
        assert {path.with_suffix(suffix).exists() for suffix in FORMATS} == {True}
        found.setdefault(run, set()).add(kind)
    return found


@pytest.mark.proof
def test_each_run_gets_what_its_templates_allow_and_several_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plots = tmp_path / "figures"
    main(["report", "runs/a", "runs/b", "--json", "--bootstrap", "0", "--plots", str(plots)])
    assert kinds_of(plots) == {
        "runs-a": {"accuracy-rejection", "calibration"},
        "runs-b": {"accuracy-rejection", "calibration", "markers"},
        "runs": {"accuracy-rejection"},
    }
    said = capsys.readouterr()
    assert "no figure accuracy-ace of 2 runs: it needs 4" in said.err
    assert set(json.loads(said.out)) == {"runs/a", "runs/b"}
    written = [line.removeprefix("wrote ") for line in said.err.splitlines() if line.startswith("wrote ")]
    assert sorted(written) == sorted(map(str, plots.iterdir()))
    svg = (plots / "runs-a.calibration.svg").read_text("utf-8")
    assert all(f">{name}</text>" in svg for name in ("base", "margin", "average_vote_2", "average_min", "model-a"))


def test_without_matplotlib_one_line_says_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for drawn in (
        ["report", "runs/a", "--bootstrap", "0", "--plots"],
        ["curve", "runs/a", "--kind", "calibration", "--out"],
    ):
        with pytest.raises(SystemExit) as ended:
            main([*drawn, str(tmp_path / "figure.svg")])
        assert ended.value.code == 1
        assert capsys.readouterr().err == "calprobe: the Python package matplotlib is missing\npip install matplotlib\n"


def test_a_run_without_a_plain_template_gets_no_figures_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", "runs/c", "--bootstrap", "0", "--plots", str(tmp_path / "figures")])
    assert "runs/c: no figures: the run has neither template 0 nor a paraphrase" in capsys.readouterr().err
    assert not (tmp_path / "figures").exists()


@pytest.mark.proof
def test_runs_of_other_instances_share_no_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other, plots = run_of(tmp_path / "other", shapes=(("P36", 10, 4),)), tmp_path / "figures"
    main(["report", "runs/a", other, "--json", "--bootstrap", "0", "--plots", str(plots)])
    assert set(kinds_of(plots)) == {"runs-a", *file_names([other]).values()}
    assert "no figures of several runs: the runs differ in probe or instances" in capsys.readouterr().err


def test_a_partial_run_is_reported_as_such_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label = run_of(
        tmp_path / "part", edit=lambda piece: None if (piece.relation, piece.template) == ("P30", 1) else piece
    )
    main(["report", label, "--json", "--bootstrap", "0", "--plots", str(tmp_path / "figures")])
    said = capsys.readouterr()
    assert json.loads(said.out)[label]["partial"]
    assert all(line.startswith("wrote ") for line in said.err.splitlines())
    drawn = [path.read_text("utf-8") for path in (tmp_path / "figures").glob("*.svg")]
    assert drawn
    assert all("(PARTIAL)" in figure for figure in drawn)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    with pytest.raises(SystemExit) as ended:
        main(["report", *arguments])
    said = capsys.readouterr()
    assert said.out == ""
    return ended.value.code, said.err


def test_figures_are_of_one_reduction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = refusal(capsys, "runs/a", "--reduction", "all", "--plots", str(tmp_path))
    assert code == 2
    assert "leave out --plots or --reduction all" in said


def test_a_file_in_the_folders_place_is_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    code, said = refusal(capsys, "runs/none", "--plots", str(tmp_path / "file"))
    assert code == 2
    assert "is a file" in said
