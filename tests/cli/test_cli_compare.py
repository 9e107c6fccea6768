"""`calprobe compare`: table, JSON, every option, usage errors, and the tiny pair from its scoring on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import calprobe
from compared_runs import run_of, with_model

from calprobe.analysis import CompareOptions, ReportOptions, compare, report
from calprobe.cli.app import main
from calprobe.metrics import Resampling


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for seed, (name, kind) in enumerate((("a", "causal"), ("b", "masked"), ("c", "causal"))):
        run_of(folder / name, seed, with_model(kind=kind))
    run_of(folder / "few", numbers=(0,))
    return folder


@pytest.fixture(autouse=True)
def _beside_the_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.proof
def test_table_in_a_pipe() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"} | {"PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "calprobe", "compare", "a", "b", "--bootstrap", "20"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("A a: tiny, made-up (30 instances in 3 relations), complete\nB b: tiny")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout


def test_json_takes_every_option() -> None:
    options = ["--reduction", "mean", "--compat", "kissling2026", "--bins", 5, "--bootstrap", 20, "--seed", 2]
    options += ["--cluster", "relation", "--by-domain", "--intersect", "--estimator", "base,entropy"]
    done = calprobe("compare", "a", "c", "few", "--pairs", "c:a,few:a", "--json", *options)
    scores = ReportOptions("mean", "kissling2026", 5, Resampling(20, 2), "relation")
    wanted = CompareOptions((("c", "a"), ("few", "a")), True, True, ("base", "entropy"), scores)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(json.dumps(compare(["a", "c", "few"], wanted).to_json()))


def test_pairs_are_found() -> None:
    done = calprobe("compare", "a", "b", "c", "--json", "--bootstrap", 0)
    (pair,) = json.loads(done.stdout)["pairs"]
    assert pair["second"] == "b"
    assert pair["first"] in ("a", "c")


def test_a_figure_of_the_differences(tmp_path: Path) -> None:
    done = calprobe(
        "compare", "a", "b", "--bootstrap", 20, "--plot", tmp_path / "f.svg", "--label", "a=Model <A>", "--title", "T"
    )
    assert (done.returncode, done.stderr) == (0, f"wrote {tmp_path / 'f.svg'}\n")
    assert ">T</text>" in (tmp_path / "f.svg").read_text("utf-8")
    assert "Model &lt;A&gt; − b" in (tmp_path / "f.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "Missing argument 'RUN..'"),
        (["a", "--templates", "0:7"], 2, "--templates: a has no template 7; it has 0, 1, 2"),
        (["a", "--templates", "0:0"], 2, "--templates 0:0: give pairs of two template numbers, such as 0:1,0:2"),
        (["a", "b", "--templates", "0:1"], 2, "templates of one run with each other: name one RUN"),
        (["a", "--pairs", "margin"], 2, "with one RUN, give pairs of estimators such as margin:base"),
        (
            ["a", "--pairs", "margin:sure"],
            2,
            "a has no estimator sure (no such name, or templates or replies that it lacks); give some of base, ",
        ),
        (["a", "b", "--metric", "bries"], 2, "--metric: no 'bries'; did you mean brier"),
        (["a", "b", "--baseline", "x"], 2, "--baseline 'x': give one of a, b"),
        (["a", "b", "--baseline", "a", "--pairs", "all"], 2, "--pairs and --baseline contradict each other"),
        (["a", "b", "--plot", "f.gif"], 2, "f.gif: figures are written as .png, .svg, .pdf; name one of these suff"),
        (["a", "b", "--width", "single"], 2, "--look width applies to the figure; give --plot F.png, F.svg or F.pdf"),
        (["a", "b", "--margin", 0], 2, "Invalid value for '--margin'"),
        (["a", "a"], 2, "name one run or more, each once"),
        (["a", "few"], 2, "a and few differ in templates: 0-2 against 0: score both alike, or compare what they have"),
        (["a", "b", "--pairs", "a:x"], 2, "--pairs 'a:x': give A:B with A and B of a, b"),
        (
            ["a", "c", "b", "--pairs", "a:c", "--estimator", "sure"],
            2,
            "no pair has the templates, or shared candidates, for sure; give",
        ),
        (["a", "c", "few"], 2, "few and a differ in templates"),
        (["a", "none"], 3, "none: no such run; make one with `calprobe score --model NAME --out none`"),
        (["a", "b", "--bins", 0], 2, "Invalid value for '--bins'"),
    ],
)
def test_what_goes_wrong_is_said(arguments: list[object], code: int, message: str) -> None:
    done = calprobe("compare", *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert (done.stdout, len(done.stderr.splitlines()) <= 2) == ("", True)


def test_two_paths_of_one_model_do_not_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("padded", "plain"):
        options = ["--templates", "0", "--relations", "continent", "--limit", "12", "--quiet", "--path", path]
        main(["score", "--model", "tiny-clm", "--out", str(tmp_path / path), *options])
    done = calprobe("compare", "padded", "plain", "--estimator", "margin", "--reduction", "sum_answer", "--json")
    (pair,) = json.loads(done.stdout)["pairs"]
    assert pair["all"]["ties"] == pair["all"]["instances"] == 12
    differences = [pair["all"]["accuracy"], *pair["all"]["estimators"]["margin"].values()]
    assert {(own["difference"]["value"], own["difference"]["p"]) for own in differences} == {(0.0, 1.0)}


@pytest.mark.proof
def test_the_tiny_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for model in ("tiny-clm", "tiny-mlm"):
        options = ["--templates", "0,1", "--relations", "continent", "--limit", "12", "--quiet"]
        main(["score", "--model", model, "--out", str(tmp_path / model), *options])
    done = calprobe("compare", "tiny-clm", "tiny-mlm", "--json", "--bootstrap", 20)
    assert (done.returncode, done.stderr) == (0, "")
    content = json.loads(done.stdout)
    assert [run["kind"] for run in content["runs"].values()] == ["causal", "masked"]
    (pair,) = content["pairs"]
    assert (pair["accuracy_of"], pair["all"]["instances"], pair["differences"]) == ("bear_score", 12, [])
    runs = report([tmp_path / "tiny-clm", tmp_path / "tiny-mlm"], ReportOptions(resampling=Resampling(20)))
    reports = list(runs.to_json().values())
    assert [pair["all"]["accuracy"][side] for side in ("first", "second")] == [one["bear_score"] for one in reports]
    brier = pair["all"]["estimators"]["average_min"]["brier"]
    assert [brier[side] for side in ("first", "second")] == [
        one["estimators"]["average_min"]["brier"] for one in reports
    ]
