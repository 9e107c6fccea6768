"""Files of JSON lines that grow: a line is whole and on disk, or it is not there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, BinaryIO


def read_lines(path: Path) -> list[Any]:
    """What the lines say, without one that a killed process has not finished. Raises OSError, ValueError."""
    return [json.loads(line) for line in _whole(path.read_bytes())]


def add_line(path: Path, said: Any, head: Any = None) -> None:
    """Write a line behind the others, and have it on disk before this returns; `head` first, into an empty file.

    One process at a time may do so. An unfinished line is taken away first.
    """
    with path.open("ab+") as stream:
        if _is_torn(stream):
            stream.seek(0)
            stream.truncate(sum(map(len, _whole(stream.read()))))
        is_empty = not stream.seek(0, os.SEEK_END)
        lines = [head, said] if is_empty and head is not None else [said]
        stream.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        stream.flush()
        os.fsync(stream.fileno())


def _is_torn(stream: BinaryIO) -> bool:
    """Whether something stands behind the last end of a line."""
    if not stream.seek(0, os.SEEK_END):
        return False
    stream.seek(-1, os.SEEK_END)
    return stream.read(1) != b"\n"


def _whole(content: bytes) -> list[bytes]:
    return [line for line in content.splitlines(keepends=True) if line.endswith(b"\n")]
