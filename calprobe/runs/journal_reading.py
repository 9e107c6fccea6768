"""Reading the journals of a run folder: of a run that was stopped, of one that is being asked, of a damaged one."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import time
import zlib
from collections.abc import Iterable
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from calprobe.messages import reason
from calprobe.runs.decode import DecodeError
from calprobe.runs.replies import Reply
from calprobe.runs.reply_json import reply_from_json

log = logging.getLogger(__name__)

FOLDER = "journal"
SUFFIX = ".sqlite3"

_WAL_HEADER = 32  # bytes; two of its numbers are drawn anew whenever the write-ahead file is begun again
_ATTEMPTS = 20
_PAUSE_S = 0.05


def read_journals(run: Path) -> list[Reply]:
    """The replies in all journals of a run folder, failed ones too; another process may be writing them.

    A journal is copied, and the copy is read: nothing in the run folder is locked, changed or waited for. The log names
    a journal that is damaged, with how many replies could be read.
    """
    replies: dict[str, Reply] = {}
    for path in sorted((run / FOLDER).glob(f"*{SUFFIX}")):
        add_replies(replies, _read(path))
    return list(replies.values())


def add_replies(found: dict[str, Reply], replies: Iterable[Reply]) -> None:
    """Add replies by their keys; later ones replace earlier ones, but a failure replaces no reply."""
    for reply in replies:
        earlier = found.get(reply.key)
        if earlier is None or earlier.finish == "error" or reply.finish != "error":
            found[reply.key] = reply


def reply_of(key: str, crc32: int, line: str) -> Reply:
    """A row of the table as a reply. Raises DecodeError if its checksum or its key is wrong."""
    if not isinstance(line, str) or zlib.crc32(line.encode()) != crc32:
        raise DecodeError("the checksum of a reply is wrong")
    reply = reply_from_json(line)
    if reply.key != key:
        raise DecodeError("a reply has another key than its row")
    return reply


def readable_replies(path: Path) -> list[Reply]:
    """The replies of a damaged journal that can be read; nothing is written into it.

    It is read by ranges of keys, each from both ends, so that a damaged page hides no more than its own rows.
    """
    replies: dict[str, Reply] = {}
    digits = [f"{number:02x}" for number in range(256)]
    query = "select key, crc32, reply from replies where key >= ? and key < ? order by key"
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as damaged:
        for bounds in pairwise(["", *digits, "\U0010ffff"]):
            for order in ("", " desc"):
                try:
                    for row in damaged.execute(query + order, bounds):
                        with suppress(DecodeError):
                            replies[row[0]] = reply_of(*row)
                    break
                except sqlite3.DatabaseError:
                    continue
    return list(replies.values())


def _read(path: Path) -> list[Reply]:
    with TemporaryDirectory(prefix="calprobe-") as folder:
        copy = Path(folder, path.name)
        try:
            of_one_moment = _copied(path, copy)
        except FileNotFoundError:  # its last piece has a shard by now
            return []
        except OSError as error:
            log.warning("%s: cannot be read: %s; its replies are left out", path, reason(error))
            return []
        try:
            with closing(sqlite3.connect(copy)) as database:
                if not database.execute("select 1 from sqlite_master").fetchall():
                    return []  # the process that made it was stopped before it wrote the table
                return [reply_of(*row) for row in database.execute("select key, crc32, reply from replies")]
        except (sqlite3.Error, DecodeError) as error:
            replies = readable_replies(copy)
            why = f"damaged ({error})" if of_one_moment else "being written too fast"
            log.warning("%s: %s; %s of its replies could be read", path, why, f"{len(replies):,}")
            return replies


def _copied(path: Path, copy: Path) -> bool:
    """Copy a database with its write-ahead file, first the database; whether the two are of one moment.

    They are if the write-ahead file was not begun again meanwhile: it then has all that was copied into the database
    since, also what was only half there.
    """
    wal, wal_copy = _wal(path), _wal(copy)
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)
        before = _header(wal)
        shutil.copyfile(path, copy)
        wal_copy.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            shutil.copyfile(wal, wal_copy)
        if before == _header(wal) == _header(wal_copy):
            return True
    return False


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _header(wal: Path) -> bytes:
    try:
        with wal.open("rb") as file:
            return file.read(_WAL_HEADER)
    except FileNotFoundError:
        return b""
