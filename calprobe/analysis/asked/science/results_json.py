"""The JSON of the study of label probabilities: the keys that scripts depend on (docs/reference/files.md)."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from calprobe.analysis.asked.science.answer_results import AnswerStudy
from calprobe.analysis.asked.science.label_results import LabelStudy
from calprobe.analysis.json_values import value_json


def label_study_json(study: LabelStudy) -> dict[str, Any]:
    """By set: designs, permuted, selection, hidden, with the names of their fields."""
    return {"asked_as": study.asked_as, "sets": {name: _value(own) for name, own in study.sets.items()}}


def answer_study_json(study: AnswerStudy) -> dict[str, Any]:
    """By set, then by variant: kind, samples, responses and questions, with the names of their fields.

    Where a variant has questions of several kinds, by variant and kind.
    """
    sets = dict.fromkeys(cell.set for cell in study.cells)
    return {"sets": {own: {name: _value(cell) for name, cell in study.of_set(own).items()} for own in sets}}


def _value(value: Any) -> Any:
    return value_json(value, _record)


def _record(value: Any) -> dict[str, Any] | None:
    """The fields by their names, without what the keys above say."""
    if not is_dataclass(value):
        return None
    kept = [each.name for each in fields(value) if each.name != "set" and not _is_said(value, each.name)]
    return {name: getattr(value, name) for name in kept}


def _is_said(value: Any, name: str) -> bool:
    return name == "name" and hasattr(value, "designs")
