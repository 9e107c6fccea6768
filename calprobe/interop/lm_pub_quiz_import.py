"""Scores that lm-pub-quiz saved (metadata_results.json, RELATION_results.jsonl) as a run of this package."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.errors import ProbeFormatError
from calprobe.interop.lm_pub_quiz_export import RESULTS_SUFFIX
from calprobe.interop.lm_pub_quiz_metadata import FLAT, Common, domains, read_metadata, wordings
from calprobe.interop.reply_lines import LARGEST_LOGPROB
from calprobe.messages import shown
from calprobe.probes import Instance, Probe, Relation
from calprobe.probes.json_files import JsonObject, read_json_lines
from calprobe.probes.relation_rows import label_fault
from calprobe.runs.folder import RunFolder
from calprobe.runs.manifest import Manifest
from calprobe.runs.manifest_records import (
    ModelRecord,
    RelationRecord,
    Settings,
    SourceRecord,
    TemplateRecord,
)
from calprobe.runs.pieces import REDUCTIONS, PieceScores
from calprobe.runs.stored_texts import write_labels
from calprobe.statements.template_sets import kind_of
from calprobe.version import __version__
from calprobe.words import ModelKind


@dataclass(frozen=True, slots=True)
class _Row:
    """One line: an instance under one template."""

    where: str  # FILE:LINE
    place: int  # of the instance: its line number in the probe, or its place among the rows of the template
    subject: object  # names the instance within the file; None where the file does not
    label: object  # its name in words; None where the file does not have it
    answer_idx: int
    scores: Sequence[float]  # [candidates]; NaN where the file has null


@dataclass(frozen=True, slots=True)
class _Published:
    """One relation's results."""

    record: RelationRecord
    instance: npt.NDArray[np.int32]  # [instances], ascending
    answer_idx: npt.NDArray[np.int32]  # [instances]
    scores: npt.NDArray[np.float64]  # [templates, instances, candidates]
    labels: Relation | None  # subjects and candidates in words; None where the files do not have them


def scored_model(folder: Path) -> str:
    """The name of the model that made the scores in `folder`. Raises ProbeFormatError as `import_lm_pub_quiz` does."""
    return read_metadata(folder)[1].model


def import_lm_pub_quiz(
    folder: Path,
    out: Path,
    probe: Probe | None = None,
    kind: ModelKind | None = None,
    *,
    save_labels: bool | None = None,
) -> RunFolder:
    """Make a run at `out` of the scores in `folder`, complete or not at all; columns that were not published are null.

    Args:
        folder: holds metadata_results.json (after 0.3: metadata_relations.json) and a RELATION_results.jsonl for each
            relation in it, one template or several, reduced.
        out: the run folder, empty or absent.
        probe: names each instance by its line number there, matched by sub_id and answer, and gives the domains.
            Without it an instance is named by its row's place in its file, from 0, among the rows of its template.
            (The files' own `instance` is a row of some other table.)
        save_labels: whether the run keeps subjects and candidates in words, as far as the files have them, or of the
            probe. None: those of the files; of a probe only if its licence is open, since it can be found again.
        kind: of the model. Without it a model with a `pll_metric` is masked, and of others the files do not say.
    Raises:
        ProbeFormatError: a file is not what lm-pub-quiz saves, or does not fit the probe; names file and line,
            and says what to do.
        UsageError: `out` is not empty.
    """
    metadata, common = read_metadata(folder)
    published = [_read_relation(metadata, name, common, probe) for name in metadata.content]
    manifest = Manifest(
        model=ModelRecord(common.model, id=common.model, kind=kind or ("masked" if common.pll_metric else None)),
        probe=SourceRecord(probe.name, probe.fingerprint, probe.path and shown(probe.path))
        if probe
        else SourceRecord(common.dataset),
        template_set=SourceRecord("imported"),
        templates=tuple(_templates(metadata, published, common)),
        relations=tuple(relation.record for relation in published),
        settings=Settings(path=None, pll_metric=common.pll_metric),
        versions={"calprobe": __version__},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    run = RunFolder.write_whole(out, manifest, (piece for relation in published for piece in _pieces(relation, common)))
    labels = probe or _published_labels(common.dataset, published)
    saves_labels = (probe is None or probe.open_licence) if save_labels is None else save_labels
    if labels is not None and saves_labels:
        write_labels(run.path, labels)
    return run


def _published_labels(name: str, published: Sequence[_Published]) -> Probe | None:
    relations = [relation.labels for relation in published if relation.labels is not None]
    return Probe(name, tuple(relations), "") if len(relations) == len(published) else None


def _read_relation(metadata: JsonObject, name: str, common: Common, probe: Probe | None) -> _Published:
    relation = _relation_of(metadata, name, probe)
    labels = metadata.content[name].get("answer_space_labels")
    n_candidates = len(labels) if isinstance(labels, list) else None
    path = metadata.path.with_name(f"{name}{RESULTS_SUFFIX}")
    rows: dict[int, list[_Row]] = {number: [] for number in common.templates}
    for line, content in read_json_lines(path):
        where = f"{path}:{line}"
        of_template = rows[_row_template(content, common, where)]
        of_template.append(_read_row(content, n_candidates, relation, len(of_template), where))
        n_candidates = len(of_template[-1].scores)
    first = _aligned(path, rows)
    answers = [row.answer_idx for row in first]
    record = RelationRecord(
        name=name,
        n_instances=len(first),
        n_candidates=n_candidates or 0,
        cardinality=relation.cardinality if relation else "1:1" if len(set(answers)) == len(answers) else "N:1",
        domains=relation.domains if relation else domains(metadata, name),
        texts=wordings(metadata, name, common),
    )
    scores = np.array([[row.scores for row in of_template] for of_template in rows.values()], np.float64)
    places = np.array([row.place for row in first], np.int32)
    return _Published(record, places, np.array(answers, np.int32), scores, _labels(name, labels, first))


def _labels(name: str, candidates: object, rows: Sequence[_Row]) -> Relation | None:
    """The relation in words; None unless the files have a text for each subject and each candidate."""
    if not isinstance(candidates, list) or _have_fault([*candidates, *(row.label for row in rows)]):
        return None
    instances = tuple(Instance(row.place, str(row.label), row.answer_idx) for row in rows)
    return Relation(name, tuple(candidates), instances)


def _have_fault(texts: Sequence[object]) -> bool:
    """Whether any of these is not a text that can be written as UTF-8."""
    return any(not isinstance(text, str) or label_fault(text) is not None for text in texts)


def _aligned(path: Path, rows: dict[int, list[_Row]]) -> list[_Row]:
    """Sort each template's rows by instance, and give those of the first, to which all others must be equal."""
    for of_template in rows.values():
        of_template.sort(key=lambda row: row.place)
        for row, following in pairwise(of_template):
            if row.place == following.place:
                raise ProbeFormatError(f"{following.where}: the same subject and answer as an earlier line; remove one")
    number, first = next(iter(rows.items()))
    for template, of_template in rows.items():
        if len(of_template) != len(first):
            fault = f"{len(of_template)} rows of template {template}, {len(first)} of template {number}"
            raise ProbeFormatError(f"{path}: {fault}; save all instances under all templates")
        for row, like in zip(of_template, first, strict=True):
            if (row.place, row.subject, row.answer_idx) != (like.place, like.subject, like.answer_idx):
                fault = f"another subject or answer than {like.where}, the same instance under template {number}"
                raise ProbeFormatError(f"{row.where}: {fault}; save all instances under all templates")
    return first


def _row_template(row: dict[str, Any], common: Common, where: str) -> int:
    only = common.templates[0] if len(common.templates) == 1 else None
    number = row.get("template_index", only)
    if type(number) is not int or number not in common.templates:
        numbers = ", ".join(map(str, common.templates))
        raise ProbeFormatError(f"{where}: template_index {json.dumps(number)} is not one of {numbers}; correct it")
    return number


def _read_row(row: dict[str, Any], n_candidates: int | None, relation: Relation | None, place: int, where: str) -> _Row:
    if "predicted_tokens" in row or "results" in row:
        raise ProbeFormatError(f"{where}: lm-pub-quiz's form before 0.1; load the results there and save them again")
    scores = _row_scores(row, n_candidates, where)
    answer = _row_answer(row, len(scores), where)
    named = place if relation is None else _line_number(row, relation, where)
    return _Row(where, named, row.get("sub_id", row.get("sub_label")), row.get("sub_label"), answer, scores)


def _relation_of(metadata: JsonObject, name: str, probe: Probe | None) -> Relation | None:
    """The probe's relation, its answer space checked against the published one; None without a probe."""
    if probe is None:
        return None
    relations = [relation for relation in probe.relations if relation.name == name]
    if not relations:
        metadata.fail(f"{name}: not in probe {probe.name}; give the probe that was scored, or leave out --probe", name)
    labels = metadata.content[name].get("answer_space_labels")
    if labels != list(relations[0].candidates):
        metadata.fail(f"{name}: another answer space than in probe {probe.name}; give the probe that was scored", name)
    return relations[0]


def _row_scores(row: dict[str, Any], n_candidates: int | None, where: str) -> Sequence[float]:
    scores = row.get("pll_scores")
    if not isinstance(scores, list) or not scores:
        raise ProbeFormatError(f"{where}: pll_scores must be a list of numbers; add it")
    if any(isinstance(score, list) for score in scores):
        raise ProbeFormatError(f"{where}: pll_scores holds token scores; {FLAT}")
    if n_candidates is not None and len(scores) != n_candidates:
        raise ProbeFormatError(f"{where}: {len(scores)} pll_scores for {n_candidates} candidates; correct the line")
    return [_score(score, where) for score in scores]


def _score(value: object, where: str) -> float:
    """The logarithm of a probability; NaN where there is none."""
    if value is None:
        return float("nan")
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ProbeFormatError(f"{where}: pll_scores must be a list of numbers; correct the line")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number > LARGEST_LOGPROB:
        fault = f"{value!r:.40} in pll_scores is not a log-likelihood"
        raise ProbeFormatError(f"{where}: {fault}; give natural logs of probabilities, 0 or less")
    return min(number, 0.0)  # NaN stays


def _row_answer(row: dict[str, Any], n_candidates: int, where: str) -> int:
    answer = row.get("answer_idx")
    if type(answer) is not int or not 0 <= answer < n_candidates:
        raise ProbeFormatError(f"{where}: answer_idx {json.dumps(answer)} is not 0 to {n_candidates - 1}; correct it")
    return answer


def _line_number(row: dict[str, Any], relation: Relation, where: str) -> int:
    key = (row.get("sub_id"), row.get("answer_idx"))
    places = [i.index for i in relation.instances if i.subject_id is not None and (i.subject_id, i.answer_idx) == key]
    if len(places) != 1:
        number = "no instance" if not places else f"{len(places)} instances"
        fault = f"{number} of {relation.name} in the probe with sub_id {json.dumps(key[0])} and answer_idx {key[1]}"
        raise ProbeFormatError(f"{where}: {fault}; give the probe that was scored, or leave out --probe")
    return places[0]


def _templates(metadata: JsonObject, published: list[_Published], common: Common) -> Iterator[TemplateRecord]:
    for row, number in enumerate(common.templates):
        kinds = {
            kind_of(relation.record.texts[row]): relation.record.name for relation in published if relation.record.texts
        }
        if len(kinds) > 1:
            listing = ", ".join(f"{marker or kind} in {name}" for (kind, marker), name in kinds.items())
            metadata.fail(f"template {number} differs in kind: {listing}; import them one by one")
        kind, marker = next(iter(kinds), ("paraphrase", None))
        yield TemplateRecord(number, kind, marker)


def _pieces(relation: _Published, common: Common) -> Iterator[PieceScores]:
    _, n_instances, n_candidates = relation.scores.shape
    unknown: dict[str, Any] = dict.fromkeys((*REDUCTIONS, "first", "first_role", "n_tokens", "n_answer"))
    for number, scores in zip(common.templates, relation.scores, strict=True):
        yield PieceScores(
            relation=relation.record.name,
            template=number,
            instance=np.repeat(relation.instance, n_candidates),
            candidate=np.tile(np.arange(n_candidates, dtype=np.int32), n_instances),
            answer_idx=np.repeat(relation.answer_idx, n_candidates),
            **unknown | {common.reduction: scores.ravel()},
        )
