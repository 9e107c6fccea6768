"""What is saved of a damaged journal."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import pytest
from asked_samples import choice, reply

from calprobe.runs import Reply
from calprobe.runs.journal import Journal, journal_path
from calprobe.runs.journal_reading import read_journals

PAGE = 4096


def replies(n: int) -> Iterator[Reply]:
    for number in range(n):
        key = hashlib.sha256(f"{number}".encode()).hexdigest()
        yield replace(reply("sums", choice(number), "direct", "answer"), key=key)


def written(run: Path, n: int = 300) -> Path:
    run.mkdir(exist_ok=True)
    with closing(Journal.open(run)) as journal:
        journal.add_all(replies(n))
    return journal_path(run, 0)


def test_a_bad_page_hides_its_own_replies_only(tmp_path: Path) -> None:
    path = written(tmp_path / "run")
    content = bytearray(path.read_bytes())
    middle = len(content) // PAGE // 2 * PAGE
    content[middle : middle + PAGE] = b"\xff" * PAGE
    path.write_bytes(content)
    with closing(Journal.open(tmp_path / "run")) as journal:
        found = {each.key: each for each in journal.rows()}
    wanted = {each.key: each for each in replies(300)}
    assert found.items() <= wanted.items()
    assert len(found) > 270
    bad = path.with_name(f"{path.name}.bad")
    assert bad.read_bytes()[PAGE:] == bytes(content[PAGE:])  # the first page counts the times it was opened


def test_every_damaged_journal_is_kept(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        path = written(tmp_path / "run", 20)
        damaged = b"not a database" * number
        path.write_bytes(damaged)
        path.with_name(f"{path.name}-wal").write_bytes(b"nor this")
        Journal.open(tmp_path / "run").close()
        name = {1: "0.sqlite3.bad", 2: "0.2.sqlite3.bad", 3: "0.3.sqlite3.bad"}[number]
        assert path.with_name(name).read_bytes() == damaged
    assert sorted(each.name for each in path.parent.glob("*.bad")) == sorted(
        ["0.sqlite3.bad", "0.2.sqlite3.bad", "0.3.sqlite3.bad"]
    )


def test_a_copy_of_two_moments_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "run", 300)
    with closing(Journal.open(tmp_path / "run")) as journal:
        copied, moments = shutil.copyfile, iter(range(300, 400, 50))

        def copy_slowly(source: Path, to: Path) -> None:
            copied(source, to)
            if source == path and (first := next(moments, None)) is not None:
                journal.flush()  # so that the next reply begins the write-ahead file again
                journal.add_all(islice(replies(400), first, first + 50))

        monkeypatch.setattr("calprobe.runs.journal_reading.shutil.copyfile", copy_slowly)
        assert {each.key for each in read_journals(tmp_path / "run")} == {each.key for each in replies(400)}
    assert next(moments, None) is None


def test_a_journal_that_never_rests_is_read_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "run", 300)
    content = bytearray(path.read_bytes())
    middle = len(content) // PAGE // 2 * PAGE
    content[middle : middle + PAGE] = b"\xff" * PAGE
    path.write_bytes(content)
    headers = count()
    monkeypatch.setattr("calprobe.runs.journal_reading._header", lambda _: next(headers))
    monkeypatch.setattr("calprobe.runs.journal_reading._ATTEMPTS", 2)
    assert 270 < len(read_journals(tmp_path / "run")) < 300
    assert f"{path}: being written too fast; 2" in caplog.text
