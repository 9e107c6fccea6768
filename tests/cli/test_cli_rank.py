"""`calprobe rank`: a table in, numbers on stdout, one line for what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from calprobe.cli.app import main

TABLE = "entropy,sure,right,rouge\n5.5,0.25,0,0.1\n1.0,0.75,1,0.5\n2.0,1.0,1,0.9\n2.5,0.5,0,0.4\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(TABLE)
    return path


def _exit_code(*arguments: object) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--score", "entropy", "--correct", "rouge", "--correct-at", 0.5, "--uncertainty", "--json")
    assert _exit_code("rank", table, *arguments, "--bootstrap", 10) == 0
    (found,) = json.loads(capsys.readouterr().out).values()
    metrics = found["scores"]["entropy"]
    assert (found["answers"], metrics["auroc"]["value"], metrics["prr"]["value"]) == (4, 1.0, 1.0)
    assert set(metrics) == {"accuracy", "auroc", "aurc", "e_aurc", "prr"}


def test_a_table(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--score", "sure", "--score", "entropy", "--correct", "right", "--bootstrap", 0)
    assert _exit_code("rank", table, *arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [f"{table}: 4 answers", "", "metric                     sure   entropy"]
    assert ["auroc", "1.0000", "0.0000"] in [line.split() for line in lines]
    assert ["brier", "0.0938", "-"] in [line.split() for line in lines]
    assert lines[-2].startswith("Ranking metrics alone where calibration has no meaning (not all scores lie")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--score", "none", "--correct", "right"], 2, "no column 'none'; its columns are entropy, sure, right, rouge"),
        (["--score", "sure", "--correct", "rouge"], 1, "answers.csv:2: rouge '0.1' is neither right"),
        (["--score", "sure", "--correct", "rouge", "--correct-at", "nan"], 2, "nan is not finite"),
        (["--score", "sure", "--correct", "rouge", "--correct-at", "-inf"], 2, "-inf is not finite"),
        (["--correct", "right"], 2, "Missing option '--score'"),
        (["--score", "sure"], 2, "Missing option '--correct'"),
    ],
)
def test_what_goes_wrong_is_said(
    table: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert _exit_code("rank", table, *arguments) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert (captured.out, len(captured.err.splitlines()) <= 2) == ("", True)


def test_torch_is_never_imported(table: Path) -> None:
    code = (
        "import sys; from calprobe.cli import app\n"
        "asked = ['--score', 'sure', '--correct', 'right', '--bootstrap', '5']\n"
        "app.cli.main(['rank', sys.argv[1], *asked], standalone_mode=False)\n"
        "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code, str(table)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
