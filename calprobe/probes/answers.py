"""A relation's answer space: given in the metadata, or read off the relation's rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from calprobe.errors import ProbeFormatError
from calprobe.probes.json_files import JsonObject
from calprobe.probes.relation_rows import Row, label_fault

LABELS = "answer_space_labels"
IDS = "answer_space_ids"


@dataclass(frozen=True, slots=True)
class AnswerSpace:
    """The candidates of a relation, in order, each label once."""

    labels: tuple[str, ...]
    ids: tuple[str | None, ...]  # Wikidata's numbers, one a label; all None where the metadata has none


def declared_answer_space(metadata: JsonObject, relation: str) -> AnswerSpace | None:
    """The answer space in the metadata; None if it has none.

    Raises:
        ProbeFormatError: it is empty, names a candidate twice, holds something other than texts, or has not as many ids
            as labels.
    """
    entry = metadata.content[relation]
    if LABELS not in entry:
        if IDS in entry:
            metadata.fail(f"{relation!r} has {IDS} but no {LABELS}; add the labels", relation, IDS)
        return None
    labels = _unique_texts(metadata, relation, LABELS)
    if IDS not in entry:
        return AnswerSpace(labels, (None,) * len(labels))
    ids = _unique_texts(metadata, relation, IDS)
    if len(ids) != len(labels):
        what = f"{relation!r} has {len(labels)} {LABELS} and {len(ids)} {IDS}; give one id a label"
        metadata.fail(what, relation, IDS)
    return AnswerSpace(labels, ids)


def _unique_texts(metadata: JsonObject, relation: str, key: str) -> tuple[str, ...]:
    texts = metadata.content[relation][key]
    if not isinstance(texts, list) or not texts:
        metadata.fail(f"{key} of {relation!r} must be a list of at least one text; fill it", relation, key)
    seen = set()
    for text in texts:
        if fault := label_fault(text):
            metadata.fail(f"{key} of {relation!r}: {text!r} {fault}", relation, key)
        if text in seen:
            metadata.fail(f"candidate {text!r} twice in {key} of {relation!r}; remove one", relation, key, text, text)
        seen.add(text)
    return tuple(texts)


def derive_answer_space(path: Path, rows: list[Row]) -> AnswerSpace:
    """The answers of the rows by first appearance.

    Raises:
        ProbeFormatError: one label with two ids (such candidates have the same text), or one id with two labels.
    """
    id_of: dict[str, Row] = {}
    label_of: dict[str, Row] = {}
    for row in rows:
        known = id_of.setdefault(row.answer, row)
        if known.answer_id != row.answer_id:
            what = (
                f"candidate {row.answer!r} has id {row.answer_id!r} here and {known.answer_id!r} in line {known.line}"
            )
            raise ProbeFormatError(f"{path}:{row.line}: {what}; a candidate is one label and one id, fix one of them")
        if row.answer_id is None:
            continue
        known = label_of.setdefault(row.answer_id, row)
        if known.answer != row.answer:
            what = f"id {row.answer_id!r} is {row.answer!r} here and {known.answer!r} in line {known.line}"
            raise ProbeFormatError(f"{path}:{row.line}: {what}; a candidate is one label and one id, fix one of them")
    return AnswerSpace(tuple(id_of), tuple(row.answer_id for row in id_of.values()))


def check_declared(path: Path, row: Row, space: AnswerSpace) -> int:
    """The row's place in an answer space of the metadata.

    Raises:
        ProbeFormatError: answer_idx is missing, out of range, or names another candidate than obj_label or obj_id.
    """
    where = f"{path}:{row.line}"
    if row.answer_idx is None:
        raise ProbeFormatError(f"{where}: key 'answer_idx' missing; add the answer's place in {LABELS}")
    if not 0 <= row.answer_idx < len(space.labels):
        allowed = f"0 to {len(space.labels) - 1}"
        raise ProbeFormatError(f"{where}: answer_idx {row.answer_idx} is not within the answer space; give {allowed}")
    label, identifier = space.labels[row.answer_idx], space.ids[row.answer_idx]
    if label != row.answer:
        what = f"answer_idx {row.answer_idx} is {label!r}, but obj_label is {row.answer!r}"
        raise ProbeFormatError(f"{where}: {what}; fix one of them")
    if None not in (identifier, row.answer_id) and identifier != row.answer_id:
        what = f"answer_idx {row.answer_idx} has id {identifier!r}, but obj_id is {row.answer_id!r}"
        raise ProbeFormatError(f"{where}: {what}; fix one of them")
    return row.answer_idx


def check_derived(path: Path, row: Row, place: int) -> int:
    """The row's place in an answer space read off the rows.

    Raises:
        ProbeFormatError: the row has an answer_idx, and it is another: a list it refers to is not in the metadata.
    """
    if row.answer_idx not in (None, place):
        what = f"answer_idx is {row.answer_idx}, but by first appearance of the answers it would be {place}"
        raise ProbeFormatError(f"{path}:{row.line}: {what}; add {LABELS} to the metadata or leave answer_idx out")
    return place
