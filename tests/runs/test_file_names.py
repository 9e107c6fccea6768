"""What relations are called in names of files: theirs where every disk takes it, else one that stays in the folder."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import make_manifest, make_piece, without_tokens

from calprobe.errors import CalprobeError, UsageError
from calprobe.interop.exports import candidate_tables
from calprobe.interop.lm_pub_quiz_export import export_lm_pub_quiz
from calprobe.runs import RunFolder, open_run
from calprobe.runs.file_names import file_name, same_on_some_disks
from calprobe.runs.shards import shard_path

ODD = [
    *("../../x", "a/b", "/etc/passwd", "..", ".", ".hidden", "a\\b", "C:x", "x" * 300, "CON", "nul.json", "aux"),
    *("trailing.", "trailing ", "\0", "a\nb", "Zürich", "東京", "\u202egnp", "a\u0301", "\x1b[31m", "a~b", ""),
]


@pytest.mark.parametrize("name", ["P30", "capital", "sciq-K4", "capital of", "v1.0", "_x", "A", "a" * 100])
def test_names_that_every_disk_takes_stay(name: str) -> None:
    assert file_name(name) == name


@pytest.mark.parametrize("name", ODD)
def test_other_names_are_recognised_and_stay_in_the_folder(name: str, tmp_path: Path) -> None:
    found = file_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_-]{0,40}~[0-9a-f]{16}", found)
    assert shard_path(tmp_path, name, 0).parent == tmp_path / "shards"
    assert PureWindowsPath(found).name == PurePosixPath(found).name == found


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.text(max_size=3))
def test_two_relations_share_no_file_and_what_is_given_is_its_own_safe_name(name: str, other: str) -> None:
    other = other.encode(errors="ignore").decode()
    assert (file_name(name) == file_name(other)) == (name == other)
    assert same_on_some_disks([name, name + other]) is None or (name + other).lower() == name.lower()


def test_runs_of_odd_relations_are_written_and_read_back(tmp_path: Path) -> None:
    shapes = [(name, 2, 3) for name in ODD if name.strip("\0")]
    folder = RunFolder.open(tmp_path / "run", make_manifest(shapes, numbers=(0,)))
    for shape in shapes:
        folder.write_piece(without_tokens(make_piece(shape)))
    run = open_run(tmp_path / "run")
    assert folder.missing() == []
    assert not run.partial
    assert {name for table in candidate_tables(run) for name in table["relation"].to_pylist()} == {s[0] for s in shapes}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    with pytest.raises(
        CalprobeError, match=r"a file named as the relation, and .* is not for every disk; export --what candidates"
    ):
        export_lm_pub_quiz(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_names_that_some_disks_take_for_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"relations 'p30' and 'P30' have names .* rename one of them"):
        RunFolder.open(tmp_path / "run", make_manifest([("p30", 2, 3), ("P36", 1, 2), ("P30", 2, 3)]))
    assert not (tmp_path / "run").exists()
