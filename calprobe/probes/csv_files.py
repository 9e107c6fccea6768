"""Reads CSV files strictly; what cannot be read is an error with file, line and fix."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from calprobe.errors import ProbeFormatError
from calprobe.probes.json_files import read_text

_LONGEST = 2**31 - 1  # characters of a field; the library's own limit is shorter than a long context
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True, slots=True)
class CsvFile:
    """The records of a CSV file. A quoted field may go over several lines, and blank lines are no records."""

    path: Path
    header: tuple[str, ...]  # empty if the file is
    rows: tuple[tuple[str, ...], ...]  # as many fields as the header
    lines: tuple[int, ...]  # where each row begins, from 1


def read_csv(path: Path, delimiter: str = ",") -> CsvFile:
    """The header and rows of a CSV file, or of one with another delimiter, in UTF-8, with or without a byte order mark.

    Where commas are expected and the header has semicolons alone, these are the delimiter: spreadsheets write them in
    languages with a decimal comma.

    Raises:
        ProbeFormatError: the file cannot be read, is not UTF-8 or not CSV, or a row has more or fewer fields than the
            header, or the header has another delimiter.
    """
    usual = csv.field_size_limit(_LONGEST)
    try:
        return _read(path, delimiter)
    finally:
        csv.field_size_limit(usual)


def _read(path: Path, delimiter: str) -> CsvFile:
    text = read_text(path)
    if delimiter == "," and len(_header(text, ",")) < 2 <= len(_header(text, ";")):
        delimiter = ";"
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines: list[int] = []
    rows: list[tuple[str, ...]] = []
    begins = 1
    try:
        header = tuple(next(reader, ()))
        for other in _NAMES.keys() - {delimiter}:
            if len(header) == 1 and other in header[0]:
                has, wanted = _NAMES[other], _NAMES[delimiter]
                raise ProbeFormatError(f"{path}:1: the columns are separated by {has}; save the file with {wanted}")
        begins = reader.line_num + 1
        for row in reader:
            if row:
                if len(row) != len(header):
                    what = f"{len(row)} fields, {len(header)} in the header; fix the line"
                    raise ProbeFormatError(f"{path}:{begins}: {what}")
                lines.append(begins)
                rows.append(tuple(row))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise ProbeFormatError(f"{path}:{begins}: not CSV ({error}); fix the line") from error
    return CsvFile(path, header, tuple(rows), tuple(lines))


def _header(text: str, delimiter: str) -> list[str]:
    """The first record; empty where it is none with this delimiter, as `"a";"b"` is none with commas."""
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []
