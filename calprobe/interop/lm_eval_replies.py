"""The samples that lm-evaluation-harness logs of generated text (`generate_until`) as a run of replies.

A task is a question set, a document a question named by its doc_id, each repeat a sample. The file has a line for each
filter of the task: filters take the answer out of the reply, and the metric is of that answer.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError, ProbeFormatError, UsageError
from calprobe.interop.lm_eval_files import task_name
from calprobe.interop.lm_eval_import import SOURCE, Evaluation
from calprobe.interop.lm_eval_samples import LARGEST_DOC, MEND
from calprobe.interop.reply_import import NotedImport, Origin, make_run, set_of_log
from calprobe.interop.reply_lines import ReplyLine
from calprobe.messages import counted, no_such
from calprobe.probes.json_files import read_json_lines
from calprobe.questions.gold import QuestionFault, letters, place_of
from calprobe.questions.types import Question, QuestionSet

_Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HarnessGrades:
    """Which of the harness's numbers are the grades."""

    metric: str | None = None  # None: exact_match, or the only one that is listed
    filter: str | None = None  # None: the task's first
    correct_at: float | None = None  # the least value that is right; None: 1 is, and 0 is wrong
    kept: bool = True  # False: no grades; calprobe reads and grades the replies itself


def are_generated(files: Sequence[Path]) -> bool:
    """Whether these are samples of generated text. Raises UsageError where some are and some are not."""
    generated = {path: _is_generated(path) for path in files}
    if len(set(generated.values())) < 2:
        return all(generated.values())
    texts, choices = ([path.name for path in files if generated[path] is is_text] for is_text in (True, False))
    raise UsageError(
        f"{len(texts)} of these are of generated text ({', '.join(texts[:3])}), {len(choices)} of log-likelihoods "
        f"({', '.join(choices[:3])}); import the files of each kind by themselves"
    )


def import_generated(
    files: Sequence[Path], out: Path, evaluation: Evaluation, grades: HarnessGrades | None = None
) -> NotedImport:
    """Make an asked run at `out` of samples of generated text, whole or not at all.

    Args:
        files: samples_TASK_DATE.jsonl, one or several, each of another task.
        out: the run folder, empty or absent.
        evaluation: see `calprobe.interop.lm_eval_import.evaluation_of`.
        grades: which of the harness's numbers say what is right; None: exact_match under the first filter.
    Raises:
        ProbeFormatError: a line cannot be read, or its grade is neither right nor wrong; names file and line.
        UsageError: no such filter or metric, two files of one task, or `out` is not empty.
    """
    chosen = HarnessGrades() if grades is None else grades
    lines: list[ReplyLine] = []
    sets: dict[str, QuestionSet] = {}
    settings: dict[str, str] = {}
    notes: list[str] = []
    for path in files:
        name = task_name(path)
        if name in sets:
            raise UsageError(f"{path}: another file has the task {name} too; import each evaluation by itself")
        by_filter = _rows(path)
        filter_name = _filter(path, by_filter, chosen.filter)
        rows = by_filter[filter_name]
        metric = _metric(path, rows, chosen) if chosen.kept else None
        if metric is None and chosen.kept:
            notes.append(f"{name}: the samples list no metrics and have no exact_match; calprobe grades the replies")
        if metric is not None and any(len(_replies(row, place)) > 1 for place, row in rows):
            notes.append(f"{name}: several replies a document, of which {metric} is one number; calprobe grades each")
            metric = None
        elif metric is not None and len(by_filter) > 1:
            filters = ", ".join(other_filter for other_filter in by_filter if other_filter != filter_name)
            notes.append(f"{name}: {metric} under the filter {filter_name}; --filter takes others ({filters})")
        by_doc = sorted(rows, key=lambda item: item[1]["doc_id"])
        sets[name] = set_of_log(name, (_question(place, row) for place, row in by_doc))
        if unnamed := [row for _, row in by_doc if _names_no_option(row)]:
            which = f"doc_id {unnamed[0]['doc_id']}: {json.dumps(unnamed[0]['target']):.40}"
            fault = f"{counted(len(unnamed), 'document')} with a target that names none of the options ({which})"
            notes.append(f"{name}: {fault}; taken for open questions")
        settings[name] = json.dumps(_settings(rows[0][1], metric, filter_name), sort_keys=True, default=str)
        lines += [line for place, row in rows for line in _lines(place, row, name, metric, chosen.correct_at)]
    versions = {"lm_eval": evaluation.harness} if evaluation.harness else {}
    origin = Origin(evaluation.model, SOURCE, versions, settings, evaluation.revision)
    return NotedImport(make_run(lines, out, tuple(sets.values()), origin), tuple(notes))


def _is_generated(path: Path) -> bool:
    """By its first line: the second argument of a request is how to generate, or the text that is scored."""
    try:
        _, row = next(iter(read_json_lines(path)))
    except CalprobeError:
        return False  # whoever reads the file next says what is wrong
    request = _first_request(row)
    return len(request) > 1 and isinstance(request[1], dict)


def _first_request(row: _Row) -> list[Any]:
    """Context and settings of a document's request, in either form that the harness has had."""
    arguments = row.get("arguments")
    if isinstance(arguments, dict):
        request = arguments.get("gen_args_0")
        return [request.get("arg_0"), request.get("arg_1")] if isinstance(request, dict) else []
    request = arguments[0] if isinstance(arguments, list) and arguments else None
    return list(request) if isinstance(request, list) else []


def _rows(path: Path) -> dict[str, list[tuple[str, _Row]]]:
    """The lines with their places, by filter, each document once under each."""
    by_filter: dict[str, list[tuple[str, _Row]]] = {}
    seen: dict[tuple[str, int], str] = {}
    for number, row in read_json_lines(path, MEND):
        place, doc_id, name = f"{path}:{number}", row.get("doc_id"), str(row.get("filter", "none"))
        if type(doc_id) is not int or not 0 <= doc_id <= LARGEST_DOC:
            raise ProbeFormatError(f"{place}: doc_id {doc_id!r:.60} is not a number from 0; {MEND}")
        if (name, doc_id) in seen:
            fault = f"doc_id {doc_id} again (filter {name}), as in {seen[name, doc_id]}"
            raise ProbeFormatError(f"{place}: {fault}; import each evaluation by itself")
        seen[name, doc_id] = place
        by_filter.setdefault(name, []).append((place, row))
    return by_filter


def _filter(path: Path, filters: Mapping[str, Any], name: str | None) -> str:
    if name is not None and name not in filters:
        raise UsageError(f"{path}: {no_such(name, filters)}: --filter")
    return next(iter(filters)) if name is None else name


def _metric(path: Path, rows: Sequence[tuple[str, _Row]], grades: HarnessGrades) -> str | None:
    """The metric whose values are the grades; None where the samples have none."""
    first = rows[0][1]
    metrics = first.get("metrics")
    # Before 0.4.7 no key lists them: they are numbers among the other keys.
    listed = [str(name) for name in metrics] if isinstance(metrics, list) else []
    names = listed or [key for key, value in first.items() if _may_be_metric(key, value)]
    if grades.metric is not None:
        if grades.metric not in names:
            raise UsageError(f"{path}: no metric {grades.metric!r}; there is {', '.join(names) or 'none'}")
        return grades.metric
    if "exact_match" in names:
        return "exact_match"
    if len(listed) > 1:
        raise UsageError(f"{path}: metrics {', '.join(listed)}; give the one that grades: --metric {listed[0]}")
    return listed[0] if listed else None


def _may_be_metric(key: str, value: object) -> bool:
    return key == "exact_match" or (isinstance(value, int | float) and key != "doc_id")


def _question(place: str, row: _Row) -> Question:
    doc = row.get("doc")
    fields = doc if isinstance(doc, dict) else {}
    key, prompt = str(row["doc_id"]), (*_first_request(row), None)[0]
    question = fields.get("question")
    text = question if isinstance(question, str) and question.strip() else str(prompt or f"document {key}")
    targets = _targets(row.get("target"))
    options = _options(row)
    if options and len(targets) == 1 and (right := _right_option(options, targets[0])) is not None:
        labels = letters(len(options))
        if targets[0] in labels or all(option in str(prompt) for option in options):
            return Question(key, text, "choice", options, labels, answer=right)
    # Options that no prompt shows, and a text as the right answer: the model was asked for free text.
    return Question(key, text, "open", accepted=targets or ("",))


def _options(row: _Row) -> tuple[str, ...]:
    """The texts of a document's options, two or more; empty where it has none."""
    doc = row.get("doc")
    fields = doc if isinstance(doc, dict) else {}
    options: list[Any] = next(
        (fields[name] for name in ("options", "choices") if isinstance(fields.get(name), list)), []
    )
    return tuple(options) if len(options) > 1 and all(isinstance(entry, str) for entry in options) else ()


def _right_option(options: Sequence[str], target: str) -> int | None:
    """The place of the option that a target names by its letter or text; None where it names none."""
    try:
        return place_of(target, options, letters(len(options)))
    except QuestionFault:
        return None


def _names_no_option(row: _Row) -> bool:
    options, targets = _options(row), _targets(row.get("target"))
    return bool(options) and len(targets) == 1 and _right_option(options, targets[0]) is None


def _targets(target: object) -> tuple[str, ...]:
    """What counts as right; of several the harness logs the list as Python writes it."""
    text = "" if target is None else str(target).strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            listed = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            listed = None
        if isinstance(listed, list) and listed and all(isinstance(entry, str) for entry in listed):
            return tuple(dict.fromkeys(entry.strip() for entry in listed if entry.strip()))
    return (text,) if text else ()


def _replies(row: _Row, place: str) -> list[str]:
    """The replies, without what filters make of them."""
    resps = row.get("resps")
    replies = resps[0] if isinstance(resps, list) and len(resps) == 1 else None
    if not isinstance(replies, list) or not replies or not all(isinstance(reply, str) for reply in replies):
        raise ProbeFormatError(f"{place}: resps must be one list of texts; {MEND}")
    return replies


def _lines(place: str, row: _Row, name: str, metric: str | None, correct_at: float | None) -> list[ReplyLine]:
    prompt = (*_first_request(row), None)[0]
    correct = None if metric is None else _grade(place, row, metric, correct_at)
    return [
        ReplyLine(
            place=place,
            set=name,
            question=str(row["doc_id"]),
            text=text,
            sample=sample,
            prompt=prompt if isinstance(prompt, str) else "",
            correct=correct,
        )
        for sample, text in enumerate(_replies(row, place))
    ]


def _grade(place: str, row: _Row, metric: str, correct_at: float | None) -> bool:
    value = row.get(metric)
    if not isinstance(value, int | float) or (isinstance(value, float) and math.isnan(value)):
        raise ProbeFormatError(f"{place}: {metric} is {value!r:.60}, no grade of one reply; give --regrade")
    if correct_at is not None:
        return value >= correct_at
    if value not in (0, 1):
        fault = f"{metric} is {value!r:.30}, neither right (1) nor wrong (0)"
        raise ProbeFormatError(f"{place}: {fault}; give --correct-at Q: from Q on is right")
    return value == 1


def _settings(row: _Row, metric: str | None, filter_name: str) -> dict[str, Any]:
    how = (*_first_request(row), {}, {})[1]
    graded = {} if metric is None else {"graded by": metric, "filter": filter_name}
    return graded | (how if isinstance(how, dict) else {})
