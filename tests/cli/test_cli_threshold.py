"""`calprobe threshold`: fixed on one half, checked on the other, written and applied, or not found."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import calprobe
from calprobe.cli.app import cli
from calprobe.errors import CalprobeError
from calprobe.metrics import fix_threshold, kept_at

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    p = rng.random(1200).round(6)
    right = rng.random(1200) < p
    lines = (f"{a},{-math.log(a + 1e-9)},{int(y)},{i // 3}" for i, (a, y) in enumerate(zip(p, right, strict=True)))
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["p,u,y,q", *lines]) + "\n", "utf-8")
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(cli, ["threshold", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_table_is_split_and_checked_on_the_other_half(table: Path) -> None:
    (found,) = json.loads(run(table, "--score", "p", "--correct", "y", "--risk", 0.2, "--json"))["thresholds"]
    p, y = np.loadtxt(table, delimiter=",", skiprows=1, usecols=(0, 2)).T
    half = np.random.default_rng([0, 2]).permutation(1200) < 600
    fixed = fix_threshold(p[half], y[half], 0.2)
    kept = kept_at(p[~half], y[~half], fixed.threshold)
    assert found["threshold"] == fixed.threshold
    checked = found["checked"]
    assert (checked["answers"], checked["kept"], checked["wrong"]) == (600, kept.kept, kept.wrong)
    assert checked["risk_upper"] == kept.upper
    # An uncertainty of the same order has the same answers; its threshold is turned round.
    (turned,) = json.loads(run(table, "--uncertainty", "u", "--correct", "y", "--risk", 0.2, "--json"))["thresholds"]
    assert (turned["checked"], turned["answer_if"]) == (checked, "at_most")
    assert turned["threshold"] == pytest.approx(-math.log(fixed.threshold), abs=1e-6)
    by_question = run(table, "--score", "p", "--correct", "y", "--risk", 0.2, "--cluster", "q", "--json")
    assert json.loads(by_question)["thresholds"][0]["clustered"]


def test_scores_of_which_the_same_is_said_share_a_sentence() -> None:
    said = " ".join(run(RUNS / "audit", "--risk", 0.2).split())
    found = json.loads(run(RUNS / "audit", "--risk", 0.2, "--json"))["thresholds"]
    assert all(one["score"] in said for one in found)
    outcomes = {
        (one["cell"], one["threshold"], *(tuple((one[part] or {}).values()) for part in ("tested", "checked")))
        for one in found
    }
    assert len(outcomes) < len(found)  # or the test shows nothing
    assert said.count("no threshold will do") + said.count("answer where it is") <= len(outcomes)


def test_a_threshold_is_written_and_decides_on_new_scores(table: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    said = run(table, "--score", "p", "--correct", "y", "--risk", 0.2, "--out", file)
    assert "answer where it is at least" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80
    threshold = calprobe.Threshold.load(file)
    new = tmp_path / "new.csv"
    new.write_text(f"id,p\na,{threshold.threshold}\nb,0.01\nc,\n", "utf-8")
    decided = run("--apply", file, new).splitlines()
    assert decided[0] == "id,p,decision"
    assert [line.rpartition(",")[2] for line in decided[1:]] == ["answer", "abstain", "abstain"]
    assert threshold.answers([0.0, 1.0]).tolist() == [False, True]


def test_a_threshold_of_probabilities_decides_on_no_percentages(table: Path, tmp_path: Path) -> None:
    file, percent = tmp_path / "t.json", tmp_path / "new.csv"
    run(table, "--score", "p", "--correct", "y", "--risk", 0.2, "--out", file)
    percent.write_text("p\n0.9\n90\n", "utf-8")
    refused = CliRunner().invoke(cli, ["threshold", "--apply", str(file), str(percent)])
    assert isinstance(refused.exception, CalprobeError)
    assert f"{percent}:3: p is 90, {file} was fixed on scores from 0 to 1" in str(refused.exception)
    assert refused.stdout == ""
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        calprobe.Threshold.load(file).answers([0.5, -1.0, math.nan])
    unsure = tmp_path / "u.json"
    run(table, "--uncertainty", "u", "--correct", "y", "--risk", 0.2, "--out", unsure)
    assert calprobe.Threshold.load(unsure).answers([90.0]).tolist() == [False]
    earlier = {key: value for key, value in json.loads(file.read_text("utf-8")).items() if key != "scale"}
    file.write_text(json.dumps(earlier), "utf-8")  # as written before files said so
    assert calprobe.Threshold.load(file).answers([90.0]).tolist() == [True]


def test_a_threshold_is_applied_to_a_column_of_its_own_direction(table: Path, tmp_path: Path) -> None:
    sure, unsure, new = tmp_path / "sure.json", tmp_path / "unsure.json", tmp_path / "new.csv"
    run(table, "--score", "p", "--correct", "y", "--risk", 0.2, "--out", sure)
    run(table, "--uncertainty", "u", "--correct", "y", "--risk", 0.2, "--out", unsure)
    new.write_text("conf,ent\n0.99,0.01\n0.01,4.6\n", "utf-8")
    for named in ((sure, new, "--score", "conf"), (unsure, new, "--uncertainty", "ent")):
        assert [line.rpartition(",")[2] for line in run("--apply", *named).splitlines()[1:]] == ["answer", "abstain"]
    both = tmp_path / "both.csv"
    both.write_text("p,decision\n0.9,answer\n", "utf-8")
    for named, why in (
        ((sure, new), "no column 'p' (it has conf, ent); name one with --score"),
        ((unsure, new), "no column 'u' (it has conf, ent); name one with --uncertainty"),
        (
            (sure, new, "--uncertainty", "ent"),
            "was fixed on p, larger for surer answers; name such a column with --score",
        ),
        ((unsure, new, "--score", "conf"), "was fixed on u, smaller for surer answers; name such a column with --u"),
        ((sure, new, "--score", "conf", "--uncertainty", "ent"), "name such a column with --score"),
        ((sure, new, "--risk", 0.1), "--risk changes nothing with --apply; leave it out"),
        ((sure, new, "--estimator", "p"), "--estimator changes nothing with --apply"),
        ((sure, new, "--json"), "--json changes nothing with --apply"),
        ((sure, both), "has a column 'decision' already; rename it or take it out"),
    ):
        refused = CliRunner().invoke(cli, ["threshold", "--apply", *map(str, named)])
        assert why in refused.output + str(refused.exception)
        assert refused.stdout == ""


def test_where_none_will_do_it_says_what_is_needed(table: Path, tmp_path: Path) -> None:
    said = run(table, "--score", "p", "--correct", "y", "--risk", 0.001)
    assert "no threshold will do. That takes 2,995 tested answers" in " ".join(said.split())
    assert "59" in run("--risk", 0.05)
    refused = CliRunner().invoke(cli, ["threshold", "--risk", "0.05", "--out", str(tmp_path / "t.json")])
    assert "--out is of answers; name a RUN or a FILE" in refused.output + str(refused.exception)


def test_where_none_will_do_no_file_is_written_and_an_earlier_one_is_named(table: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    arguments = [str(table), "--score", "p", "--correct", "y", "--risk", "0.001", "--out", str(file)]
    why = f"{file} is not written: there is no threshold; allow a larger --risk"
    for there, said in ((None, why), ("earlier", f"{why}; the file that is there is of an earlier call")):
        if there is not None:
            file.write_text(there, "utf-8")
        done = CliRunner().invoke(cli, ["threshold", *arguments])
        assert isinstance(done.exception, CalprobeError)
        assert (str(done.exception), done.exception.exit_code) == (said, 1)
        assert "no threshold will do" in " ".join(done.stdout.split())
        assert (file.read_text("utf-8") if file.exists() else None) == there


def test_of_too_few_questions_no_share_is_said(tmp_path: Path) -> None:
    few = tmp_path / "few.csv"
    few.write_text("q,p,y\n1,0.9,1\n1,0.8,0\n2,0.7,1\n", "utf-8")
    columns = ("--score", "p", "--correct", "y", "--risk", 0.2)
    said = " ".join(run(few, *columns, "--cluster", "q").split())
    assert said.endswith("no threshold will do with 2 answers tested, of too few questions or relations.")
    assert " ".join(run(few, *columns).split()).endswith("without an error above it, or more; here are 2.")


def test_relations_are_clusters_where_they_are_named(tmp_path: Path) -> None:
    clm = tmp_path / "clm"
    calprobe.score("tiny-clm", out=clm, options=calprobe.ScoreOptions(quiet=True))
    by_instance, by_relation = (
        json.loads(run(clm, "--risk", 0.3, "--estimator", "margin", *more, "--json"))["thresholds"][0]
        for more in ((), ("--cluster", "relation"))
    )
    assert (by_instance["clustered"], by_relation["clustered"]) == (False, True)
    assert by_instance["threshold"] is not None
    assert by_relation["threshold"] is None  # seventeen relations prove little


def test_of_the_most_frequent_answer_a_question_is_one_answer() -> None:
    run_of_samples = Path(__file__).resolve().parents[1] / "golden" / "runs" / "wording"
    arguments = ("--risk", 0.5, "--level", 0.5, "--estimator", "frequency.majority", "--json")
    (found,) = json.loads(run(run_of_samples, *arguments))["thresholds"]
    questions = len({row.question for row in calprobe.open_run(run_of_samples).by_piece.popitem()[1].replies})
    assert found["tested"]["answers"] + found["checked"]["answers"] + 1 == questions  # one is the pilot
    assert not found["clustered"]


def test_no_file_that_is_read_is_overwritten(table: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    run(table, "--score", "p", "--correct", "y", "--risk", 0.2, "--out", file)
    before = table.read_text("utf-8"), file.read_text("utf-8")
    fixing = [table, "--score", "p", "--correct", "y", "--risk", 0.2, "--out", table]
    for arguments in (fixing, ["--apply", file, table, "--out", table], ["--apply", file, table, "--out", file]):
        refused = CliRunner().invoke(cli, ["threshold", *map(str, arguments)])
        assert "belongs to what is read, and would be overwritten; give another --out" in str(refused.exception)
    assert (table.read_text("utf-8"), file.read_text("utf-8")) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--risk: give the share"),
        (("--risk", "2"), "--risk must lie between 0 and 1"),
        (("TABLE", "--risk", ".1"), "give one column of scores"),
        (("TABLE", "--risk", ".1", "--score", "p", "--correct", "y", "--by", "relation"), "--by relation"),
        (("--apply", "TABLE", "TABLE"), "not a file of a threshold"),
        ((str(RUNS / "clm"), "--risk", ".1", "--cluster", "q"), "can be in clusters by relation"),
    ],
)
def test_mistakes_are_refused(table: Path, arguments: tuple[str, ...], message: str) -> None:
    words = [str(table) if word == "TABLE" else word for word in arguments]
    result = CliRunner().invoke(cli, ["threshold", *words])
    assert message in result.output + str(result.exception)
    assert result.exit_code != 0
