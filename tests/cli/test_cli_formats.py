"""`--format` of report and compare: every form on stdout, and `--json` as the short form of one of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from commands import exit_code
from compared_runs import run_of
from proofs import few_of

pytestmark = pytest.mark.usefixtures("each_report_once")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runs")
    return [run_of(folder / name, seed) for seed, name in enumerate("ab")]


ASKED = [["report"], ["report", "--reduction", "all"], ["compare"]]


@pytest.mark.parametrize("asked", few_of(ASKED, lambda asked: asked == ["report"]))
def test_every_format_begins_with_how_the_run_was_made(
    asked: list[str], runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    printed = {}
    for form in ("text", "markdown", "latex", "csv", "json"):
        assert exit_code(*asked, *runs, "--bootstrap", "0", "--format", form) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        assert captured.out.endswith("\n")
        assert not captured.out.endswith("\n\n")
        printed[form] = captured.out
    made = "complete; path padded, dtype float32, start token not known"
    glance = made if asked[0] == "report" else "tiny, made-up (30 instances in 3 relations), complete"
    assert glance in " ".join(printed["text"].split())
    assert made in printed["markdown"].split("\n")[0]
    assert printed["latex"].startswith(f"% {runs[0]}: {made}")
    assert r"\toprule" in printed["latex"]
    assert "| ---" in printed["markdown"]
    assert {"value", "low", "high", "best"} < set(next(csv.DictReader(printed["csv"].splitlines())))
    assert isinstance(json.loads(printed["json"]), dict)
    for short in (["--json"], ["--json", "--format", "json"]):
        assert exit_code(*asked, *runs, "--bootstrap", "0", *short) == 0
        assert capsys.readouterr().out == printed["json"]
    assert exit_code(*asked, *runs, "--bootstrap", "0") == 0
    assert capsys.readouterr().out == printed["text"]


@pytest.mark.parametrize("command", ["report", "compare"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--json", "--format", "csv"], "--json and --format csv contradict each other: give one of them"),
        (["--format", "html"], "Invalid value for '--format'"),
    ],
)
def test_what_is_wrong_is_said(
    command: str, options: list[str], message: str, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(command, *runs, *options) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_a_comma_list_of_estimators(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("compare", *runs, "--bootstrap", "0", "--estimator", "base,mixture", "--json") == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert list(pair["all"]["estimators"]) == ["base", "mixture"]


def test_what_is_printed_can_be_a_file(runs: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert exit_code("report", *runs, "--bootstrap", "0", "--format", "csv") == 0
    path = tmp_path / "numbers.csv"
    path.write_text(capsys.readouterr().out)
    import pandas as pd

    frame = pd.read_csv(path)
    assert frame["low"].isna().all()
    assert set(frame["run"]) == set(runs)
    assert frame["best"].dtype == bool
    assert frame.groupby("run")["best"].any().all()
