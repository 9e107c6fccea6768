"""`--width`, `--title`, `--style`, `--label`, `--overlay` and `--accuracy` of `curve` and `report --plots`."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared_runs import run_of, with_model

from calprobe.cli.app import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate("ab"):
        run_of(folder / name, seed, with_model(name="org/one-model"))
    return folder


@pytest.fixture(autouse=True)
def _beside_the_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def svg(out: Path, *arguments: object) -> str:
    path = out / "figure.svg"
    main(["curve", *map(str, arguments), "--bootstrap", "0", "--out", str(path)])
    return path.read_text("utf-8")


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    assert ended.value.code == 2
    return capsys.readouterr().err


CALIBRATION = ("--kind", "calibration", "--estimator", "base")


@pytest.mark.parametrize(("width", "points"), [("single", 237.6), ("double", 489.6), ("5.5", 396)])
def test_the_width_is_that_of_a_column_or_in_inches(width: str, points: float, tmp_path: Path) -> None:
    assert f'width="{points:g}pt"' in svg(tmp_path, "a", *CALIBRATION, "--width", width)


def test_titles_are_models_and_labels_and_what_is_asked(tmp_path: Path) -> None:
    assert ">one-model</text>" in svg(tmp_path, "a", *CALIBRATION)
    assert ">Figure 2</text>" in svg(tmp_path, "a", *CALIBRATION, "--title", "Figure 2")
    assert "one-model" not in svg(tmp_path, "a", *CALIBRATION, "--title", "")
    two = svg(tmp_path, "a", "b", *CALIBRATION, "--label", "a=Ours, fp32")
    assert ">Ours, fp32</text>" in two
    assert ">one-model</text>" in two  # the only run without a label


def test_a_style_file_sets_fonts_and_lines(tmp_path: Path) -> None:
    style = tmp_path / "paper.mplstyle"
    style.write_text("font.size: 11  # large\nfont.family: DejaVu Serif\n", "utf-8")
    assert "DejaVu Serif" in svg(tmp_path, "a", *CALIBRATION, "--style", style)
    assert "DejaVu Serif" not in svg(tmp_path, "a", *CALIBRATION)


def test_a_file_that_is_no_style_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    style = tmp_path / "no.mplstyle"
    style.write_text("font.sise: 11\n", "utf-8")
    asked = ("curve", "a", *CALIBRATION, "--bootstrap", 0, "--out", tmp_path / "x.svg", "--style", style)
    assert "'font.sise: 11' is not a setting of matplotlib" in refusal(capsys, *asked)
    style.write_text("font.size: large-ish\n", "utf-8")
    assert "'font.size: large-ish' is not a setting of matplotlib" in refusal(capsys, *asked)
    assert not (tmp_path / "x.svg").exists()


def test_an_overlay_is_another_figure(tmp_path: Path) -> None:
    both = ("--kind", "calibration", "--estimator", "base,margin")
    assert "smooth curve" in svg(tmp_path, "a", *both)
    assert "smooth curve" not in svg(tmp_path, "a", *both, "--overlay")


def test_what_does_not_apply_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = ("curve", "a", *CALIBRATION, "--out", tmp_path / "x.csv")
    for name, *option in (
        ("--look width", "--width", "single"),
        ("--look title", "--look", "title=x"),
        ("--overlay", "--overlay"),
    ):
        assert f"{name} applies to figures; give --out F.png, F.svg or F.pdf" in refusal(capsys, *table, *option)
    figure = ("curve", "a", "--kind", "markers", "--out", tmp_path / "x.svg")
    assert "--overlay applies to --kind calibration, and this is --kind markers" in refusal(
        capsys, *figure, "--overlay"
    )
    assert "--accuracy applies to --kind accuracy-ace, and this is --kind markers" in refusal(
        capsys, *figure, "--accuracy", "own"
    )
    assert "--look title applies to figures; give --plots DIR" in refusal(capsys, "report", "a", "--title", "x")
    for width, said in (("wide", "is neither single, double nor a number of inches"), ("0.5", "from 2 to 30 inches")):
        assert said in refusal(capsys, *figure, "--width", width)


def test_a_correlation_of_two_runs_is_refused_with_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("curve", "a", "b", "--kind", "accuracy-ace", "--bootstrap", 0, "--out")
    said = refusal(capsys, *asked, tmp_path / "x.svg")
    advice = "a figure needs 4 runs or more, got 2; name more, or write the numbers with --out F.csv"
    assert said == f"calprobe: accuracy-ace: {advice}\n"
    main([*map(str, asked), str(tmp_path / "x.csv"), "--accuracy", "base"])
    assert (tmp_path / "x.csv").exists()


@pytest.mark.proof
def test_report_takes_the_look_of_its_figures(tmp_path: Path) -> None:
    plots = tmp_path / "figures"
    main(["report", "a", "--bootstrap", "0", "--plots", str(plots), "--width", "single", "--title", "Table's"])
    assert 'width="237.6pt"' in (plots / "a.calibration.svg").read_text("utf-8")
    assert "Table's" in (plots / "a.calibration.svg").read_text("utf-8")
