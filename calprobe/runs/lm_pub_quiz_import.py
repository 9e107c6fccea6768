"""Scores that lm-pub-quiz saved (metadata_results.json, RELATION_results.jsonl) as a run of this package."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe import __version__
from calprobe.errors import ProbeFormatError
from calprobe.probes import Probe, Relation
from calprobe.probes.json_files import JsonObject, read_json_lines, read_json_object
from calprobe.runs.folder import RunFolder
from calprobe.runs.lm_pub_quiz_export import METADATA, RESULTS_SUFFIX
from calprobe.runs.manifest import (
    Manifest,
    ModelRecord,
    RelationRecord,
    Settings,
    SourceRecord,
    TemplateRecord,
)
from calprobe.runs.pieces import REDUCTIONS, PieceScores
from calprobe.runs.whole import write_whole
from calprobe.statements.template_sets import kind_of
from calprobe.types import ModelKind

_FLAT = "reduce the results in lm-pub-quiz first"


@dataclass(frozen=True, slots=True)
class _Published:
    """One relation's results."""

    record: RelationRecord
    instance: npt.NDArray[np.int32]  # [instances], ascending
    answer_idx: npt.NDArray[np.int32]  # [instances]
    scores: npt.NDArray[np.float64]  # [instances, candidates]; NaN where the file has null


@dataclass(frozen=True, slots=True)
class _Common:
    """What the metadata says of every relation alike."""

    model: str
    dataset: str
    template: int
    reduction: str
    pll_metric: str | None  # of masked models only


def scored_model(folder: Path) -> str:
    """The name of the model whose scores lie in `folder`. Raises ProbeFormatError as `import_lm_pub_quiz` does."""
    return _read_metadata(folder)[1].model


def import_lm_pub_quiz(folder: Path, out: Path, probe: Probe | None = None, kind: ModelKind | None = None) -> RunFolder:
    """Make a run at `out` of the scores in `folder`, whole or not at all; columns that were not published are null.

    Args:
        folder: holds metadata_results.json and a RELATION_results.jsonl for each relation in it, one template, reduced.
        out: the run folder, empty or absent.
        probe: names each instance by its line number there, matched by sub_id and answer, and gives the domains.
            Without it an instance is named by its row's place in its file, from 0. (The files' own `instance` is a
            row of some other table.)
        kind: of the model. Without it a model with a `pll_metric` is masked, and of others the files do not say.
    Raises:
        ProbeFormatError: a file is not what lm-pub-quiz saves, or does not fit the probe; names file, line and mend.
        UsageError: `out` is not empty.
    """
    metadata, common = _read_metadata(folder)
    published = [_read_relation(folder, metadata, name, common, probe) for name in metadata.content]
    manifest = Manifest(
        model=ModelRecord(common.model, id=common.model, kind=kind or ("masked" if common.pll_metric else None)),
        probe=SourceRecord(probe.name, probe.fingerprint) if probe else SourceRecord(common.dataset),
        template_set=SourceRecord("imported"),
        templates=(_template(metadata, published, common),),
        relations=tuple(relation.record for relation in published),
        settings=Settings(path="imported", pll_metric=common.pll_metric),
        versions={"calprobe": __version__},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return write_whole(out, manifest, (_piece(relation, common) for relation in published))


def _read_metadata(folder: Path) -> tuple[JsonObject, _Common]:
    metadata = read_json_object(folder / METADATA)
    _check_files(folder, metadata)
    return metadata, _common(metadata)


def _check_files(folder: Path, metadata: JsonObject) -> None:
    if not metadata.content:
        metadata.fail("no relation in it; name the folder that lm-pub-quiz saved")
    there = {path.name.removesuffix(RESULTS_SUFFIX) for path in folder.glob(f"*{RESULTS_SUFFIX}")}
    if absent := [name for name in metadata.content if name not in there]:
        metadata.fail(f"no file {absent[0]}{RESULTS_SUFFIX} beside it; add it, or remove the entry", absent[0])
    if extra := sorted(there - set(metadata.content)):
        metadata.fail(f"no entry for {extra[0]}{RESULTS_SUFFIX}, which is there; add it, or remove the file")


def _common(metadata: JsonObject) -> _Common:
    found = [_entry_of(metadata, name) for name in metadata.content]
    for name, entry in zip(metadata.content, found, strict=True):
        if entry != found[0]:
            metadata.fail(f"{name}: {entry}, but the first relation has {found[0]}; import them one by one", name)
    return found[0]


def _entry_of(metadata: JsonObject, name: str) -> _Common:
    entry = metadata.content[name]
    if not isinstance(entry, dict):
        metadata.fail(f"{name}: must be an object; mend the entry", name)
    if not isinstance(entry.get("model_name_or_path"), str):
        metadata.fail(f"{name}: model_name_or_path must be a text; add it", name)
    if type(entry.get("template_index")) is not int or entry["template_index"] < 0:
        metadata.fail(f"{name}: template_index must be one number; save the results of one template", name)
    if entry.get("reduction") not in REDUCTIONS:
        metadata.fail(f"{name}: reduction must be one of {', '.join(REDUCTIONS)}; {_FLAT}", name)
    dataset = str(entry.get("dataset_name") or "unknown")
    pll_metric = None if entry.get("pll_metric") is None else str(entry["pll_metric"])
    return _Common(entry["model_name_or_path"], dataset, entry["template_index"], entry["reduction"], pll_metric)


def _read_relation(folder: Path, metadata: JsonObject, name: str, common: _Common, probe: Probe | None) -> _Published:
    entry = metadata.content[name]
    relation = _relation_of(metadata, name, probe)
    path = folder / f"{name}{RESULTS_SUFFIX}"
    labels = entry.get("answer_space_labels")
    n_candidates = len(labels) if isinstance(labels, list) else None
    places, answers, scores = [], [], []
    for line, row in read_json_lines(path):
        where = f"{path}:{line}"
        scores.append(_row_scores(row, n_candidates, where))
        n_candidates = len(scores[0])
        answers.append(_row_answer(row, n_candidates, where))
        places.append(line - 1 if relation is None else _line_number(row, relation, where))
    if len(set(places)) < len(places):
        twice = next(i for i, place in enumerate(places) if place in places[:i])
        raise ProbeFormatError(f"{path}:{twice + 1}: the same subject and answer as an earlier line; remove one")
    order = np.argsort(places)
    instance, answer_idx = np.array(places, np.int32)[order], np.array(answers, np.int32)[order]
    record = RelationRecord(
        name=name,
        n_instances=len(instance),
        n_candidates=n_candidates or 0,
        cardinality=relation.cardinality if relation else "1:1" if len(set(answers)) == len(answers) else "N:1",
        domains=relation.domains if relation else _domains(entry),
        texts=_wording(entry, common.template),
    )
    return _Published(record, instance, answer_idx, np.array(scores, np.float64)[order])


def _relation_of(metadata: JsonObject, name: str, probe: Probe | None) -> Relation | None:
    """The probe's relation, its answer space checked against the published one; None without a probe."""
    if probe is None:
        return None
    found = [relation for relation in probe.relations if relation.name == name]
    if not found:
        metadata.fail(f"{name}: not in probe {probe.name}; give the probe that was scored, or leave out --probe", name)
    labels = metadata.content[name].get("answer_space_labels")
    if labels != list(found[0].candidates):
        metadata.fail(f"{name}: another answer space than in probe {probe.name}; give the probe that was scored", name)
    return found[0]


def _row_scores(row: dict[str, Any], n_candidates: int | None, where: str) -> Sequence[float]:
    scores = row.get("pll_scores")
    if not isinstance(scores, list) or not scores:
        raise ProbeFormatError(f"{where}: pll_scores must be a list of numbers; add it")
    if any(isinstance(score, list) for score in scores):
        raise ProbeFormatError(f"{where}: pll_scores holds token scores; {_FLAT}")
    if not all(score is None or type(score) in (int, float) for score in scores):
        raise ProbeFormatError(f"{where}: pll_scores must be a list of numbers; mend the line")
    if n_candidates is not None and len(scores) != n_candidates:
        raise ProbeFormatError(f"{where}: {len(scores)} pll_scores for {n_candidates} candidates; mend the line")
    return [float("nan") if score is None else float(score) for score in scores]


def _row_answer(row: dict[str, Any], n_candidates: int, where: str) -> int:
    answer = row.get("answer_idx")
    if type(answer) is not int or not 0 <= answer < n_candidates:
        raise ProbeFormatError(f"{where}: answer_idx {json.dumps(answer)} is not 0 to {n_candidates - 1}; mend it")
    return answer


def _line_number(row: dict[str, Any], relation: Relation, where: str) -> int:
    key = (row.get("sub_id"), row.get("answer_idx"))
    found = [i.index for i in relation.instances if i.subject_id is not None and (i.subject_id, i.answer_idx) == key]
    if len(found) != 1:
        number = "no instance" if not found else f"{len(found)} instances"
        what = f"{number} of {relation.name} in the probe with sub_id {json.dumps(key[0])} and answer_idx {key[1]}"
        raise ProbeFormatError(f"{where}: {what}; give the probe that was scored, or leave out --probe")
    return found[0]


def _domains(entry: dict[str, Any]) -> tuple[str, ...]:
    info = entry.get("relation_info")
    domains = info.get("domains") if isinstance(info, dict) else None
    return tuple(map(str, domains)) if isinstance(domains, list) else ()


def _wording(entry: dict[str, Any], template: int) -> tuple[str, ...]:
    """The scored template's text, as a tuple of one; empty where the metadata does not give it."""
    texts = entry.get("templates")
    found = texts[template : template + 1] if isinstance(texts, list) else []
    return tuple(text for text in found if isinstance(text, str))


def _template(metadata: JsonObject, published: list[_Published], common: _Common) -> TemplateRecord:
    kinds = {kind_of(text): relation.record.name for relation in published for text in relation.record.texts}
    if len(kinds) > 1:
        said = ", ".join(f"{marker or kind} in {name}" for (kind, marker), name in kinds.items())
        metadata.fail(f"template {common.template} differs in kind: {said}; import them one by one")
    kind, marker = next(iter(kinds), ("paraphrase", None))
    return TemplateRecord(common.template, kind, marker)


def _piece(relation: _Published, common: _Common) -> PieceScores:
    n_instances, n_candidates = relation.scores.shape
    unknown: dict[str, Any] = dict.fromkeys((*REDUCTIONS, "first", "first_role", "n_tokens", "n_answer"))
    return PieceScores(
        relation=relation.record.name,
        template=common.template,
        instance=np.repeat(relation.instance, n_candidates),
        candidate=np.tile(np.arange(n_candidates, dtype=np.int32), n_instances),
        answer_idx=np.repeat(relation.answer_idx, n_candidates),
        **unknown | {common.reduction: relation.scores.ravel()},
    )
