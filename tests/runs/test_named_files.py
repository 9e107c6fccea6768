"""Files that a person named: there complete, or as they were, with a message that says what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from calprobe.errors import CalprobeError
from calprobe.runs.atomic import named_file


def test_the_folder_is_made_and_an_older_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file.txt"
    for text in ("older", "newer"):
        with named_file(path, "name another") as temporary:
            temporary.write_text(text)
    assert path.read_text() == "newer"
    assert [found.name for found in path.parent.iterdir()] == ["file.txt"]


def half_written(path: Path) -> None:
    with named_file(path, "give another --out") as temporary:
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_fails_halfway_leaves_the_older_file_and_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("older")
    with pytest.raises(CalprobeError, match=r"file\.txt: cannot be written: No space left.*; give another --out$"):
        half_written(path)
    assert path.read_text() == "older"
    assert [found.name for found in tmp_path.iterdir()] == ["file.txt"]


def test_a_file_in_the_folders_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(CalprobeError, match=r"cannot be written: .*; name another"),
        named_file(tmp_path / "file" / "page.html", "name another"),
    ):
        pytest.fail("nothing to write to")


def test_a_link_is_followed_and_a_device_or_pipe_stays_one(tmp_path: Path) -> None:
    (tmp_path / "file.txt").touch()
    (tmp_path / "link.txt").symlink_to("file.txt")
    with named_file(tmp_path / "link.txt", "name another") as temporary:
        temporary.write_text("through the link")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "file.txt").read_text() == "through the link"
    os.mkfifo(tmp_path / "pipe.txt")
    with (
        pytest.raises(CalprobeError, match=r"pipe\.txt: is not a regular file; give another --out$"),
        named_file(tmp_path / "pipe.txt", "give another --out"),
    ):
        pytest.fail("nothing to write to")
    assert (tmp_path / "pipe.txt").is_fifo()
