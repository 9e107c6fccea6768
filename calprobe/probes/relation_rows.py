"""The lines of a relation file, each checked by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calprobe.errors import ProbeFormatError
from calprobe.probes.json_files import read_json_lines

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a relation file."""

    line: int  # from 1
    subject: str
    subject_id: str | None
    answer: str
    answer_id: str | None
    answer_idx: int | None


def read_rows(path: Path) -> list[Row]:
    """The rows of a relation file, at least one.

    Raises:
        ProbeFormatError: a line is not a JSON object, lacks sub_label or obj_label, or has a value of the wrong kind.
    """
    return [_read_row(f"{path}:{line}", line, content) for line, content in read_json_lines(path)]


def _read_row(where: str, line: int, content: dict[str, Any]) -> Row:
    answer_idx = content.get("answer_idx")
    if "answer_idx" in content and type(answer_idx) is not int:  # bool is an int to isinstance
        raise ProbeFormatError(f"{where}: answer_idx {answer_idx!r} is not an integer; give the answer's place, from 0")
    for key in ("sub_label", "obj_label"):
        if key not in content:
            raise ProbeFormatError(f"{where}: key {key!r} missing; add it")
        if fault := label_fault(content[key], may_be_empty=key == "sub_label"):
            raise ProbeFormatError(f"{where}: {key} {content[key]!r} {fault}")
    for key in ("sub_id", "obj_id"):
        if not isinstance(content.get(key), str | None):
            raise ProbeFormatError(
                f"{where}: {key} {content[key]!r} is not a text; give Wikidata's number or leave it out"
            )
    return Row(
        line, content["sub_label"], content.get("sub_id"), content["obj_label"], content.get("obj_id"), answer_idx
    )


def label_fault(label: object, *, may_be_empty: bool = False) -> str | None:
    """What is wrong with the label of a subject or candidate, and the fix; None if nothing is.

    BEAR-big has a subject without a label (P291, line 41): subjects may be empty, and are noted.

    >>> label_fault(" ")
    'is empty; give a text'
    """
    if not isinstance(label, str):
        return "is not a text; put it in quotes"
    if not label.strip() and not may_be_empty:
        return "is empty; give a text"
    if _SURROGATE.search(label):
        return "holds half of a surrogate pair; write the full character"
    return None
