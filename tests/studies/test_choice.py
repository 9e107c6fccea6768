"""Reports of some estimators, metrics and tables alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from commands import calprobe
from compared_runs import run_of

QUICK = ("--bootstrap", 0)

pytestmark = pytest.mark.usefixtures("each_report_once")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    return run_of(folder / "a"), run_of(folder / "b", 1)


def test_estimators_and_metrics_in_the_order_asked(runs: tuple[str, str]) -> None:
    asked = ("report", runs[0], "--estimator", "margin,average_vote_2", "--metric", "nll,brier", *QUICK)
    lines = list(csv.DictReader(calprobe(*asked, "--format", "csv").stdout.splitlines()))
    of = [(line["estimator"], line["metric"]) for line in lines if line["estimator"] == "margin"]
    assert of == [("margin", "nll"), ("margin", "coverage"), ("margin", "brier")]
    assert {line["estimator"] for line in lines} == {"margin", "average_vote_2", "average_vote_2:answered", ""}
    found = json.loads(calprobe(*asked, "--json").stdout)[runs[0]]
    assert {name: list(metrics) for name, metrics in found["estimators"].items()} == {
        "margin": ["nll", "brier"],
        "average_vote_2": ["nll", "brier"],
    }
    assert found["accuracy"]["value"] > 0  # the run's own stays
    head = next(line for line in calprobe(*asked).stdout.splitlines() if line.startswith("estimator"))
    assert head.split() == ["estimator", "NLL", "coverage", "Brier"]
    assert "& NLL &" in " ".join(calprobe(*asked, "--format", "latex").stdout.split())


def test_base_with_a_metric_that_its_heading_does_not_need(runs: tuple[str, str]) -> None:
    done = calprobe("report", runs[0], "--metric", "brier", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "\nbase: ACE" not in done.stdout


def test_recalibrated_confidences_of_the_estimators_and_metrics_asked(runs: tuple[str, str]) -> None:
    asked = ("report", runs[0], "--estimator", "margin", "--metric", "brier", "--recalibrate", "platt", *QUICK)
    assert list(json.loads(calprobe(*asked, "--json").stdout)[runs[0]]["recalibrated"]["estimators"]) == ["margin"]
    table = calprobe(*asked, "--format", "latex").stdout.partition("recalibration")[2]
    assert "margin" in table
    assert "AUROC" not in table.partition(r"\end{table}")[0]


def test_a_summary_alone_in_every_format(runs: tuple[str, str]) -> None:
    asked = ("report", *runs, "--tables", "summary", *QUICK)
    text = calprobe(*asked).stdout
    assert "\nrun " in text
    assert "\nestimator " not in text
    lines = list(csv.DictReader(calprobe(*asked, "--format", "csv").stdout.splitlines()))
    assert {(line["run"], line["metric"]) for line in lines} >= {(runs[0], "accuracy"), (runs[1], "brier")}
    assert calprobe(*asked, "--format", "latex").stdout.count(r"\begin{table") == 1
    few = calprobe(*asked, "--estimator", "margin", "--metric", "nll").stdout
    assert "NLL" in few
    assert "average" not in few


def test_the_page_shows_what_was_asked(runs: tuple[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = calprobe("report", runs[0], "--estimator", "margin", "--metric", "ace", "--html", page, *QUICK)
    assert done.returncode == 0
    html = page.read_text("utf-8")
    assert "<svg" in html
    assert 'popovertarget="e-margin"' in html
    assert 'popovertarget="e-entropy"' not in html


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metric", "bier"], "--metric: no 'bier' in this report; did you mean brier?"),
        (["--estimator", "margn"], "the report has no estimator margn; did you mean margin?"),
        (["--tables", "sumary"], "--tables: runs of scores have no table 'sumary'; did you mean summary?"),
        (["--tables", "slices"], "--tables slices: the report has no such table"),
        (["--tables", "runs", "--json"], "--tables does not apply to JSON"),
        (["--metric", "ace", "--reduction", "all"], "--metric takes one reduction"),
    ],
)
def test_what_there_is_not(runs: tuple[str, str], options: list[str], said: str) -> None:
    done = calprobe("report", *runs, *QUICK, *options)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("options", [["--metric", "bier"], ["--estimator", "margn"]])
def test_names_are_checked_before_anything_is_computed(
    runs: tuple[str, str], options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(*_: object) -> None:
        raise AssertionError("a report was computed")

    monkeypatch.setattr("calprobe.analysis.report", compute)
    assert calprobe("report", *runs, *options).returncode == 2
