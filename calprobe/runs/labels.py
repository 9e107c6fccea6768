"""The texts of a run's probe, stored in its folder: labels.json, all subjects and candidates of the probe, by relation.

The file does not depend on which relations, instances and templates are scored, and is no part of the run's identity.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError
from calprobe.messages import reason
from calprobe.probes.types import Instance, Probe, Relation
from calprobe.runs import atomic
from calprobe.runs.decode import DecodeError, decode

FILE_NAME = "labels.json"
FORMAT = 1
_FIX = "delete the file, and name the probe with --probe"


@dataclass(frozen=True, slots=True)
class _Instance:
    instance: int  # line number in the relation's file, from 0
    subject: str
    answer_idx: int
    candidates: tuple[str, ...] | None = None  # its own; None: the relation's


@dataclass(frozen=True, slots=True)
class _Relation:
    candidates: tuple[str, ...]
    instances: tuple[_Instance, ...]


@dataclass(frozen=True, slots=True)
class _Labels:
    probe: str
    fingerprint: str | None  # None: the labels of an import
    relations: Mapping[str, _Relation]


def write_labels(folder: Path, probe: Probe) -> None:
    """Write all labels of a probe into a run folder, atomically, unless they are there already.

    Raises CalprobeError if the file cannot be written.
    """
    path = folder / FILE_NAME
    text = _text(probe)
    try:
        if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text:
            atomic.write_text(path, text)
    except OSError as error:
        fix = "fix this, or leave the labels out with --no-save-labels"
        raise CalprobeError(f"{path}: cannot be written: {reason(error)}; {fix}") from error


def read_labels(folder: Path) -> Probe | None:
    """The labels in a run folder, as a probe without templates and domains; None if it has none.

    The fingerprint is empty for an import that does not know its probe. Raises CalprobeError if the file is damaged.
    """
    path = folder / FILE_NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CalprobeError(f"{path}: cannot be read: {reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise CalprobeError(f"{path}: damaged, not JSON; {_FIX}") from error
    try:
        return _probe(_checked(content))
    except DecodeError as error:
        raise CalprobeError(f"{path}: damaged: {error}; {_FIX}") from error


def keep_labels(sources: Iterable[Path], folder: Path) -> None:
    """Write the labels that one of several run folders has into another. Raises as `read_labels`, `write_labels`."""
    found = next((labels for source in sources if (labels := read_labels(source)) is not None), None)
    if found is not None:
        write_labels(folder, found)


def _text(probe: Probe) -> str:
    relations = {
        relation.name: _Relation(
            relation.candidates,
            tuple(_Instance(i.index, i.subject, i.answer_idx, i.candidates) for i in relation.instances),
        )
        for relation in probe.relations
    }
    fields = asdict(_Labels(probe.name, probe.fingerprint or None, relations))
    for relation in fields["relations"].values():
        for instance in relation["instances"]:
            if instance["candidates"] is None:
                del instance["candidates"]
    complete = {"calprobe_labels": FORMAT} | fields | {"checksum": _checksum(fields)}
    return json.dumps(complete, indent=1, ensure_ascii=False) + "\n"


def _checked(content: Any) -> _Labels:
    """The content of the file. Raises DecodeError for anything that `_text` does not write."""
    if not isinstance(content, dict) or content.get("calprobe_labels") != FORMAT:
        raise DecodeError(f"no labels of format {FORMAT}")
    fields = {key: value for key, value in content.items() if key not in ("calprobe_labels", "checksum")}
    if content.get("checksum") != _checksum(fields):
        raise DecodeError("the texts changed since calprobe wrote them")
    labels = decode(_Labels, fields)
    for name, relation in labels.relations.items():
        for one in relation.instances:
            n_candidates = len(relation.candidates if one.candidates is None else one.candidates)
            if not 0 <= one.answer_idx < n_candidates:
                raise DecodeError(f"{name}, instance {one.instance}: answer_idx {one.answer_idx} of {n_candidates}")
    return labels


def _probe(labels: _Labels) -> Probe:
    relations = (
        Relation(
            name,
            relation.candidates,
            tuple(Instance(i.instance, i.subject, i.answer_idx, candidates=i.candidates) for i in relation.instances),
        )
        for name, relation in labels.relations.items()
    )
    return Probe(labels.probe, tuple(relations), labels.fingerprint or "")


def _checksum(fields: Any) -> str:
    """CRC-32 (hex) of a JSON value, however it is laid out."""
    return f"{zlib.crc32(json.dumps(fields, sort_keys=True, ensure_ascii=True).encode()):08x}"
