"""`--label RUN=NAME`: one name for a run wherever it is shown."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from commands import calprobe
from compared_runs import run_of, with_model

from calprobe.cli.label_option import labelled
from calprobe.errors import UsageError

QUICK = ("--bootstrap", 0)

pytestmark = pytest.mark.usefixtures("each_report_once")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    return run_of(folder / "a"), run_of(folder / "b", 1)


def test_names_stand_in_every_format(runs: tuple[str, str]) -> None:
    first = runs[0]
    asked = ("report", *runs, "--label", f"{first}=Ours, fp32", "--label", "b=Theirs", *QUICK)
    assert list(json.loads(calprobe(*asked, "--json").stdout)) == ["Ours, fp32", "Theirs"]
    text = calprobe(*asked).stdout
    assert text.startswith("Ours, fp32: complete; ")
    assert first not in text
    lines = list(csv.DictReader(calprobe(*asked, "--format", "csv").stdout.splitlines()))
    assert {line["run"] for line in lines} == {"Ours, fp32", "Theirs"}
    assert "of tiny (run Theirs) on made-up" in calprobe(*asked, "--format", "latex").stdout


def test_compare_and_curve_take_names(runs: tuple[str, str], tmp_path: Path) -> None:
    asked = ("--label", "a=x", "--label", "b=y", *QUICK)
    found = json.loads(calprobe("compare", *runs, "--pairs", "y:x", *asked, "--json").stdout)
    assert (found["pairs"][0]["first"], found["pairs"][0]["second"]) == ("y", "x")
    out = tmp_path / "bins.csv"
    assert calprobe("curve", *runs, "--kind", "calibration", "--out", out, *asked).returncode == 0
    assert {line["run"] for line in csv.DictReader(out.open())} == {"x", "y"}


def test_a_run_is_named_by_its_path_or_the_last_part_of_it() -> None:
    assert labelled(["runs/a", "b"], ["a=A", "b=x=y"]) == {"A": "runs/a", "x=y": "b"}
    assert labelled(["runs/a"], []) == {"runs/a": "runs/a"}
    home = str(Path.home() / "runs" / "a")
    assert labelled([home, "b"], []) == {"~/runs/a": home, "b": "b"}
    assert labelled([home], [f"{home}=A"]) == {"A": home}
    assert labelled(["x=1", "y"], ["x=1=One"]) == {"One": "x=1", "y": "y"}


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["c=C"], "--label 'c=C': give RUN=NAME with RUN of p/a, q/a, b"),
        (["a=A"], "--label 'a=A'"),  # two runs have this last part
        (["b="], "--label 'b='"),
        (["b"], "--label 'b'"),
        (["b=B", "b=C"], "--label: b has two names, B and C; give it one"),
        (["p/a=b"], "--label: two runs are called b; give them different names"),
    ],
)
def test_labels_that_name_no_run(labels: list[str], said: str) -> None:
    with pytest.raises(UsageError) as error:
        labelled(["p/a", "q/a", "b"], labels)
    assert said in str(error.value)


def test_a_run_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="a is named twice"):
        labelled(["a", "a"], ["a=A"])


def test_captions_name_the_run_where_models_repeat_and_never_a_folder(tmp_path: Path) -> None:
    model = with_model(name="/home/ada/models/tuned.gguf", id="/home/ada/models/tuned.gguf")
    runs = [run_of(tmp_path / name, seed, model) for seed, name in enumerate(("fp32", "bf16"))]
    page = tmp_path / "page.html"
    for form in ("text", "markdown", "latex", "csv"):
        found = calprobe("report", *runs, "--format", form, "--html", page, *QUICK).stdout
        assert "/home/ada" not in found
        if form in ("markdown", "latex"):
            assert "of tuned.gguf (run fp32) on" in found
            assert "of tuned.gguf (run bf16) on" in found
    html = page.read_text("utf-8")
    assert "of tuned.gguf (run bf16) on" in html
    assert "<title>tuned.gguf on made-up" in html
    alone = calprobe("report", runs[0], "--format", "latex", *QUICK).stdout
    assert "of tuned.gguf on made-up" in alone
