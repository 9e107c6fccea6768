"""`calprobe show`: answers on a terminal and in files, and what to do where texts are missing."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from commands import calprobe
from labelled_runs import named_run

from calprobe.analysis import ShowOptions, answers, show


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return named_run(tmp_path_factory.mktemp("runs") / "run")


def test_the_surest_errors_by_default(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = calprobe("show", run)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    first = show(run).answers[0]
    assert f"1. {first.subject}: {first.predicted} {first.confidence:.4f}, right is {first.answer}" in done.stdout
    assert f'   "{first.statement}"' in lines
    assert "All 3 paraphrases (templates 0-2) give the same answer in" in done.stdout


@pytest.mark.parametrize("left", [0, 1])
def test_a_stopped_run_says_how_it_goes_on(run: Path, tmp_path: Path, left: int) -> None:
    """Of relations that lack a template no number is known; of none, no line and no table has "undefined"."""
    stopped = Path(shutil.copytree(run, tmp_path / "stopped"))
    shards = sorted(stopped.glob("shards/*.t2.*"))
    for shard in shards[left:]:
        shard.unlink()
    told = f"{len(shards) - 1} of {len(shards)} relations are incomplete and left out"
    told = f"{told if left else 'no relation is complete yet, so there are no numbers'}: run the `calprobe score` of"
    shown, reported = (calprobe(*command, stopped).stdout for command in (["show"], ["report", "--tables", "all"]))
    for printed in (" ".join(shown.split()), " ".join(reported.split())):
        assert told in printed.replace("No relation", "no relation")
        assert ". ." not in printed
        assert left or "undefined" not in printed
    assert ("wrong by base" in shown) == bool(left)
    assert told in " ".join(calprobe("show", stopped, "--format", "markdown").stdout.replace("\\", "").split())


def test_right_answers_do_not_repeat_the_answer(run: Path) -> None:
    done = calprobe("show", run, "--right", "--unsurest", "--top", 1)
    assert ", right (" in done.stdout
    assert "1. " in done.stdout
    assert "2. " not in done.stdout


def test_json_has_every_number(run: Path) -> None:
    done = calprobe("show", run, "--json", "--relations", "P30,P36", "--estimator", "margin", "--top", 4)
    expected = show(str(run), ShowOptions(relations=("P30", "P36"), estimator="margin", top=4))
    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_json()))


def test_a_label_names_the_run(run: Path) -> None:
    done = calprobe("show", run, "--json", "--label", f"{run.name}=GPT-2, fp32")
    assert json.loads(done.stdout)["run"] == "GPT-2, fp32"
    assert show({"GPT-2": run}).run == "GPT-2"


def test_csv_has_the_columns_of_the_frame(run: Path) -> None:
    done = calprobe("show", run, "--wrong", "--right", "--format", "csv", "--top", 100)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    frame = answers(run)
    assert list(rows[0]) == list(frame.columns)
    by_place = {(row["relation"], int(row["instance"])): row for row in rows}
    for one in frame.itertuples():
        row = by_place[one.relation, one.instance]
        assert (row["subject"], row["predicted"], row["statement"]) == (one.subject, one.predicted, one.statement)
        assert float(row["margin"]) == one.margin


@pytest.mark.parametrize(("form", "has_statement"), [("markdown", True), ("latex", False)])
def test_tables(run: Path, form: str, has_statement: bool) -> None:
    done = calprobe("show", run, "--format", form)
    first = show(run).answers[0]
    assert (done.returncode, done.stderr) == (0, "")
    assert str(first.subject) in done.stdout
    assert (str(first.statement) in done.stdout) == has_statement


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--surest", "--unsurest"], "--surest and --unsurest contradict each other"),
        (["--estimator", "margin", "--template", 0], "leave out --template or --estimator"),
        (["--relations", "P99"], "has no P99"),
        (["--top", 0], "--top"),
        (["--label", "x=GPT-2"], "--label 'x=GPT-2': give RUN=NAME"),
        (["--estimator", "margn"], "has no estimator margn; did you mean margin?"),
        (["--probe", "mini"], "probe mini: not the one that"),
    ],
)
def test_wrong_usage(run: Path, options: list[object], said: str) -> None:
    done = calprobe("show", run, *options)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_run_without_texts_says_where_to_get_them(tmp_path: Path) -> None:
    run = named_run(tmp_path / "run", labels=False)
    done = calprobe("show", run)
    assert done.returncode == 3
    assert done.stderr == (
        f"calprobe: {run}: the run has no labels, and its probe, named, is none that calprobe knows\n"
        "name it with --probe DIR\n"
    )
