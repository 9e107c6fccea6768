"""The texts of a run's probe, stored in its folder: labels.json, all subjects and candidates of the probe, by relation.

The file does not depend on which relations, instances and templates are scored, and is no part of the run's identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calprobe.probes.types import Instance, Probe, Relation
from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.side_files import SideObject


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


_FILE = SideObject(
    "labels",
    "delete the file, and name the probe with --probe",
    "fix this, or leave the labels out with --no-save-labels",
    indent=1,
    is_escaped=True,
)
FILE_NAME = _FILE.file_name


def write_labels(folder: Path, probe: Probe) -> None:
    """Write all labels of a probe into a run folder, atomically, unless they are there already.

    Raises CalprobeError if the file cannot be written.
    """
    relations = {
        relation.name: {
            "candidates": relation.candidates,
            "instances": [_json(instance) for instance in relation.instances],
        }
        for relation in probe.relations
    }
    _FILE.write(folder, {"probe": probe.name, "fingerprint": probe.fingerprint or None, "relations": relations})


def read_labels(folder: Path) -> Probe | None:
    """The labels in a run folder, as a probe without templates and domains; None if it has none.

    The fingerprint is empty for an import that does not know its probe. Raises CalprobeError if the file is damaged.
    """
    return _FILE.read(folder, _probe)


def keep_labels(sources: Iterable[Path], folder: Path) -> None:
    """Write the labels that one of several run folders has into another. Raises as `read_labels`, `write_labels`."""
    stored = next((labels for source in sources if (labels := read_labels(source)) is not None), None)
    if stored is not None:
        write_labels(folder, stored)


def _json(instance: Instance) -> dict[str, Any]:
    content = {"instance": instance.index, "subject": instance.subject, "answer_idx": instance.answer_idx}
    return content if instance.candidates is None else content | {"candidates": instance.candidates}


def _probe(fields: Any) -> Probe:
    """The probe. Raises DecodeError for anything that `write_labels` does not write."""
    labels = decode(_Labels, fields)
    relations = []
    for name, relation in labels.relations.items():
        for instance in relation.instances:
            n_candidates = len(relation.candidates if instance.candidates is None else instance.candidates)
            if not 0 <= instance.answer_idx < n_candidates:
                raise DecodeError(
                    f"{name}, instance {instance.instance}: answer_idx {instance.answer_idx} of {n_candidates}"
                )
        instances = (Instance(i.instance, i.subject, i.answer_idx, candidates=i.candidates) for i in relation.instances)
        relations.append(Relation(name, relation.candidates, tuple(instances)))
    return Probe(labels.probe, tuple(relations), labels.fingerprint or "")
