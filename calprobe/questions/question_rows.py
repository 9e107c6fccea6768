"""Rows of the files that public question sets come in: Parquet, JSON lines, JSON, CSV and TSV, gzipped or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calprobe.errors import ProbeFormatError
from calprobe.probes.csv_files import read_csv
from calprobe.probes.json_files import read_json_lines, read_json_objects
from calprobe.questions.gold import QuestionFault, text_of

PARQUET = ".parquet"
JSON_LINES = (".jsonl", ".ndjson")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
NAMES = ".names"  # behind a column of class labels: the column of their names
SUFFIXES = (PARQUET, *JSON_LINES, ".json", *DELIMITERS)


class ColumnFault(QuestionFault):
    """A row lacks a column, or has something else in it than the set's reader expects: it is not of this set."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a public set, by column."""

    content: dict[str, Any]
    where: str  # file and line, or file and row, for messages
    number: int  # in the split, from 0, over all of its files

    def __contains__(self, column: str) -> bool:
        return column in self.content

    def value(self, *columns: str) -> Any:
        """The value of the first of the columns that the row has. Raises ColumnFault if it has none of them."""
        for column in columns:
            if column in self.content:
                return self.content[column]
        raise ColumnFault(f"column {' or '.join(map(repr, columns))} is missing; it has {', '.join(self.content)}")

    def text(self, *columns: str) -> str:
        """The text in such a column. Raises QuestionFault if it is none, or empty."""
        return text_of(self.value(*columns), columns[0])

    def texts(self, *columns: str) -> tuple[str, ...]:
        """The texts in such a column, a list. Raises ColumnFault if it is none, QuestionFault if one is empty."""
        values = self.value(*columns)
        if not isinstance(values, list):
            raise ColumnFault(f"column {columns[0]!r} is not a list")
        return tuple(text_of(value, columns[0]) for value in values)


def kind_of_file(path: Path) -> str:
    """The suffix that says how a file is read, .gz left out; empty if it is none of SUFFIXES.

    >>> kind_of_file(Path("mmlu_test.jsonl.gz"))
    '.jsonl'
    """
    suffix = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    return suffix.lower() if suffix.lower() in SUFFIXES else ""


def read_rows(paths: Sequence[Path]) -> Iterator[Row]:
    """The rows of the files, one file after the other.

    Raises:
        ProbeFormatError: a file cannot be read as what its name says, or there is no row.
    """
    number = 0
    for path in paths:
        for where, content in _contents(path):
            yield Row(content, where, number)
            number += 1
    if paths and not number:
        raise ProbeFormatError(f"{paths[0]}: no rows; add questions, one a row")


def _contents(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = kind_of_file(path)
    if kind == PARQUET:
        for number, content in enumerate(_parquet(path)):
            yield f"{path}: row {number}", content
    elif kind in JSON_LINES:
        for line, content in read_json_lines(path, if_empty="add questions, one a line"):
            yield f"{path}:{line}", content
    elif kind in DELIMITERS:
        file = read_csv(path, DELIMITERS[kind])
        if twice := [name for name, count in Counter(file.header).items() if name and count > 1]:
            raise ProbeFormatError(f"{path}:1: column {twice[0]!r} is there twice; rename one")
        for line, row in zip(file.lines, file.rows, strict=True):
            yield f"{path}:{line}", dict(zip(file.header, row, strict=True))
    elif kind:
        for number, content in enumerate(read_json_objects(path), start=1):
            yield f"{path}: item {number}", content
    else:
        raise ProbeFormatError(f"{path}: not a file of questions; give one of {', '.join(SUFFIXES)}, .gz allowed")


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise ProbeFormatError(f"{path}: not a Parquet file ({error}); get it again") from error
