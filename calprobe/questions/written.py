"""A question set as a question file: what was chosen and drawn, and where it was taken from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from calprobe.errors import ProbeFormatError, UsageError
from calprobe.questions.gold import QuestionFault
from calprobe.questions.question_file import TAKEN_FROM, read_question
from calprobe.questions.types import Question, QuestionSet, SetSource

_OF_FILE = ("fingerprint", "path", "files", "shots_split", "columns")  # fields of a source that another file has anew
_DEFAULTS = {field.name: field.default for field in fields(SetSource)}
_KEPT = tuple(name for name in _DEFAULTS if name not in _OF_FILE)


def question_lines(questions: QuestionSet) -> str:
    """The text of a question file from which the same questions are read, in their order. Examples are not in it.

    Raises UsageError for a question that a file cannot hold.
    """
    source = asdict(questions.source)
    origin = {name: source[name] for name in _KEPT if source[name] != _DEFAULTS[name]}
    lines = [json.dumps(_record(question, origin), ensure_ascii=False) for question in questions.questions]
    return "".join(f"{line}\n" for line in lines)


def origin_of(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of `SetSource` that a line keeps; none in a file that calprobe did not write.

    Raises ProbeFormatError for what `question_lines` does not write.
    """
    origin = record.get(TAKEN_FROM, {})
    unknown = [name for name in origin if name not in _KEPT] if isinstance(origin, dict) else [repr(origin)]
    if unknown:
        raise ProbeFormatError(
            f"{where}: {TAKEN_FROM} has {unknown[0]:.60}, which calprobe does not write; remove {TAKEN_FROM}"
        )
    return {name: tuple(value) if isinstance(value, list) else value for name, value in origin.items()}


def _record(question: Question, origin: Mapping[str, Any]) -> dict[str, Any]:
    """The line of a question."""
    record: dict[str, Any] = {"id": question.id, "question": question.text, "kind": question.kind}
    if question.kind == "choice":
        record |= {"options": list(question.options), "labels": list(question.labels), "answer": question.answer}
    else:
        record["answer"] = list(question.accepted) if question.kind == "open" else question.number
    extras = {name: getattr(question, name) for name in ("unit", "context", "group", "paraphrases")}
    record |= {name: list(value) if isinstance(value, tuple) else value for name, value in extras.items() if value}
    record[TAKEN_FROM] = origin
    try:
        is_same = read_question(record) == question
    except QuestionFault as fault:
        raise UsageError(f"question {question.id} cannot be written to a question file: {fault}") from fault
    if not is_same:
        raise UsageError(
            f"question {question.id} cannot be written to a question file: it would be read as another one"
        )
    return record
