"""A run in the form that lm-pub-quiz saves: metadata_results.json, and a line an instance in RELATION_results.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.messages import finite_or_none, reason
from calprobe.probes import Probe, load_probe
from calprobe.runs import atomic
from calprobe.runs.file_names import file_name
from calprobe.runs.manifest import Manifest
from calprobe.runs.pieces import PieceScores
from calprobe.runs.run import Reduction, Run

METADATA = "metadata_results.json"
RESULTS_SUFFIX = "_results.jsonl"
CARDINALITY = {"1:1": "single instance per answer", "N:1": "multiple instances per answer"}  # in lm-pub-quiz's words


def export_lm_pub_quiz(
    run: Run, out: Path, reduction: Reduction = "sum", template: int | None = None, probe: Probe | None = None
) -> None:
    """Write one template's scores under one reduction into the folder `out`, which must be empty or absent.

    Args:
        run: the run; relations that lack the template's scores are left out.
        out: the folder; it is there complete or not at all.
        reduction: what becomes `pll_scores`. NaN becomes null.
        template: the template's number; None is the run's first paraphrase (first template if it has none).
        probe: gives subjects and answers their names. Without it subjects are null, answers are named by their place.
    Raises:
        UsageError: no such template in the run, another probe than the run's, or `out` is not empty.
        CalprobeError: a run of instances with candidates of their own (`check_form`), nothing scored, or an import
            that does not know the reduction; or the disk does not take the folder.
    """
    check_form(run)
    number = _template_number(run.manifest, template)
    if probe is not None and probe.fingerprint != run.manifest.probe.fingerprint:
        raise UsageError(f"probe {probe.name}: not the one that {run.path} was scored with; name that with --probe")
    atomic.check_empty(out)
    pieces = [piece for piece in run.pieces if piece.template == number]
    if not pieces:
        raise CalprobeError(f"{run.path}: no scores of template {number} yet; resume the run first")
    if odd := [piece.relation for piece in pieces if file_name(piece.relation) != piece.relation]:
        fault = f"lm-pub-quiz's form has a file named as the relation, and {odd[0]!r:.60} is not for every disk"
        raise CalprobeError(f"{run.path}: {fault}; export --what candidates")
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        with atomic.replacing_folder(out, "export") as beside:
            beside.mkdir()
            _write(run, pieces, reduction, probe, beside)
    except OSError as error:
        raise CalprobeError(f"{out}: cannot be written: {reason(error)}; name another --out") from error


def _write(run: Run, pieces: list[PieceScores], reduction: Reduction, probe: Probe | None, folder: Path) -> None:
    metadata = {}
    for piece in pieces:
        rows = _rows(run, piece, reduction, probe)
        text = "".join(json.dumps(row) + "\n" for row in rows)
        atomic.write_text(folder / f"{piece.relation}{RESULTS_SUFFIX}", text)
        metadata[piece.relation] = _metadata(run.manifest, piece, reduction, probe)
    atomic.write_text(folder / METADATA, json.dumps(metadata, indent=1) + "\n")


def check_form(run: Run) -> None:
    """Raise CalprobeError for a run that the form has no place for: of contexts and each one's own completions."""
    if run.manifest.scores_completions:
        raise CalprobeError(
            f"{run.path}: lm-pub-quiz's form has one answer space a relation, but each context of probe"
            f" {run.manifest.probe.name} has completions of its own; export --what candidates"
        )


def _template_number(manifest: Manifest, number: int | None) -> int:
    numbers = sorted(template.number for template in manifest.templates)
    if number is None:
        return min((t.number for t in manifest.templates if t.kind == "paraphrase"), default=numbers[0])
    if number not in numbers:
        raise UsageError(f"--template {number}: the run has {', '.join(map(str, numbers))}")
    return number


def _rows(run: Run, piece: PieceScores, reduction: Reduction, probe: Probe | None) -> Iterator[dict[str, Any]]:
    n_candidates = run.manifest.relation(piece.relation).n_candidates
    scores = run.scores(piece, reduction).reshape(-1, n_candidates).tolist()
    instances = {i.index: i for i in probe.relation(piece.relation).instances} if probe else {}
    answers = piece.answer_idx[::n_candidates].tolist()
    for index, answer, row in zip(piece.instance[::n_candidates].tolist(), answers, scores, strict=True):
        instance = instances.get(index)
        yield {
            "instance": index,
            "sub_id": instance and instance.subject_id,
            "sub_label": instance and instance.subject,
            "answer_idx": answer,
            "pll_scores": [finite_or_none(score) for score in row],
        }


def _metadata(manifest: Manifest, piece: PieceScores, reduction: str, probe: Probe | None) -> dict[str, Any]:
    relation = manifest.relation(piece.relation)
    places = range(relation.n_candidates)
    # At its number, so that template_index finds it; numbers that the run does not have are null.
    texts: list[str | None] = [None] * (max(template.number for template in manifest.templates) + 1)
    for template, text in zip(manifest.templates, relation.texts, strict=False):
        texts[template.number] = text
    cardinality = {} if relation.cardinality is None else {"cardinality": CARDINALITY[relation.cardinality]}
    return {
        "templates": texts,
        "template_index": piece.template,
        "model_name_or_path": manifest.model.name,
        "num_original_instances": relation.n_instances,
        "subsampled": None,
        "reduction": reduction,
        **({} if manifest.settings.pll_metric is None else {"pll_metric": manifest.settings.pll_metric}),
        "timestamp": manifest.created,
        "dataset_name": manifest.probe.name,
        "relation_info": {"domains": list(relation.domains)} | cardinality,
        "metric_values": {},
        "answer_space_labels": list(probe.relation(relation.name).candidates) if probe else [str(i) for i in places],
        "answer_space_ids": [f"{relation.name}-{i}" for i in places],
    }


def labels_of(run: Run, name: str | None) -> Probe | None:
    """The probe with the labels; None if the run does not know it (an import without --probe)."""
    if name is not None:
        return load_probe(name)
    if run.manifest.probe.fingerprint is None:
        return None
    probe_name = run.manifest.probe.name
    hint = f"{run.path}: the labels are in the run's probe, {probe_name}; give its folder with --probe DIR"
    try:
        return load_probe(probe_name)
    except UsageError as error:
        raise UsageError(hint) from error
    except DataMissingError as error:  # or the name was that of a folder
        raise DataMissingError(f"{hint}, or run `calprobe fetch bear`") from error
