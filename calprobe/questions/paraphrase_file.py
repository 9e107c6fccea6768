"""A file of paraphrases: other wordings of questions, by their ids.

A line: `{"id", "set"?, "paraphrases": [..], "paraphrase_source"?}`. A question's own text stays its wording 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calprobe.errors import ProbeFormatError
from calprobe.probes.json_files import read_json_lines
from calprobe.probes.relation_rows import label_fault
from calprobe.questions.types import Question

KEYS = ("id", "set", "paraphrases", "paraphrase_source")


@dataclass(frozen=True, slots=True)
class ParaphraseFile:
    """A file as it was read."""

    path: str  # as given
    fingerprint: str  # SHA-256 (hex) of its bytes
    # (set, or "" for any; id) -> paraphrases as they stand
    lines: Mapping[tuple[str, str], tuple[str, ...]]
    sources: tuple[str, ...] = ()  # who made them, as lines say

    def of(self, set_name: str, question: Question) -> tuple[str, ...]:
        """Those of a question; empty where the file has none."""
        return self.lines.get((set_name, question.id)) or self.lines.get(("", question.id), ())


def read_paraphrases(path: str | Path) -> ParaphraseFile:
    """The paraphrases of a JSON Lines file.

    Raises:
        ProbeFormatError: a line is not one, or a question is there twice; names file, line and fix.
    """
    typed, path = str(path), Path(path).expanduser()
    lines: dict[tuple[str, str], tuple[str, ...]] = {}
    first: dict[tuple[str, str], int] = {}
    sources: dict[str, None] = {}
    for number, record in read_json_lines(path, if_empty="add lines with id and paraphrases"):
        key, texts = _read(record, f"{path}:{number}")
        if key in lines:
            raise ProbeFormatError(
                f"{path}:{number}: id {key[1]!r} is also in line {first[key]}; put all of its paraphrases into one line"
            )
        lines[key], first[key] = texts, number
        if source := record.get("paraphrase_source"):
            sources[str(source)] = None
    return ParaphraseFile(typed, hashlib.sha256(path.read_bytes()).hexdigest(), lines, tuple(sources))


def _read(record: Mapping[str, Any], where: str) -> tuple[tuple[str, str], tuple[str, ...]]:
    if unknown := [key for key in record if key not in KEYS]:
        raise ProbeFormatError(f"{where}: unknown key {unknown[0]!r}; a line has {', '.join(KEYS)}")
    name, texts = record.get("id"), record.get("paraphrases")
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        raise ProbeFormatError(f'{where}: "id" must be the id of a question; add it')
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ProbeFormatError(f'{where}: "paraphrases" must be a list of texts, none of them empty')
    if fault := next(filter(None, map(label_fault, texts)), None):
        raise ProbeFormatError(f'{where}: a text of "paraphrases" {fault}')
    set_name = record.get("set", "")
    if not isinstance(set_name, str):
        raise ProbeFormatError(f'{where}: "set" must be the name of a question set; fix it, or leave it out')
    return (set_name, str(name)), tuple(text.strip() for text in texts)
