"""Reads FACTOR's files: a row is a context, its true completion and three false ones (Muhlgay et al. 2024).

Columns: turncated_prefixes (so spelt in the files: the context as their authors' script reads it), completion,
contradiction_0, contradiction_1, contradiction_2; others are not read. The wiki, news and expert sets all have them.

The right completion comes first in a row, so that a model which cannot tell the four apart would be right by the order
alone. Hence candidates are put in a random order: that of the SHA-256 of `SEED/row/column`, row and column from 0. It
depends on the row's number only, and on no library's generator.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from calprobe.errors import ProbeFormatError
from calprobe.probes.csv_files import CsvFile, read_csv
from calprobe.probes.fingerprints import fingerprint
from calprobe.probes.probe_notes import listed
from calprobe.probes.types import JOINED, Instance, Probe, Relation

CONTEXT = "turncated_prefixes"
COMPLETIONS = ("completion", "contradiction_0", "contradiction_1", "contradiction_2")  # the right one first
SEED = 0


def read_factor(path: Path, name: str) -> Probe:
    """The probe in a CSV file of FACTOR's columns: one relation, named as the file is, an instance a row.

    An instance's index is its row's number, from 0, without the header. Completions lose spaces before them, which the
    joint puts in; other texts stay as they are.

    Args:
        path: the file.
        name: the probe's name.
    Raises:
        ProbeFormatError: the file is no CSV, lacks a column or has it twice, has no row, or a text of these columns is
            empty; names file, line, column and fix.
    """
    file = read_csv(path)
    if not any(file.header) and not file.rows:
        raise ProbeFormatError(f"{path}: the file is empty; give FACTOR's CSV, or one with its columns")
    columns = CONTEXT, *COMPLETIONS
    if not {*columns} & {*file.header}:
        raise ProbeFormatError(
            f"{path}:1: none of FACTOR's columns ({', '.join(columns)}); a probe of facts is a folder with "
            "metadata_relations.json and RELATION.jsonl, a file of questions is for `calprobe ask`"
        )
    places = [_place(file, column) for column in columns]
    if not file.rows:
        raise ProbeFormatError(f"{path}:1: no row below the header; give one with a context and its completions a row")
    texts = [_texts(file, row, places) for row in range(len(file.rows))]
    instances = tuple(_instance(row, *own) for row, own in enumerate(texts))
    relation = Relation(path.stem, (), instances, (JOINED,), scored="completion")
    return Probe(name, (relation,), fingerprint([relation]), _notes(relation))


def _place(file: CsvFile, column: str) -> int:
    if (count := file.header.count(column)) == 1:
        return file.header.index(column)
    what = f"there {count} times; leave one" if count else f"missing; add it ({CONTEXT}, {', '.join(COMPLETIONS)})"
    raise ProbeFormatError(f"{file.path}:1: column {column!r} is {what}")


def _texts(file: CsvFile, row: int, places: list[int]) -> list[str]:
    """Context and completions of a row, none of them empty."""
    texts = [file.rows[row][place] for place in places]
    for column, text in zip((CONTEXT, *COMPLETIONS), texts, strict=True):
        if not text.strip():
            raise ProbeFormatError(f"{file.path}:{file.lines[row]}: {column} is empty; give a text or remove the row")
    return texts


def _instance(row: int, context: str, *completions: str) -> Instance:
    order = sorted(range(len(completions)), key=lambda column: _rank(row, column))
    return Instance(row, context, order.index(0), candidates=tuple(completions[place].lstrip(" ") for place in order))


def _rank(row: int, column: int) -> bytes:
    return hashlib.sha256(f"{SEED}/{row}/{column}".encode()).digest()


def _notes(relation: Relation) -> tuple[str, ...]:
    repeated = [str(i.index) for i in relation.instances if len(set(relation.candidates_of(i))) < relation.n_candidates]
    return (f"The same completion twice in rows (from 0) {listed(repeated)}.",) if repeated else ()
