"""Multiple-choice tasks that lm-evaluation-harness ran (`--log_samples`) as a run of this package.

A task is a relation, a document an instance named by its doc_id, a choice a candidate, all under one template. A run's
relation has one number of candidates: a task that has several becomes a relation for each number, TASK-K4.
The log-likelihood of a choice after its context is both `sum` and `sum_answer`: the choice's tokens are all that is
scored. Means per token cannot be known (`acc_norm` divides by characters), nor first tokens: these columns are null.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from calprobe.errors import UsageError
from calprobe.interop.lm_eval_files import summary_beside, task_name
from calprobe.interop.lm_eval_samples import Question, read_questions, refuse_other_file
from calprobe.probes import Instance, Probe, Relation
from calprobe.probes.json_files import JsonObject, read_json_object
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
from calprobe.version import __version__
from calprobe.words import ModelKind

SOURCE = "lm-eval"
LONGEST_LABEL = 1000  # characters
_Scored = tuple[Question, int]  # with the place of the right choice


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is known of how the samples came about."""

    model: str
    revision: str | None = None
    dtype: str | None = None
    harness: str | None = None  # version of lm-evaluation-harness


def evaluation_of(files: Sequence[Path], model: str | None = None) -> Evaluation:
    """What the results_*.json say that lie beside the samples; `model` takes the place of the model's name there.

    Raises UsageError if a file has none and no model is given, or if they are of several models, revisions or dtypes;
    ProbeFormatError if one cannot be read.
    """
    results = [summary_beside(path) for path in files]
    if model is None and None in results:
        alone = files[results.index(None)]
        refuse_other_file(alone)
        raise UsageError(f"{alone}: no results_*.json of its date beside it to name the model; give --model NAME")
    evaluations = {_evaluation(read_json_object(path), model) for path in results if path is not None}
    if not evaluations:
        return Evaluation(str(model))
    if len({(evaluation.model, evaluation.revision, evaluation.dtype) for evaluation in evaluations}) > 1:
        named = "; ".join(
            sorted(
                f"{evaluation.model}, revision {evaluation.revision}, dtype {evaluation.dtype}"
                for evaluation in evaluations
            )
        )
        raise UsageError(f"the samples are of several models ({named}); import each by itself")
    evaluation = evaluations.pop()
    return replace(evaluation, harness=None) if evaluations else evaluation  # several versions of the harness


def probe_name(files: Sequence[Path]) -> str:
    """The task's name; of several files `lm-eval`."""
    return task_name(files[0]) if len(files) == 1 else SOURCE


def import_lm_eval(
    files: Sequence[Path],
    out: Path,
    evaluation: Evaluation,
    kind: ModelKind | None = None,
    *,
    save_labels: bool = True,
) -> RunFolder:
    """Make a run at `out` of logged samples, complete or not at all.

    Args:
        files: samples_TASK_DATE.jsonl, one or several, each of another task.
        out: the run folder, empty or absent.
        evaluation: see `evaluation_of`.
        kind: of the model; the files do not say.
        save_labels: whether the run keeps the questions and choices.
    Raises:
        ProbeFormatError: a file holds no samples of a multiple-choice task with one right choice; names file, line and
            what to do.
        UsageError: two files of one task, or `out` is not empty.
    """
    by_relation: dict[str, list[_Scored]] = {}
    for path in files:
        for name, questions in _relations(path):
            if name in by_relation:
                raise UsageError(f"{path}: another file has the task {name} too; import each evaluation by itself")
            by_relation[name] = questions
    model = evaluation.model
    manifest = Manifest(
        model=ModelRecord(model, id=model, revision=evaluation.revision, kind=kind),
        probe=SourceRecord(probe_name(files)),
        template_set=SourceRecord("imported"),
        templates=(TemplateRecord(0, "paraphrase"),),
        relations=tuple(
            # Whether an answer comes twice has no sense where each document has choices of its own.
            RelationRecord(name, len(questions), len(questions[0][0].texts), cardinality=None)
            for name, questions in by_relation.items()
        ),
        settings=Settings(path=None, dtype=evaluation.dtype),
        versions={"calprobe": __version__} | ({"lm_eval": evaluation.harness} if evaluation.harness else {}),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    pieces = (_piece(name, questions) for name, questions in by_relation.items())
    run = RunFolder.write_whole(out, manifest, pieces)
    if save_labels:
        write_labels(run.path, Probe(manifest.probe.name, tuple(_labels(*item) for item in by_relation.items()), ""))
    return run


def _labels(name: str, questions: Sequence[_Scored]) -> Relation:
    """The questions and choices of a relation: the end of the context is the subject."""
    return Relation(name, (), tuple(_question(question, answer) for question, answer in questions))


def _question(question: Question, answer: int) -> Instance:
    contexts = question.contexts
    if question.in_context and len(contexts) == len(question.texts):
        return Instance(question.doc_id, _text_of(question.texts[0]), answer, candidates=tuple(map(_text_of, contexts)))
    subject = contexts[0] if contexts else f"document {question.doc_id}"
    return Instance(question.doc_id, _text_of(subject), answer, candidates=tuple(map(_text_of, question.texts)))


def _text_of(text: str) -> str:
    """The end of a text, which has the question where examples stand before it; what is no UTF-8 becomes `?`."""
    end = text if len(text) <= LONGEST_LABEL else f".. {text[-LONGEST_LABEL:]}"
    return end.encode("utf-8", "replace").decode("utf-8")


def _relations(path: Path) -> Iterator[tuple[str, list[_Scored]]]:
    """The task's documents by their number of choices, ascending; the number is in the name if there are several."""
    task, scored = task_name(path), list(zip(*read_questions(path), strict=True))
    numbers = sorted({len(question.texts) for question, _ in scored})
    for number in numbers:
        name = task if len(numbers) == 1 else f"{task}-K{number}"
        yield name, [(question, answer) for question, answer in scored if len(question.texts) == number]


def _piece(name: str, questions: Sequence[_Scored]) -> PieceScores:
    n_candidates = len(questions[0][0].texts)
    logprobs = np.array([question.logprobs for question, _ in questions], np.float64).ravel()
    columns: dict[str, Any] = dict.fromkeys((*REDUCTIONS, "first", "first_role", "n_tokens", "n_answer"))
    columns["sum"] = logprobs
    if not any(question.in_context for question, _ in questions):
        columns["sum_answer"] = logprobs
    return PieceScores(
        relation=name,
        template=0,
        instance=np.repeat(np.array([question.doc_id for question, _ in questions], np.int32), n_candidates),
        candidate=np.tile(np.arange(n_candidates, dtype=np.int32), len(questions)),
        answer_idx=np.repeat(np.array([answer for _, answer in questions], np.int32), n_candidates),
        **columns,
    )


def _evaluation(results: JsonObject, model: str | None) -> Evaluation:
    config = results.content.get("config")
    details = config if isinstance(config, dict) else {}
    name = model or _text(results, results.content, "model_name")
    if name is None:
        results.fail("no text at model_name; name the model with --model")
    dtype = _text(results, details, "model_dtype")
    return Evaluation(
        model=name,
        revision=_text(results, details, "model_sha") or _text(results, details, "model_revision"),
        dtype=dtype and dtype.removeprefix("torch."),
        harness=_text(results, results.content, "lm_eval_version"),
    )


def _text(results: JsonObject, content: dict[str, Any], key: str) -> str | None:
    value = content.get(key)
    if not isinstance(value, str) or not value:
        return None
    if (fault := label_fault(value)) is not None:
        results.fail(f"{key} {value!r} {fault}", key)
    return value
