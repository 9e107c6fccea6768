"""The journal of a run folder: each reply is in it from the moment it arrives until its piece has a shard.

A SQLite database in write-ahead mode, `journal/NUMBER.sqlite3`, one for each process that writes. A reply is committed
before the next one is taken, so that a killed process loses nothing that had arrived; it is flushed to disk within a
second, so that a power failure loses a second's replies at most.
"""

from __future__ import annotations

import logging
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Self

from calprobe.errors import CalprobeError
from calprobe.runs.decode import DecodeError
from calprobe.runs.journal_reading import FOLDER as FOLDER
from calprobe.runs.journal_reading import SUFFIX, readable_replies, reply_of
from calprobe.runs.replies import Reply
from calprobe.runs.reply_json import reply_json, whole_texts

log = logging.getLogger(__name__)

BAD_SUFFIX = ".bad"
_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite writes beside a database
SUFFIXES = tuple(f"{name}{ending}" for name in (SUFFIX, f"{SUFFIX}{BAD_SUFFIX}") for ending in ("", *_BESIDE))

_FORMAT = 1
_SECONDS_TO_DISK = 1.0
_TABLE = """
create table if not exists replies (
    key text primary key, "set" text not null, variant text not null, paraphrase integer not null,
    failed integer not null, crc32 integer not null, reply text not null
) without rowid
"""


class Journal:
    """The journal of this process, open for writing."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.path = path
        self._database = database
        self._flushed = time.monotonic()

    @classmethod
    def open(cls, run: Path, number: int = 0) -> Self:
        """Open the journal in the run folder, created if missing.

        A damaged one is renamed (`.bad`), and what can be read of it is taken over; the log says so. Raises
        CalprobeError if it cannot be opened.
        """
        path = journal_path(run, number)
        with _explained(path):
            path.parent.mkdir(exist_ok=True)
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise CalprobeError(f"{path}: not a file of calprobe; delete it and run the same again")
            try:
                database = _connected(path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                return cls._salvaged(path, str(error))
        journal = cls(path, database)
        try:
            for _ in journal.rows():
                pass
        except (sqlite3.DatabaseError, DecodeError) as error:
            journal._database.close()
            return cls._salvaged(path, str(error))
        return journal

    @classmethod
    def _salvaged(cls, path: Path, why: str) -> Self:
        """A new journal with what can be read of a damaged one, which is renamed."""
        with _explained(path):
            aside = _set_aside(path)
            replies = readable_replies(aside)
            journal = cls(path, _connected(path))
        journal.add_all(replies)
        log.warning(
            "%s: %s; renamed to %s; %d replies in it could be read, others will be asked again",
            *(path, why, aside.name, len(replies)),
        )
        return journal

    def add(self, reply: Reply) -> None:
        """Store the reply, and return when a killed process can no longer lose it; it replaces one of the same key."""
        self.add_all([reply])

    def add_all(self, replies: Iterable[Reply]) -> None:
        """Store the replies, all or none of them. Raises CalprobeError if the disk takes no more."""
        rows = [_row(reply) for reply in replies]
        with _explained(self.path), self._database:
            self._database.executemany("insert or replace into replies values (?, ?, ?, ?, ?, ?, ?)", rows)
        if time.monotonic() - self._flushed > _SECONDS_TO_DISK:
            self.flush()

    def flush(self) -> None:
        """Write to disk what has been stored."""
        with _explained(self.path):
            self._database.execute("pragma wal_checkpoint(passive)").fetchall()
        self._flushed = time.monotonic()

    def rows(self) -> Iterator[Reply]:
        """All replies, failed ones too, by key. Raises DecodeError and sqlite3.DatabaseError for damaged ones."""
        for row in self._database.execute("select key, crc32, reply from replies order by key"):
            yield reply_of(*row)

    def of_piece(self, set_name: str, variant: str, paraphrase: int) -> list[Reply]:
        """The replies of one piece, failed ones too, by key."""
        condition = '"set" = ? and variant = ? and paraphrase = ?'
        query = f"select key, crc32, reply from replies where {condition} order by key"
        with _explained(self.path):
            return [reply_of(*row) for row in self._database.execute(query, (set_name, variant, paraphrase))]

    def forget(self, keys: Iterable[str]) -> None:
        """Remove replies, which a shard has by now."""
        with _explained(self.path), self._database:
            self._database.executemany("delete from replies where key = ?", [(key,) for key in keys])

    def close(self) -> None:
        """Flush and close; an empty journal is removed."""
        with suppress(sqlite3.Error):
            (n_replies,) = self._database.execute("select count(*) from replies").fetchone()
            self._database.execute("pragma wal_checkpoint(truncate)").fetchall()
            self._database.close()
            if not n_replies:
                for ending in ("", *_BESIDE):
                    self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        self._database.close()
        with suppress(OSError):
            self.path.parent.rmdir()  # if it is empty


def journal_path(run: Path, number: int) -> Path:
    """The file of that process's journal."""
    return run / FOLDER / f"{number}{SUFFIX}"


def _connected(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=0.5, isolation_level="IMMEDIATE")
    try:
        # Exclusive first: the write-ahead file then needs no memory shared between processes, which network disks lack.
        database.execute("pragma locking_mode = exclusive").fetchall()
        database.execute("pragma journal_mode = wal").fetchall()
        database.execute("pragma synchronous = normal")
        (version,) = database.execute("pragma user_version").fetchone()
        if version not in (0, _FORMAT):
            raise CalprobeError(f"{path}: written by another version of calprobe; upgrade calprobe")
        with database:
            database.execute(_TABLE)
            database.execute(f"pragma user_version = {_FORMAT}")
    except BaseException:
        database.close()
        raise
    return database


def _set_aside(path: Path) -> Path:
    """Rename a damaged journal, and what SQLite has written beside it; earlier ones stay."""
    candidates = (path.with_name(f"{path.stem}{'' if n == 1 else f'.{n}'}{path.suffix}{BAD_SUFFIX}") for n in count(1))
    aside = next(candidate for candidate in candidates if not candidate.exists())
    for ending in _BESIDE:
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).replace(aside.with_name(aside.name + ending))
    path.replace(aside)
    return aside


def _row(reply: Reply) -> tuple[str, str, str, int, int, int, str]:
    reply = whole_texts(reply)
    line = reply_json(reply)
    failed = int(reply.finish == "error")
    return reply.key, reply.set, reply.variant, reply.paraphrase, failed, zlib.crc32(line.encode()), line


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the disk into an error with instructions; what is stored stays."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        fix = "fix this and run the same command again; it resumes from there"
        raise CalprobeError(f"{path}: cannot be written: {error}; {fix}") from error
