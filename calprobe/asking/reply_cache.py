"""Replies over all runs of this user: what was asked before of the same model is not asked again.

Off by default: a run is then a measurement made when its manifest says, whatever a server has changed since behind the
name of a model. A reply is taken only where its key is the same, which has all in it that decides the reply: model,
backend and settings, question, prompt, decoding, seed and the sample's number. So samples stay different. A reply to a
follow-up is taken only behind the very reply that it was given behind.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import zlib
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

from calprobe.asking.known import AskFolder
from calprobe.asking.run_manifest import ADDRESS
from calprobe.backends.protocol import Backend, Pending
from calprobe.errors import CalprobeError
from calprobe.folders import cache_root, filling_cache
from calprobe.runs.decode import DecodeError
from calprobe.runs.journal_reading import reply_of
from calprobe.runs.manifest_file import write_manifest
from calprobe.runs.replies import Reply
from calprobe.runs.reply_json import reply_json

log = logging.getLogger(__name__)

_FILE = "replies.sqlite3"
_TABLE = """
create table if not exists replies (
    address text not null, key text not null, behind text not null, crc32 integer not null, reply text not null,
    primary key (address, key, behind)
) without rowid
"""
_FIRST = ""  # what a first reply is behind


@dataclass(slots=True)
class ReplyCache:
    """The file of replies, open."""

    path: Path
    database: sqlite3.Connection

    @classmethod
    def open(cls) -> Self:
        """The cache of this user, made if it is not there. Raises CalprobeError if it cannot be read or written."""
        path = cache_root() / _FILE
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(path, timeout=30)
            database.execute("pragma journal_mode = wal").fetchall()
            database.execute("pragma synchronous = normal")
            database.execute(_TABLE)
        return cls(path, database)

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()

    def find(self, address: str, key: str, behind: str) -> Reply | None:
        """The reply of that key at that server, to what stands behind that reply; None if there is none, or no longer
        a whole one."""
        query = "select crc32, reply from replies where address = ? and key = ? and behind = ?"
        with _explained(self.path):
            row = self.database.execute(query, (address, key, behind)).fetchone()
        try:
            return None if row is None else reply_of(key, *row)
        except DecodeError:
            return None

    def keep(self, address: str, behind: str, reply: Reply) -> None:
        """Add a reply; one that is there stays."""
        line = reply_json(reply)
        row = (address, reply.key, behind, zlib.crc32(line.encode()), line)
        with _explained(self.path), self.database:
            self.database.execute("insert or ignore into replies values (?, ?, ?, ?, ?)", row)


class CachedReplies:
    """A backend that takes replies from the cache where it has them, and adds those that it gives."""

    def __init__(self, backend: Backend, cache: ReplyCache, unkept: Collection[str] = ()) -> None:
        """`unkept`: names of question sets whose replies are not added, since their texts must not be quoted."""
        self._backend, self._cache, self._unkept = backend, cache, frozenset(unkept)
        self._address = str(backend.settings().get(ADDRESS, ""))
        self._taken = set[str]()  # keys
        self._asked: dict[str, _Asked] = {}  # by key, until it is answered
        self._marks: dict[str, str] = {}  # by key of a first reply, see `_mark`
        self.name, self.versions, self.model = backend.name, backend.versions, backend.model
        self.capabilities = backend.capabilities

    @property
    def n_taken(self) -> int:
        """Replies from the cache so far."""
        return len(self._taken)

    def is_taken(self, reply: Reply) -> bool:
        """Whether the reply came from the cache."""
        return reply.key in self._taken

    def settings(self) -> Mapping[str, object]:
        """Those of the backend."""
        return self._backend.settings()

    def close(self) -> None:
        """Nothing: the backend is its owner's to close."""

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        """See `Backend`: those of the cache, and as they arrive, those that it lacks."""
        ready = deque[Reply]()

        def lacking() -> Iterator[Pending]:
            for entry in pending:
                found = self._found(entry)
                ready.extend(found.values())
                yield Pending(entry.dialogue, {**entry.known, **found})

        for reply in self._backend.replies(lacking()):
            while ready:
                yield self._counted(ready.popleft())
            self._keep(reply)
            yield reply
        yield from map(self._counted, ready)

    def _found(self, entry: Pending) -> dict[tuple[str, int], Reply]:
        """What the cache has of the replies that are to be given."""
        dialogue, found = entry.dialogue, dict[tuple[str, int], Reply]()
        for sample in dialogue.samples:
            first_key = dialogue.keys[dialogue.stage, sample]
            first = entry.known.get((dialogue.stage, sample))
            if first is None and (first := self._take(first_key, _FIRST)) is not None:
                found[dialogue.stage, sample] = first
            if first is None:
                self._asked[first_key] = _Asked(dialogue.set)
            else:
                self._marks[first_key] = _mark(first)
            for follow_up in dialogue.follow_ups:
                place = follow_up.stage, sample
                if place in entry.known:
                    continue
                asked = _Asked(dialogue.set, first_key if follow_up.instead is None else None)
                reply = None if first is None else self._take(dialogue.keys[place], self._behind(asked))
                if reply is None:
                    self._asked[dialogue.keys[place]] = asked
                else:
                    found[place] = reply
        return found

    def _take(self, key: str, behind: str) -> Reply | None:
        return self._cache.find(self._address, key, behind)

    def _counted(self, reply: Reply) -> Reply:
        """A reply from the cache as it is given: one that was found before the backend broke down is not."""
        self._taken.add(reply.key)
        return reply

    def _keep(self, reply: Reply) -> None:
        asked = self._asked.pop(reply.key, None)
        if asked is None or reply.finish == "error":
            return
        self._marks.setdefault(reply.key, _mark(reply))
        if asked.set not in self._unkept:
            self._cache.keep(self._address, self._behind(asked), reply)

    def _behind(self, asked: _Asked) -> str:
        return _FIRST if asked.first is None else self._marks[asked.first]


@contextmanager
def cached(backend: Backend, folder: AskFolder, is_wanted: bool) -> Iterator[Backend]:
    """The backend, with the cache in front of it if that is wanted; the manifest then says how many replies it had."""
    if not is_wanted:
        yield backend
        return
    unkept = [record.name for record in folder.manifest.sets if not record.source.quotable]
    with closing(ReplyCache.open()) as cache:
        replies = CachedReplies(backend, cache, unkept)
        try:
            yield replies
        finally:
            if replies.n_taken:
                log.info(
                    "%s: %s of the replies are from the cache of earlier runs", folder.path, f"{replies.n_taken:,}"
                )
                taken = folder.manifest.from_cache + replies.n_taken
                folder.manifest = replace(folder.manifest, from_cache=taken)
                write_manifest(folder.manifest, folder.path)


class _Asked(NamedTuple):
    """A request that the backend is to answer."""

    set: str
    first: str | None = None  # key of the reply that it is behind; None: none, or an answer in its place


def _mark(first: Reply) -> str:
    """What tells a reply apart from others of the same key, which a server may give."""
    return hashlib.sha256(repr((first.text, first.token_ids, first.reasoning)).encode("utf-8", "replace")).hexdigest()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        with filling_cache():
            yield
    except (sqlite3.Error, OSError) as error:
        raise CalprobeError(f"{path}: {error}; delete this file, or ask without --cache") from error
