"""Questions as JSON objects, for fingerprints and for files that keep them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from calprobe.probes.fingerprints import sha256_of_json
from calprobe.questions.types import Question

_DEFAULTS = {field.name: field.default for field in fields(Question) if field.default is not MISSING}


def question_record(question: Question) -> dict[str, Any]:
    """A question's fields as JSON values, those that have their defaults left out.

    >>> question_record(Question("q1", "How many?", "number", number=3.0))
    {'id': 'q1', 'text': 'How many?', 'kind': 'number', 'number': 3.0}
    """
    values = {field.name: getattr(question, field.name) for field in fields(Question)}
    changed = {name: value for name, value in values.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}


def question_of_record(record: Mapping[str, Any]) -> Question:
    """The question of which `question_record` made the record; TypeError if it has other keys than a question."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record.items()
    }
    return Question(**values)


def fingerprint_of_questions(questions: Iterable[Question]) -> str:
    """SHA-256 (hex) over all fields of the questions, in their order.

    >>> fingerprint_of_questions([])[:8]
    '4f53cda1'
    """
    return sha256_of_json([question_record(question) for question in questions])
