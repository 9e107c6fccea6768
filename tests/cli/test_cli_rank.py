"""`calprobe rank`: a table in, numbers on stdout, one line for what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import exit_code

TABLE = "entropy,sure,right,rouge\n5.5,0.25,0,0.1\n1.0,0.75,1,0.5\n2.0,1.0,1,0.9\n2.5,0.5,0,0.4\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(TABLE)
    return path


def test_the_help_of_bins_speaks_of_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("rank", "--help") == 0
    found = " ".join(capsys.readouterr().out.split())
    assert "auto: 4 to 20, by the number of answers. [default: 20]" in found


def test_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--score", "entropy", "--correct", "rouge", "--correct-at", 0.5, "--uncertainty", "--json")
    assert exit_code("rank", table, *arguments, "--bootstrap", 20) == 0
    (found,) = json.loads(capsys.readouterr().out).values()
    metrics = found["scores"]["entropy"]
    assert (found["answers"], metrics["auroc"]["value"], metrics["prr"]["value"]) == (4, 1.0, 1.0)
    assert set(metrics) == {"accuracy", "auroc", "aurc", "e_aurc", "augrc", "prr", "prr_50"}


def test_a_table(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--score", "sure", "--score", "entropy", "--correct", "right", "--bootstrap", 0)
    assert exit_code("rank", table, *arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{table}: 4 answers"
    assert lines[2].split() == ["metric", "sure", "entropy"]
    assert ["AUROC", "1.0000", "0.0000"] in [line.split() for line in lines]
    assert ["Brier", "0.0938", "-"] in [line.split() for line in lines]
    assert "entropy: AUROC 0.00 is far below 0.5; is it an uncertainty?" in " ".join(lines)
    assert all(len(line) <= 80 for line in lines[1:])


def test_a_confidence_and_an_uncertainty_together(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--score", "sure", "--uncertainty", "entropy", "--correct", "right", "--bootstrap", 0)
    assert exit_code("rank", table, *arguments) == 0
    assert ["AUROC", "1.0000", "1.0000"] in [line.split() for line in capsys.readouterr().out.splitlines()]
    assert exit_code("rank", table, *arguments, "--baseline", "sure", "--format", "csv") == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].startswith("file,metric,score,")
    assert any("difference" in row and "auroc" in row for row in rows)
    for form, start in (("markdown", str(table)), ("latex", "%")):
        assert exit_code("rank", table, *arguments, "--format", form) == 0
        assert capsys.readouterr().out.startswith(start)


def test_rows_of_several_estimators_are_no_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "confidences.csv"
    path.write_text("estimator,confidence,correct\nbase,0.9,True\nmargin,0.5,True\nbase,0.2,False\nmargin,0.1,False\n")
    arguments = ("rank", path, "--score", "confidence", "--correct", "correct", "--bootstrap", 0)
    assert exit_code(*arguments) == 2
    assert "its rows are of 2 estimators (base, margin), an answer in a row of each" in capsys.readouterr().err
    assert exit_code(*arguments, "--group", "estimator") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines if line[:1] in (["base"], ["margin"])] == [["base", "2"], ["margin", "2"]]
    assert exit_code(*arguments, "--group", "estimator", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out).values()
    assert found["groups"]["base"]["scores"]["confidence"]["brier"]["value"] == pytest.approx(0.025)


@pytest.mark.parametrize("words", [("yes", "No"), ("TRUE", "false"), ("y", "n"), ("1", "0.0")])
def test_words_for_right_and_wrong(words: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"s,right\n0.9,{words[0]}\n0.1,{words[1]}\n")
    assert exit_code("rank", path, "--score", "s", "--correct", "right", "--bootstrap", 0, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out).values()
    assert found["scores"]["s"]["accuracy"]["value"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--score", "none", "--correct", "right"], 2, "no column 'none'; its columns are entropy, sure, right, rouge"),
        (["--score", "sure", "--correct", "rouge"], 1, "answers.csv:2: rouge '0.1' is neither right"),
        (["--score", "sure", "--correct", "rouge", "--correct-at", "nan"], 2, "nan is not finite"),
        (["--score", "sure", "--correct", "rouge", "--correct-at", "-inf"], 2, "-inf is not finite"),
        (["--correct", "right"], 2, "no scores: give their columns with --score or --uncertainty"),
        (["--score", "sure", "--uncertainty", "sure", "--correct", "right"], 2, "sure: given as --score and as --unc"),
        (["--score", "sure", "--baseline", "sure", "--correct", "right"], 2, "give another score to compare with it"),
        (["--score", "sure", "--score", "entropy", "--baseline", "x", "--correct", "right"], 2, "'x' is not one of"),
        (["--score", "sure"], 2, "no column 'correct'"),
    ],
)
def test_what_goes_wrong_is_said(
    table: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert exit_code("rank", table, *arguments) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert (captured.out, len(captured.err.splitlines()) <= 2) == ("", True)


def test_torch_is_never_imported(table: Path) -> None:
    code = (
        "import sys; from calprobe.cli import app\n"
        "asked = ['--score', 'sure', '--correct', 'right', '--bootstrap', '20']\n"
        "app.cli.main(['rank', sys.argv[1], *asked], standalone_mode=False)\n"
        "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code, str(table)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
