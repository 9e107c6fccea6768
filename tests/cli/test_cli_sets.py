"""`calprobe sets`: the sentence first, every format, a table from elsewhere, another run, mistakes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from calprobe.cli.app import cli
from calprobe.metrics import SET_RULES, answer_sets, conformal_threshold, set_scores

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(cli, ["sets", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_sentence_says_what_sets_come_to() -> None:
    printed = " ".join(run(RUNS / "clm", "--coverage", 0.8).split())
    first = json.loads(run(RUNS / "clm", "--coverage", 0.8, "--json"))["sets"][0]["rules"][0]
    size, options, coverage = first["mean_size"], first["mean_options"], first["coverage"]["value"]
    says = (
        f"the set of {size:.1f} candidates (of {options:.1f}) holds the right one in {100 * coverage:.3g} % of 16 cases"
    )
    assert f"{says} (promised 80 %; rule lac, checked on the other half)." in printed


@pytest.mark.parametrize("given", [("--coverage", 0.99), ("--coverage", 0.8, "--by", "relation")])
def test_a_threshold_of_too_few_units_is_null(given: tuple[object, ...]) -> None:
    printed = run(RUNS / "clm", *given, "--json")
    assert '"threshold": null' in printed
    assert json.loads(printed)["sets"]


def test_csv_has_the_numbers_of_json() -> None:
    rows = list(csv.DictReader(io.StringIO(run(RUNS / "clm", "--rule", "lac,naive", "--format", "csv"))))
    rules = json.loads(run(RUNS / "clm", "--rule", "lac,naive", "--json"))["sets"][0]["rules"]
    of_rule = {
        row["rule"]: row for row in rows if row.get("metric") == "coverage" and row["rule"] and not row.get("size")
    }
    for rule in rules:
        assert float(of_rule[rule["rule"]]["value"]) == pytest.approx(rule["coverage"]["value"])
    assert rules[1]["expected"] is None  # naive promises nothing


def test_a_table_decides_which_answers_to_withhold(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(1000).round(6)
    right = rng.random(1000) < p
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["p,y", *(f"{a},{int(b)}" for a, b in zip(p, right, strict=True))]) + "\n", "utf-8")
    columns = ("--score", "p", "--correct", "y")
    (found,) = json.loads(run(path, *columns, "--json"))["withheld"]
    # P(wrong and above t) = (1 - t)^2 / 2 = 0.1 at t = 0.553.
    assert found["threshold"] == pytest.approx(0.553, abs=0.08)
    assert found["answer_if"] == "above"
    assert found["coverage"]["value"] == 1 - found["wrong"] / found["units"]
    other = tmp_path / "other.csv"
    other.write_text("\n".join(path.read_text("utf-8").splitlines()[:-1]) + "\n", "utf-8")
    (again,) = json.loads(run(path, *columns, "--on", other, "--json"))["withheld"]
    assert (again["calibrated"], again["units"]) == (1000, 999)
    assert "% are right or withheld" in " ".join(run(path, *columns).split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--coverage", "2"), "--coverage must lie between 0 and 1"),
        (("--rule", "lax"), "--rule: no 'lax'"),
        (("--score", "p"), "are of tables"),
        (("--by", "group"), "--by group"),
        (("--on", str(RUNS / "audit")), "has no mini, which"),
    ],
)
def test_mistakes_are_refused(arguments: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(cli, ["sets", str(RUNS / "clm"), *arguments])
    assert message in result.output + str(result.exception)
    assert result.exit_code != 0


def write_classes(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(["cat,dog,bird,label,document", *lines]) + "\n", "utf-8")
    return path


def test_a_table_of_candidates_has_the_sets_of_its_arrays(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet([1.0, 1.0, 1.0], 300).round(6)
    shares[::3, 2] = np.nan  # a third of the rows has two candidates, which do not sum to 1
    answers = np.array([rng.choice(2 if np.isnan(row[2]) else 3) for row in shares])
    names = np.array(["cat", "dog", "bird"])
    lines = [
        ",".join(["" if np.isnan(share) else f"{share:.6f}" for share in row] + [names[answer], f"d{at // 5}"])
        for at, (row, answer) in enumerate(zip(shares, answers, strict=True))
    ]
    path = write_classes(tmp_path / "classes.csv", lines)
    columns = ("--candidates", "cat,dog,bird", "--answer", "label")
    copy = write_classes(tmp_path / "copy.csv", lines)  # not held out, so that both have the same cases
    report = json.loads(run(path, *columns, "--on", copy, "--rule", "lac,aps", "--json"))
    there = ~np.isnan(shares)
    flat = (shares / np.nansum(shares, axis=1, keepdims=True))[there]
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    for rule, own in zip(SET_RULES[:2], report["sets"][0]["rules"], strict=True):
        scores = set_scores(flat, offsets, rule)
        limit = conformal_threshold(scores[offsets[:-1] + answers], 0.9)
        sets = answer_sets(scores, offsets, answers, limit)
        assert own["rule"] == rule
        assert (own["threshold"], own["mean_size"]) == pytest.approx((limit, sets.mean_size))
        assert own["coverage"]["value"] == sets.coverage.value
        assert (own["units"], own["mean_options"]) == (300, pytest.approx(8 / 3))
    assert report["sets"][0]["score"] == "probability"
    assert json.loads(run(path, *columns, "--cluster", "document", "--json"))["sets"][0]["clustered"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0.5,0.2,,bird,a", "classes.csv:2: label 'bird' is no candidate of its row; it has cat, dog"),
        ("0.5,0.2,0.3,fish,a", "label 'fish' is no candidate of its row; it has cat, dog, bird"),
        ("0.9,0.9,0.9,cat,a", "sum to 2.7; give those of one distribution"),
        ("0,0,0,cat,a", "sum to 0; give those of one distribution"),
        ("-3.5,0.2,0.3,cat,a", "cat '-3.5' lies outside 0 and 1; give probabilities"),
        ("0.1,x,0.3,dog,a", "dog 'x' is no number"),
    ],
)
def test_rows_that_are_no_distribution_are_named(tmp_path: Path, line: str, said: str) -> None:
    path = write_classes(tmp_path / "classes.csv", [line])
    result = CliRunner().invoke(cli, ["sets", str(path), "--candidates", "cat,dog,bird", "--answer", "label"])
    assert said in str(result.exception)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--candidates", "cat"), "--candidates and --answer go together"),
        (("--answer", "label"), "--candidates and --answer go together"),
        (("--candidates", "cat", "--answer", "label", "--score", "dog"), "leave them out of --candidates"),
        (("--candidates", "cat,cow", "--answer", "label"), "no column 'cow'"),
    ],
)
def test_columns_that_do_not_go_together_are_refused(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    path = write_classes(tmp_path / "classes.csv", ["0.5,0.2,0.3,cat,a"])
    assert said in str(CliRunner().invoke(cli, ["sets", str(path), *options]).exception)


def test_a_table_of_several_estimators_is_no_table_of_cases(tmp_path: Path) -> None:
    path = tmp_path / "classes.csv"
    path.write_text("cat,dog,label,estimator\n0.5,0.5,cat,a\n0.6,0.4,cat,b\n", "utf-8")
    result = CliRunner().invoke(cli, ["sets", str(path), "--candidates", "cat,dog", "--answer", "label"])
    assert "its rows are of 2 estimators (a, b)" in str(result.exception)


@pytest.mark.parametrize("options", [("--candidates", "cat", "--answer", "label"), ("--by", "relation"), ("--on", "b")])
def test_without_a_run_or_table_nothing_is_read(options: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, ["sets", *options])
    assert result.exit_code == 2
    assert f"{options[0]} is of a RUN or FILE, and there is none" in result.output


def test_a_run_has_no_columns_of_candidates() -> None:
    result = CliRunner().invoke(cli, ["sets", str(RUNS / "clm"), "--candidates", "cat", "--answer", "label"])
    assert "are of tables" in str(result.exception)
