"""Tables as a tidy CSV file: a line a number, read back by the csv module."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from calprobe.metrics import Estimate
from calprobe.show.tables import Column, Row, Table, tidy_csv
from calprobe.show.tables.csv import harmless

NAN = float("nan")
TABLE = Table(
    caption="Caption.",
    label="x",
    stub="estimator",
    columns=(
        Column("ACE", "smaller", keys={"metric": "ace"}),
        Column("AUROC", "larger", keys={"metric": "auroc"}, printed=False),
    ),
    rows=(
        Row("base", (Estimate(0.1 + 0.2, 0.1, np.float64(0.4)), Estimate(NAN)), keys={"estimator": "base"}),
        Row("margin", (Estimate(-0.25), 3), keys={"estimator": "margin"}),
        Row("none", (None, None), keys={"estimator": "none"}),
    ),
    keys={"run": 'a,b "c"\nd', "model": "=1+1"},
    about={"partial": "true"},
    totals={"bear_score": Estimate(0.5, 0.25, 0.75)},
)
HEAD = ["run", "model", "estimator", "metric", "value", "low", "high", "best", "partial"]


def read(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines(keepends=True)))


def test_lines() -> None:
    run = ['a,b "c" d', "'=1+1"]
    assert read(tidy_csv([TABLE])) == [
        HEAD,
        [*run, "base", "ace", "0.30000000000000004", "0.1", "0.4", "false", "true"],
        [*run, "base", "auroc", "", "", "", "false", "true"],
        [*run, "margin", "ace", "-0.25", "", "", "true", "true"],
        [*run, "margin", "auroc", "3", "", "", "false", "true"],
        [*run, "", "bear_score", "0.5", "0.25", "0.75", "false", "true"],
    ]


def test_tables_of_one_file_share_its_columns() -> None:
    other = replace(TABLE, keys={"relation": "P30"}, about={}, totals={}, rows=TABLE.rows[:1])
    lines = read(tidy_csv([TABLE, other, replace(TABLE, tidy=False)]))
    assert lines[0] == ["run", "model", "estimator", "metric", "relation", *HEAD[4:]]
    assert lines[-1] == ["", "", "base", "auroc", "P30", "", "", "", "false", ""]
    assert len(lines) == 1 + 5 + 2


@pytest.mark.parametrize(
    ("text", "plain"),
    [("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "' =1"), ("a\r\nb", "a b")],
)
def test_text_is_no_formula(text: str, plain: str) -> None:
    assert harmless(text) == plain
    row = Row("row", (text, Estimate(0.5)), keys={"estimator": text})
    line = read(tidy_csv([replace(TABLE, rows=(row,), totals={})]))[1]
    assert line[2] == line[4] == plain


def test_other_text_stays_as_it_is() -> None:
    assert [harmless(text) for text in ("", "runs/a=b", "<s>", "א")] == ["", "runs/a=b", "<s>", "א"]


def test_without_a_table_there_is_a_head_alone() -> None:
    assert tidy_csv([]) == "value,low,high,best"
