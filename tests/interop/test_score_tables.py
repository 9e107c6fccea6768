"""Tables of scores and correctness: three formats, one content; refusals name file, line and fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from calprobe.errors import ProbeFormatError, UsageError
from calprobe.interop.score_tables import read_scored_answers
from calprobe.runs import table_files

TABLE = pa.table(
    {
        "text": ["plain", 'two\nlines, and "quotes"', ""],
        "entropy": [1.5, float("-inf"), 2.0],
        "count": [3, 4, 5],
        "right": [True, False, True],
        "rouge": [0.5, 0.25, 1.0],
    }
)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".CSV"])
def test_a_table_reads_the_same_in_each_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"scores{suffix}"
    table_files.write_tables(TABLE.schema, [TABLE], path)
    answers = read_scored_answers(path, ["entropy", "count"], "right")
    assert {name: scores.tolist() for name, scores in answers.scores.items()} == {
        "entropy": [1.5, float("-inf"), 2.0],
        "count": [3.0, 4.0, 5.0],
    }
    assert answers.correct.tolist() == [1, 0, 1]
    assert read_scored_answers(path, ["rouge"], "rouge", correct_at=0.5).correct.tolist() == [1, 0, 1]


def test_json_lines_and_texts_that_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text('{"s": "-1.5", "right": "True"}\n{"right": 0, "other": [], "s": -Infinity}\n')
    answers = read_scored_answers(path, ["s"], "right")
    assert (answers.scores["s"].tolist(), answers.correct.tolist()) == ([-1.5, float("-inf")], [1, 0])


def _write(folder: Path, name: str, content: str | bytes | pa.Table) -> Path:
    path = folder / name
    if isinstance(content, pa.Table):
        table_files.write_tables(content.schema, [content], path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "a.csv: empty, without a line of column names"),
        ("a.csv", "s,right\n", "a.csv:1: no row in the table; give one with an answer a row"),
        ("a.csv", "s;right\n0,75;1\n", "a.csv:2: s '0,75' is no number; write 0.75"),
        ("a.csv", "s,right\n1,1\n\n,0\n", "a.csv:4: s (empty) is no number; give one, or remove the line"),
        ("a.csv", 's,right,t\n1,1,"a\nb"\nnan,0,\n', "a.csv:4: s 'nan' is no number"),
        ("a.csv", "s,right\n1,1\n2,0,3\n", "a.csv:3: 3 fields, 2 in the header; fix the line"),
        ("a.csv", 's,right\n1,"1\n', "a.csv:2: not CSV (unexpected end of data); fix the line"),
        (
            "a.csv",
            "s,right\n1,0.5\n",
            "a.csv:2: right '0.5' is neither right (1, true, yes) nor wrong (0, false, no); a quality is for",
        ),
        ("a.csv", "s,right\n1,maybe\n", "a.csv:2: right 'maybe' is no number"),
        ("a.csv", b"s,right\n1,1\n\xff,0\n", "a.csv:3: not UTF-8 (byte 0xff); save the file as UTF-8"),
        ("a.csv", "right,score\n1,1\n", "a.csv: no column 's'; its columns are right, score"),
        ("a.csv", '"s\nt",right\n1,1\n', "a.csv: no column 's'; its columns are s t, right"),
        ("a.csv", "s, right\n1, 1\n", "a.csv: no column 'right', but ' right'; take the blanks off its name"),
        ("a.csv", "s,s,right\n1,1,1\n", "a.csv: several columns 's'; its columns are s, s, right"),
        ("a.csv", "s,s, s,right\n1,1,1,1\n", "a.csv: several columns 's'; its columns are"),
        ("a.jsonl", '{"s": 1, "right": 1}\n{"s": null, "right": 1}\n', "a.jsonl:2: s (empty) is no number"),
        ("a.jsonl", '{"s": true, "right": 1}\n', "a.jsonl:1: s True is no number"),
        ("a.jsonl", '{"s": 1, "right": 1}\n{"s": 1}\n', "a.jsonl:2: right (empty) is no number"),
        ("a.jsonl", '{"s": 1}\n', "a.jsonl: no column 'right'; its columns are s"),
        ("a.parquet", b"PAR1", "a.parquet: cannot be read ("),
        ("a.parquet", pa.table({"s": [1.0, None], "right": [1, 0]}), "a.parquet: row 2: s (empty) is no number"),
        ("a.parquet", pa.table({"s": [[1.0]], "right": [1]}), "a.parquet: row 1: s [1.0] is no number"),
        ("a.txt", "s,right\n", "a.txt: the suffix sets the format; give one of .csv, .parquet, .jsonl"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, name: str, content: Any, message: str) -> None:
    path = _write(tmp_path, name, content)
    with pytest.raises((ProbeFormatError, UsageError)) as raised:
        read_scored_answers(path, ["s"], "right")
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(path))
