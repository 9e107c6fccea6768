"""Reads a folder in BEAR's format: metadata_relations.json and one RELATION.jsonl a relation.

Metadata: `{RELATION: {"templates": [..], "answer_space_labels": [..], "answer_space_ids": [..]}}`. A line of a relation
file: `{"sub_id", "sub_label", "sub_aliases", "obj_id", "obj_label", "answer_idx"}`; sub_label and obj_label are needed,
and answer_idx where the metadata has an answer space. Where it has none (BEAR-big), the answer space is the relation's
answers by first appearance. Either way a candidate is one label and one id: a label of two ids would be ambiguous
in a statement, and is an error like any other duplicate (neither BEAR nor BEAR-big has one).
Domains come from relation_info.json (`{RELATION: {"domains": [..]}}`) in the folder or the one above.
"""

from __future__ import annotations

from pathlib import Path

from calprobe.errors import ProbeFormatError
from calprobe.probes.answers import check_declared, check_derived, declared_answer_space, derive_answer_space
from calprobe.probes.fingerprints import fingerprint
from calprobe.probes.json_files import JsonObject, read_json_object
from calprobe.probes.probe_notes import notes_of
from calprobe.probes.relation_rows import Row, read_rows
from calprobe.probes.types import Instance, Probe, Relation, slot_fault

METADATA = "metadata_relations.json"
RELATION_INFO = "relation_info.json"


def read_probe_folder(folder: Path, name: str) -> Probe:
    """The probe in a folder of BEAR's format; relations in the metadata's order, oddities in its notes.

    Args:
        folder: where metadata_relations.json lies.
        name: the probe's name.
    Raises:
        ProbeFormatError: the folder or one of its files is not in the format; names file, line and fix.
    """
    metadata = read_json_object(folder / METADATA)
    present = {path.stem for path in folder.glob("*.jsonl")}
    if stray := sorted(present.difference(metadata.content)):
        path = folder / f"{stray[0]}.jsonl"
        raise ProbeFormatError(f"{path}:1: {METADATA} has no entry {stray[0]!r}; add it or move the file away")
    domains = _read_domains(folder)
    relations = tuple(
        _read_relation(folder, metadata, relation, domains.get(relation, ()))
        for relation in metadata.content
        if relation in present
    )
    if not relations:
        raise ProbeFormatError(f"{folder / METADATA}:1: none of its relations has a file RELATION.jsonl; add one")
    return Probe(name, relations, fingerprint(relations), notes_of(relations, metadata.content))


def checked_templates(source: JsonObject, relation: str, key: str) -> tuple[str, ...]:
    """The templates that a relation's entry lists under a key.

    Raises:
        ProbeFormatError: not a list of texts, or a template lacks a slot or has one twice.
    """
    texts = source.content[relation][key]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        source.fail(f"{key} of {relation!r} must be a list of texts; fix it", relation, key)
    for text in texts:
        if fault := slot_fault(text):
            what = f"template {text!r} of {relation!r} {fault}; each slot stands once, fix the template"
            source.fail(what, relation, key, text)
    return tuple(texts)


def _read_relation(folder: Path, metadata: JsonObject, name: str, domains: tuple[str, ...]) -> Relation:
    entry = metadata.content[name]
    if not isinstance(entry, dict):
        metadata.fail(f"entry of {name!r} must be an object; fix it", name)
    path = folder / f"{name}.jsonl"
    rows = read_rows(path)
    space = declared_answer_space(metadata, name)
    if space is not None:
        answers = [check_declared(path, row, space) for row in rows]
    else:
        space = derive_answer_space(path, rows)
        places = {label: place for place, label in enumerate(space.labels)}
        answers = [check_derived(path, row, places[row.answer]) for row in rows]
    templates = checked_templates(metadata, name, "templates") if "templates" in entry else ()
    return Relation(name, space.labels, _instances(rows, answers), templates, domains)


def _instances(rows: list[Row], answers: list[int]) -> tuple[Instance, ...]:
    return tuple(
        Instance(row.line - 1, row.subject, answer, row.subject_id) for row, answer in zip(rows, answers, strict=True)
    )


def _read_domains(folder: Path) -> dict[str, tuple[str, ...]]:
    """Relation -> domains; empty if neither the folder nor the one above has the file."""
    paths = [place / RELATION_INFO for place in (folder, folder.resolve().parent)]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return {}
    info = read_json_object(path)
    for name, entry in info.content.items():
        domains = entry.get("domains") if isinstance(entry, dict) else None
        if not isinstance(domains, list) or not all(isinstance(domain, str) for domain in domains):
            info.fail(f"entry of {name!r} must be an object with 'domains', a list of texts; fix it", name)
    return {name: tuple(entry["domains"]) for name, entry in info.content.items()}
