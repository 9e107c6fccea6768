"""Logs of inspect_ai (`.eval`, `.json`) as a run of replies. The package reads them; it is imported on use."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError, ProbeFormatError, UsageError
from calprobe.interop.inspect_samples import Grading, line_of, odd_confidence, question_of, scorer_of
from calprobe.interop.reply_import import NotedImport, Origin, make_run, set_of_log
from calprobe.interop.reply_lines import ReplyLine
from calprobe.messages import counted
from calprobe.questions.types import QuestionSet

TOOL = "inspect_ai"
_UNREAD = {"events", "events_data", "store", "timelines"}  # of samples: large, and nothing here needs them
_GENERATE = (
    *("temperature", "top_p", "top_k", "max_tokens", "seed", "logprobs", "top_logprobs", "stop_seqs"),
    *("reasoning_effort", "reasoning_tokens"),
)


def import_inspect(
    files: Sequence[Path], out: Path, grading: Grading | None = None, model: str | None = None
) -> NotedImport:
    """Make an asked run at `out` of the logs of one model, whole or not at all.

    Args:
        files: logs, one a task; each becomes a question set.
        out: the run folder, empty or absent.
        grading: which scores are the grades; None: those of the only scorer.
        model: its name; None: as in the logs.
    Raises:
        CalprobeError: inspect_ai is not installed.
        ProbeFormatError: it cannot read a file, or a grade is neither right nor wrong.
        UsageError: logs of several models, two of one task, or of several scorers of which none is named; `out` is not
            empty.
    """
    return import_logs({str(path): read_log(path) for path in files}, out, grading, model)


def import_logs(
    logs: Mapping[str, Any], out: Path, grading: Grading | None = None, model: str | None = None
) -> NotedImport:
    """As `import_inspect`, of logs that were read: inspect_ai's `EvalLog` by the name that errors shall give them."""
    chosen = Grading() if grading is None else grading
    origin = _origin(logs, model)
    lines: list[ReplyLine] = []
    sets: dict[str, QuestionSet] = {}
    notes: list[str] = []
    for file, log in logs.items():
        name = _set_name(log)
        if name in sets:
            raise UsageError(f"{file}: another log is of task {name} too; import each evaluation by itself")
        samples = list(log.samples or ())
        if not samples:
            raise ProbeFormatError(f"{file}: no samples (status {log.status}); give a log that has some")
        if not chosen.kept and _shuffles(log):
            fault = "multiple_choice shuffled the options, so the letters of replies are not those of the options"
            raise UsageError(f"{file}: {fault}; leave --regrade out")
        scorer = scorer_of(file, samples, chosen.scorer)
        _refuse_repeated(file, samples)
        questions = {str(sample.id): question_of(sample) for sample in samples}
        log_lines = [line_of(sample, questions[str(sample.id)], name, file, scorer, chosen) for sample in samples]
        sets[name] = set_of_log(name, questions.values())
        lines += _with_all_stated(log_lines)
        notes += [*_notes(log, name, log_lines, samples), *_confidence_notes(name, samples, scorer)]
    return NotedImport(make_run(lines, out, tuple(sets.values()), origin), tuple(notes))


def read_log(path: Path) -> Any:
    """The log as inspect_ai's `EvalLog`, without its events.

    Raises CalprobeError if inspect_ai is not installed, ProbeFormatError if it cannot read the file.
    """
    if path.suffix == ".eval" and not _is_archive(path):
        raise ProbeFormatError(f"{path}: not a log of inspect_ai (.eval files are zip archives); copy the file again")
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise CalprobeError(
            f"{path}: logs of inspect_ai are read by the package itself ({error})\npip install 'calprobe[inspect]'"
        ) from error
    try:
        return read_eval_log(str(path), resolve_attachments=True, exclude_fields=_UNREAD)
    except Exception as error:  # a damaged file can end in any of its own and its libraries' errors
        message = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ProbeFormatError(
            f"{path}: inspect_ai cannot read it ({message:.200}); give a log that it wrote"
        ) from error


def _is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"  # as every zip archive begins


def _origin(logs: Mapping[str, Any], model: str | None) -> Origin:
    models = list(dict.fromkeys(str(log.eval.model) for log in logs.values()))
    if len(models) > 1:
        raise UsageError(f"logs of several models ({', '.join(models)}); import those of each model by themselves")
    versions = [version for log in logs.values() if (version := log.eval.packages.get(TOOL))]
    settings: dict[str, str] = {}
    for log in logs.values():
        settings[_set_name(log)] = json.dumps(_settings(log), sort_keys=True)
    return Origin(model or models[0], TOOL, {TOOL: versions[0]} if versions else {}, settings)


def _settings(log: Any) -> dict[str, Any]:
    """How the task was run; nothing that may hold a key, an address or a path."""
    spec = log.eval
    settings = {
        "task": spec.task,
        "task_version": spec.task_version,
        "dataset": spec.dataset.name,
        "created": str(spec.created),
        "solvers": [step.solver for step in log.plan.steps],
    }
    config = {key: value for key in _GENERATE if (value := getattr(log.plan.config, key, None)) is not None}
    return {key: value for key, value in (settings | config).items() if value is not None}


def _refuse_repeated(file: str, samples: Sequence[Any]) -> None:
    """Raise ProbeFormatError where two samples would be one reply; 1 and "1" are one id here."""
    counts = Counter((str(sample.id), sample.epoch) for sample in samples)
    for (key, epoch), count in counts.items():
        if count > 1:
            fault = f"{count:,} samples have the id {key} in epoch {epoch}"
            raise ProbeFormatError(f"{file}: {fault}; give each an id of its own, or import each evaluation by itself")


def _set_name(log: Any) -> str:
    return str(log.eval.task).rpartition("/")[2]


def _shuffles(log: Any) -> bool:
    return any(bool(step.params.get("shuffle")) for step in log.plan.steps)


def _with_all_stated(lines: Sequence[ReplyLine]) -> list[ReplyLine]:
    """Where some replies state a confidence, one that does not has said nothing of it: an empty text."""
    if all(line.stated is None for line in lines):
        return list(lines)
    return [replace(line, stated="") if line.stated is None and not line.error else line for line in lines]


def _notes(log: Any, name: str, lines: Sequence[ReplyLine], samples: Sequence[Any]) -> list[str]:
    notes = []
    if log.status != "success":
        notes.append(f"{name}: the evaluation has the status {log.status}; these are the samples that it logged")
    for error, count in Counter(line.error for line in lines if line.error).items():
        notes.append(f"{name}: {counted(count, 'sample')} failed, no reply: {error}")
    limits = Counter(str(sample.limit.type) for sample in samples if sample.limit is not None)
    for kind, count in limits.items():
        notes.append(f"{name}: {counted(count, 'sample')} ended at the limit `{kind}`, counted as cut replies")
    return notes


def _confidence_notes(name: str, samples: Sequence[Any], scorer: str | None) -> list[str]:
    odd = [(sample.id, value) for sample in samples if (value := odd_confidence(sample, scorer)) is not None]
    if not odd:
        return []
    which = f"sample {odd[0][0]}: {odd[0][1]!r:.40}"
    fault = f"{counted(len(odd), 'sample')} with a confidence that is no number from 0 to 1"
    return [f"{name}: {fault}, left out ({which})"]
