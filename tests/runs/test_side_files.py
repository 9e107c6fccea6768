"""Files beside the shards: those of earlier runs are read, and written again with the same bytes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from sources import ROOT

from calprobe.errors import CalprobeError
from calprobe.runs.asked_questions import read_questions, write_questions
from calprobe.runs.side_files import SideObject, SideTable
from calprobe.runs.stored_texts import read_labels, write_labels

RUNS = ROOT / "tests" / "golden" / "runs"
TABLE = SideTable("notes", pa.schema([("text", pa.string())]), "delete it")
FILE = SideObject("notes", "delete it")


def test_kept_runs_have_the_same_bytes_when_they_are_written_again(tmp_path: Path) -> None:
    labels = read_labels(RUNS / "clm")
    assert labels is not None
    write_labels(tmp_path, labels)
    write_questions(tmp_path, read_questions(RUNS / "audit"))
    for name, run in (("labels.json", "clm"), ("questions.json", "audit")):
        assert (tmp_path / name).read_bytes() == (RUNS / run / name).read_bytes()


def test_a_table_tells_what_it_is_of(tmp_path: Path) -> None:
    path = tmp_path / "new" / "notes.parquet"
    TABLE.write(path, pa.table({"text": ["a", None]}, TABLE.schema), {"by": "Ann"})
    assert TABLE.read(path, lambda table, told: (table["text"].to_pylist(), told)) == (
        ["a", None],
        {"format": 1, "by": "Ann"},
    )
    other = SideTable("grades", TABLE.schema, "grade again")
    with pytest.raises(CalprobeError, match=r"notes\.parquet: cannot be read: not the grades of a run.*; grade again"):
        other.read(path, lambda table, told: table)


def test_an_object_is_read_as_it_was_written_and_an_edit_is_found(tmp_path: Path) -> None:
    assert FILE.read(tmp_path, dict) is None
    FILE.write(tmp_path, {"by": "Zoë"})
    path = tmp_path / "notes.json"
    assert path.read_text("utf-8").startswith('{"calprobe_notes": 1, "by": "Zoë", "checksum": "')
    assert FILE.read(tmp_path, dict) == {"by": "Zoë"}
    path.write_text(path.read_text("utf-8").replace("Zoë", "Zoe"), "utf-8")
    with pytest.raises(CalprobeError, match=r"notes\.json: damaged: its checksum is wrong.*; delete it"):
        FILE.read(tmp_path, dict)
