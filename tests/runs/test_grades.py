"""The file of grades: what comes back, which grade counts, and what a merged run keeps."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calprobe.errors import CalprobeError
from calprobe.runs.grades import (
    FILE_NAME,
    JUDGE_MASS,
    StoredGrade,
    StoredGrades,
    keep_grades,
    read_grades,
    write_grades,
)

JUDGED = StoredGrade("k1", "t" * 16, "nq", "q1", "plain", 0, 0, automatic=True, rule="judge", score=0.75)
BY_HAND = StoredGrade(
    "k2", "u" * 16, "nq", "q2", "plain", 1, 3, True, "exact", matched="Paris", imported=False, by="Ann"
)
HOW = {"grader": "judge", "target": "all", "judge": "toy", "graded": "today", "judge_replies": "judges/toy"}


def test_grades_come_back_as_they_were(tmp_path: Path) -> None:
    assert read_grades(tmp_path) is None
    grades = StoredGrades((JUDGED, BY_HAND), HOW)
    write_grades(tmp_path, grades)
    assert read_grades(tmp_path) == grades
    write_grades(tmp_path, StoredGrades(()))
    assert read_grades(tmp_path) == StoredGrades(())


def test_a_grade_by_hand_counts_first() -> None:
    assert (JUDGED.correct, JUDGED.decided) == (True, "judge")
    assert (BY_HAND.correct, BY_HAND.decided) == (False, "imported")
    both = StoredGrades((JUDGED, BY_HAND))
    assert both.decided == {"judge": (1, 1), "imported": (1, 0)}
    assert both.agreement == (1, 1, 0)
    assert StoredGrades((JUDGED,)).agreement is None
    assert repr(both) == "<StoredGrades of 2 answers: judge 1/1, imported 0/1>"


def test_a_merged_run_keeps_grades_of_one_kind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c", "merged")]
    for folder in folders:
        folder.mkdir()
    write_grades(folders[0], StoredGrades((JUDGED,), HOW))
    write_grades(folders[1], StoredGrades((BY_HAND,), HOW | {"graded": "later", "judge_replies": "judges/other"}))
    keep_grades(folders[:3], folders[3])
    kept = read_grades(folders[3])
    assert kept is not None
    assert kept.rows == (JUDGED, BY_HAND)
    assert kept.how == {"grader": "judge", "target": "all", "judge": "toy"}
    write_grades(folders[2], StoredGrades((), {"grader": "exact"}))
    with caplog.at_level(logging.WARNING):
        keep_grades(folders[:3], tmp_path)
    assert "the runs were graded in different ways; it has no grades" in caplog.text
    assert read_grades(tmp_path) is None


def test_a_merged_run_has_the_mean_of_its_judges(tmp_path: Path) -> None:
    for name, rows, mass in (("a", 3, "0.2000"), ("b", 1, "0.6000"), ("none", 0, "0.9000"), ("merged", 0, "")):
        (tmp_path / name).mkdir()
        write_grades(tmp_path / name, StoredGrades((JUDGED,) * rows, HOW | ({JUDGE_MASS: mass} if mass else {})))
    keep_grades([tmp_path / name for name in ("a", "b", "none")], tmp_path / "merged")
    kept = read_grades(tmp_path / "merged")
    assert kept is not None
    assert kept.judge_mass == pytest.approx(0.3)
    (tmp_path / "earlier").mkdir()
    write_grades(tmp_path / "earlier", StoredGrades((JUDGED,), HOW))  # which does not say it
    keep_grades([tmp_path / "a", tmp_path / "earlier"], tmp_path / "merged")
    kept = read_grades(tmp_path / "merged")
    assert kept is not None
    assert kept.judge_mass is None


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda table: table.drop_columns(["rule"]), "its columns are not those of grades"),
        (lambda table: table.replace_schema_metadata({}), "not the grades of a run, or of another format than 1"),
        (lambda table: table.replace_schema_metadata({"calprobe.grades": '{"format": 1}'}), "it does not say how"),
        (lambda table: table.set_column(0, "key", pa.array([None], pa.string())), "key: expected str, got None"),
    ],
)
def test_a_file_of_somebody_else_is_refused(tmp_path: Path, change: object, what: str) -> None:
    write_grades(tmp_path, StoredGrades((JUDGED,), HOW))
    path = tmp_path / FILE_NAME
    pq.write_table(change(pq.read_table(path)), path)  # type: ignore[operator]
    with pytest.raises(CalprobeError, match=rf"grades\.parquet: cannot be read: {what}"):
        read_grades(tmp_path)
