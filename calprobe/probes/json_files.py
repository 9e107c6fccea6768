"""Reads JSON and JSON-lines files strictly; what cannot be read is an error with file, line and fix."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from calprobe.errors import ProbeFormatError
from calprobe.messages import reason


@dataclass(frozen=True, slots=True)
class JsonObject:
    """The JSON object that a file holds, with the text it came from, so that an error can name the line."""

    path: Path
    content: dict[str, Any]
    text: str

    def fail(self, what: str, *keys: str) -> NoReturn:
        """Raise ProbeFormatError for the line of the last of `keys`, strings of the file in their order."""
        place = 0
        for key in keys:
            # A file may hold a string escaped or as it is.
            found = [
                self.text.find(json.dumps(key, ensure_ascii=ascii_only), place + 1) for ascii_only in (True, False)
            ]
            place = max(place, *found)
        raise ProbeFormatError(f"{self.path}:{self.text.count(chr(10), 0, place) + 1}: {what}")


def read_json_object(path: Path) -> JsonObject:
    """The object in a JSON file.

    Raises:
        ProbeFormatError: the file cannot be read, is not UTF-8, not JSON, not an object, or has an object with a key
            twice.
    """
    text = read_text(path)
    return JsonObject(path, _object(path, text, first_line=1), text)


def read_json_lines(
    path: Path, if_empty: str = "add instances or remove the relation"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number (from 1) and object of each line of a JSON-lines file; a newline at the end is not a line.

    Raises:
        ProbeFormatError: as read_json_object; also for an empty file or line, since a line's number names an instance.
    """
    number = 0
    try:
        # Split at line feeds only, not by splitlines: labels may hold separators such as U+2028.
        with open_bytes(path) as file:
            for number, line in enumerate(file, start=1):
                text = _decode(path, line.removesuffix(b"\n"), first_line=number)
                if not text.strip():
                    raise ProbeFormatError(f"{path}:{number}: empty line; remove it")
                yield number, _object(path, text, first_line=number)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error
    if not number:
        raise ProbeFormatError(f"{path}: empty file; {if_empty}")


def read_json_objects(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON array, or the one object, in a file.

    Raises:
        ProbeFormatError: as read_json_object; also for an array that holds something else.
    """
    content = _value(path, read_text(path), first_line=1)
    objects = content if isinstance(content, list) else [content]
    for number, each in enumerate(objects, start=1):
        if not isinstance(each, dict):
            what = f"item {number} is a JSON {_kind(each)} where an object {{..}} belongs"
            raise ProbeFormatError(f"{path}: {what}; fix it")
    return objects


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, without a byte order mark. Raises ProbeFormatError if it cannot be read."""
    try:
        with open_bytes(path) as file:
            return _decode(path, file.read(), first_line=1)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def open_bytes(path: Path) -> BinaryIO:
    """The file opened for reading, unpacked where its name ends in .gz."""
    return cast("BinaryIO", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def _unreadable(path: Path, error: OSError | EOFError | zlib.error) -> ProbeFormatError:
    why = reason(error) if isinstance(error, OSError) else f"not a complete gzip file: {error}"
    return ProbeFormatError(f"{path}: cannot be read ({why}); check the file")


def _decode(path: Path, content: bytes, first_line: int) -> str:
    try:
        return content.decode("utf-8-sig" if first_line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        what = f"not UTF-8 (byte 0x{content[error.start]:02x})"
        raise ProbeFormatError(f"{path}:{line}: {what}; save the file as UTF-8") from error


def _object(path: Path, text: str, first_line: int) -> dict[str, Any]:
    content = _value(path, text, first_line)
    if not isinstance(content, dict):
        raise ProbeFormatError(f"{path}:{first_line}: a JSON {_kind(content)} where an object {{..}} belongs; fix it")
    return content


def _value(path: Path, text: str, first_line: int) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise ProbeFormatError(f"{path}:{line}: not JSON ({error.msg}, column {error.colno}); fix the line") from error
    except _RepeatedKeyError as error:
        key = json.dumps(error.args[0], ensure_ascii=False)
        line = first_line + text.count("\n", 0, max(text.rfind(key), 0))
        raise ProbeFormatError(f"{path}:{line}: key {key} twice in one object; remove one") from error
    except RecursionError as error:
        raise ProbeFormatError(f"{path}:{first_line}: JSON nested too deeply; fix the file") from error
    except ValueError as error:  # a whole number of more digits than Python reads
        why = str(error).partition(";")[0]
        raise ProbeFormatError(f"{path}:{first_line}: not JSON ({why}); fix the file") from error


class _RepeatedKeyError(Exception):
    """A JSON object names one key twice; the argument is the key."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return content


def _kind(content: object) -> str:
    return {list: "array", str: "string", type(None): "null"}.get(type(content), type(content).__name__)
