"""`calprobe compare` of a run of scores with a run of replies: what is printed, what is written, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import same_facts as made
from asked_samples import write_asked
from commands import calprobe
from run_samples import write_run

QUICK = ("--bootstrap", "20")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """All scored, and asked as choices; every answer of the asked run is right."""
    folder = tmp_path_factory.mktemp("ways")
    write_asked(folder / "asked", made.fact_set())
    return made.scored(folder / "scored"), folder / "asked"


def test_the_same_facts_are_shown_in_several_ways(runs: tuple[Path, Path], tmp_path: Path) -> None:
    facts, page, figure = (tmp_path / name for name in ("facts.csv", "page.html", "ways.svg"))
    files = ("--tables", "all", "--facts", facts, "--html", page, "--plot", figure)
    done = calprobe("compare", *runs[::-1], *QUICK, "--variants", "direct", "--label", "asked=letters", *files)
    assert done.returncode == 0, done.stderr
    assert "12 facts of 2 relations that all runs have, of 12 that any of them has." in done.stdout
    for said in ("A ranks all", "B ranks options of C", "C chooses", "letters, direct", "SEVERAL MODELS", "few facts"):
        assert said in done.stdout
    assert f"wrote {facts}" in done.stderr
    drawn = ("reliability", "two-by-two", "relations", "correlations")
    assert sorted(file.name for file in tmp_path.glob("*.svg")) == sorted(f"ways-{name}.svg" for name in drawn)
    assert "letters" in page.read_text("utf-8")
    written = pd.read_csv(facts)
    assert len(written) == 12
    assert written["C_correct"].all()
    assert written["A_correct"].sum() == 7


def test_as_json_and_in_files(runs: tuple[Path, Path]) -> None:
    done = calprobe("compare", *runs, *QUICK, "--variants", "direct", "--json")
    found = json.loads(done.stdout)
    assert found["two_by_two"][0]["counts"] == {
        "both_right": 8,
        "only_ranked_right": 0,
        "only_answered_right": 4,
        "neither_right": 0,
    }
    csv = calprobe("compare", *runs, *QUICK, "--variants", "direct", "--format", "csv").stdout.splitlines()
    assert any("spearman" in line for line in csv)
    for form in ("markdown", "latex"):
        done = calprobe("compare", *runs, *QUICK, "--variants", "direct", "--format", form)
        assert done.returncode == 0, done.stderr
        assert "both right" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--intersect",), "--intersect applies to runs of scores, and "),
        (("--baseline", "scored"), "--baseline applies to runs of scores or runs of replies, and "),
        (("--variants", "direct:steps"), "give names of variants, such as direct,steps"),
        (("--variants", "dierct"), "did you mean direct"),
    ],
)
def test_options_that_say_nothing_of_both_are_refused(
    runs: tuple[Path, Path], arguments: tuple[str, ...], said: str
) -> None:
    done = calprobe("compare", *runs, *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_facts_are_written_as_csv_alone(runs: tuple[Path, Path], tmp_path: Path) -> None:
    done = calprobe("compare", *runs, "--facts", tmp_path / "facts.parquet")
    assert done.returncode == 2
    assert "give a name that ends in .csv" in done.stderr


def test_facts_of_another_probe_and_facts_without_scores_are_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    done = calprobe("compare", write_run(tmp_path / "other"), runs[1])
    assert done.returncode == 2
    assert "facts of another probe" in done.stderr
    done = calprobe("compare", runs[0], "--facts", tmp_path / "f.csv")
    assert done.returncode == 2
    assert "--facts applies to runs of scores with runs of replies" in done.stderr
