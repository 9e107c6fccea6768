"""Run folders as bytes in pieces, for machines that share no storage."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from calprobe.runs import atomic, lock

PIECE_BYTES = 16 * 2**20

Files = Sequence[tuple[str, int]]  # path in the folder, bytes
Part = tuple[str, int, int]  # path in the folder, first byte, bytes


def files_of(folder: Path) -> list[tuple[str, int]]:
    """The files of a run that nothing writes to, without its lock and what killed processes left; [] of no folder."""
    return [
        (path.relative_to(folder).as_posix(), path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.name not in lock.NAMES and not atomic.is_leftover(path)
    ]


def pieces_of(files: Files, most_bytes: int = PIECE_BYTES) -> Iterator[list[Part]]:
    """Parts of files, in pieces of `most_bytes` at most.

    >>> list(pieces_of([("a", 3), ("b", 0), ("c", 6)], 4))
    [[('a', 0, 3), ('b', 0, 0), ('c', 0, 1)], [('c', 1, 4)], [('c', 5, 1)]]
    """
    piece: list[Part] = []
    room = most_bytes
    for path, size in files:
        begin = 0
        while begin < size or not size:
            length = min(size - begin, room)
            piece.append((path, begin, length))
            begin, room = begin + length, room - length
            if not room:
                yield piece
                piece, room = [], most_bytes
            if not size:
                break
    if piece:
        yield piece


def read_piece(folder: str, piece: Sequence[Part]) -> list[bytes]:
    """The bytes of the parts; raises OSError where a file is not there any more, or is shorter."""
    contents = []
    for path, begin, size in piece:
        with (Path(folder) / path).open("rb") as stream:
            stream.seek(begin)
            contents.append(stream.read(size))
        if len(contents[-1]) != size:
            raise OSError(f"{path} became shorter while it was read")
    return contents


def write_piece(folder: Path, piece: Sequence[Part], contents: Sequence[bytes]) -> None:
    """Append parts to the files of a new folder, in the order of `pieces_of`."""
    for (path, _, _), content in zip(piece, contents, strict=True):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as stream:
            stream.write(content)


@contextmanager
def arriving(place: Path) -> Iterator[Path]:
    """Yield a new folder beside `place`, which takes its place at the end of the block.

    The folder that was there stays until the new one is complete, also if this process is killed; see `settle`.
    """
    settle(place)
    new, former = _beside(place)
    new.mkdir(parents=True)
    try:
        yield new
        for path, _ in files_of(new):
            _flush(new / path)
        if place.exists():
            place.rename(former)
        new.rename(place)
    finally:
        settle(place)


def settle(place: Path) -> None:
    """Put back the folder that a killed process had moved aside, and remove what had not arrived."""
    new, former = _beside(place)
    if former.is_dir() and not place.exists():
        former.rename(place)
    for folder in (new, former):
        shutil.rmtree(folder, ignore_errors=True)


def _beside(place: Path) -> tuple[Path, Path]:
    return place.with_name(f".{place.name}.arriving"), place.with_name(f".{place.name}.former")


def _flush(path: Path) -> None:
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())
