"""`calprobe report`: table, JSON, usage errors, and what it does not import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import calprobe
from compared_runs import SHAPES, run_of, with_model
from run_samples import write_run

from calprobe.analysis import ReportOptions, SliceOptions, compare_reductions, report
from calprobe.metrics import Resampling
from calprobe.studies.scored.choice import choose

pytestmark = pytest.mark.usefixtures("each_report_once")


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "complete")


def test_table_in_a_pipe(run_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"} | {"PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "calprobe", "report", str(run_path), "--bootstrap", "20"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{run_path}: complete; path padded")
    assert "\x1b" not in done.stdout


def test_json_takes_every_option(run_path: Path) -> None:
    options = ["--reduction", "mean", "--compat", "kissling2026", "--bins", 5, "--bootstrap", 20, "--seed", 2]
    options += ["--cluster", "relation"]
    done = calprobe("report", run_path, "--json", *options)
    expected = report(str(run_path), ReportOptions("mean", "kissling2026", 5, Resampling(20, 2), "relation"))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_json()))


def test_slices(run_path: Path) -> None:
    options = ["--by", "cardinality", "--estimator", "margin,entropy", "--bootstrap", 20]
    done, as_json = calprobe("report", run_path, *options), calprobe("report", run_path, *options, "--json")
    asked = SliceOptions("cardinality", ("margin", "entropy"))
    expected = report(str(run_path), ReportOptions(resampling=Resampling(20), slices=asked))
    assert (done.returncode, done.stderr, as_json.stderr) == (0, "", "")
    shown = choose(expected, ("margin", "entropy"), None)
    assert json.loads(as_json.stdout) == json.loads(json.dumps(shown.to_json()))
    assert "\ncardinality " in done.stdout


def test_chosen_estimators_need_no_slices(run_path: Path) -> None:
    done = calprobe("report", run_path, "--json", "--estimator", "entropy,base", "--bootstrap", 0)
    assert (done.returncode, done.stderr) == (0, "")
    (content,) = json.loads(done.stdout).values()
    assert list(content["estimators"]) == ["entropy", "base"]
    assert "slices" not in content


def test_against_the_paper(tmp_path: Path) -> None:
    path = run_of(tmp_path / "gpt2", change=with_model(name="gpt2"))
    options = ["--against", "paper", "--bootstrap", 20]
    done, as_json = calprobe("report", path, *options), calprobe("report", path, *options, "--json")
    assert (done.returncode, done.stderr, as_json.stderr) == (0, "", "")
    row = json.loads(as_json.stdout)[path]["against"]["rows"][0]
    assert (row["table"], row["estimator"], row["metric"]) == ("1", "base", "ace")
    assert (row["paper"], row["difference"]) == (0.295, pytest.approx(row["ours"]["value"] - 0.295))
    line = next(line for line in done.stdout.splitlines() if line.startswith("  base ACE "))
    assert line.split()[2] == f"{row['ours']['value']:.4f}"


def test_all_reductions(run_path: Path) -> None:
    options = ["--reduction", "all", "--compat", "kissling2026", "--bins", 5, "--bootstrap", 20, "--seed", 2]
    done, as_json = calprobe("report", run_path, *options), calprobe("report", run_path, *options, "--json")
    expected = compare_reductions(str(run_path), ReportOptions("sum", "kissling2026", 5, Resampling(20, 2)))
    assert (done.returncode, done.stderr, as_json.stderr) == (0, "", "")
    assert json.loads(as_json.stdout) == json.loads(json.dumps(expected.to_json()))
    assert done.stdout.startswith(f"{run_path}: complete; path padded")
    assert f"{expected.runs[0].reductions[0].harmonic_mean:.4f}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["RUN", "--bins", 0], 2, "Invalid value for '--bins'"),
        (["RUN", "--bootstrap", -1], 2, "Invalid value for '--bootstrap'"),
        (["RUN", "--reduction", "median"], 2, "Invalid value for '--reduction'"),
        (["RUN", "--cluster", "template"], 2, "Invalid value for '--cluster'"),
        (
            ["RUN", "--by", "template"],
            2,
            "--by: no 'template'; give some of relation, domain, cardinality, tree, or a file",
        ),
        (["RUN", "--by", "tree", "--by-groups", 3], 2, "--by tree finds its own cuts, leave it out"),
        (["RUN", "--by", "tree:no.csv"], 3, "no.csv: no such file"),
        (["RUN", "--graders", "all"], 2, "--graders applies to runs of replies"),
        (["RUN", "--by", "domain", "--estimator", "best"], 2, "has no estimator best"),
        (["RUN", "--estimator", "best"], 2, "the report has no estimator best (no such name"),
        (["RUN", "--by", "domain", "--reduction", "all"], 2, "leave out --by or --reduction all"),
        (["RUN", "--against", "paper", "--bootstrap", 0], 2, "tiny: not among the paper's models; they are bert-base"),
        (["RUN", "--against", "no.json"], 2, "'no.json' is not one of 'paper', 'audit2026'"),
        (["RUN", "--compat", "paper"], 2, "Invalid value for '--compat'"),
        ([], 2, "Missing argument 'RUN..'"),
        (["RUN", "RUN"], 2, "name one run or more, each once"),
        (["nowhere"], 3, "nowhere: no such run; make one with `calprobe score"),
    ],
)
def test_what_goes_wrong_is_said(run_path: Path, arguments: list[object], code: int, message: str) -> None:
    done = calprobe("report", *(run_path if argument == "RUN" else argument for argument in arguments))
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_torch_is_never_imported(run_path: Path) -> None:
    code = (
        "import sys\n"
        "import calprobe.metrics, calprobe.confidence\n"
        "from calprobe.cli import app\n"
        "app.cli.main(['report', sys.argv[1], '--bootstrap', '20'], standalone_mode=False)\n"
        "sys.exit(bool({'torch', 'transformers', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(run_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_averages_of_runs_that_were_not_asked_the_same_say_what_they_need(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / name) for name in "ab"] + [run_of(tmp_path / "c", shapes=SHAPES[:2])]
    done = calprobe("report", *runs, "--bootstrap", 0, "--tables", "averages")
    assert done.returncode == 2
    assert "averages three that were asked the same" in done.stderr
