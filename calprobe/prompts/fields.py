"""Replies that are JSON: the answer and the confidence in one object, under a schema where a server can hold to it."""

from __future__ import annotations

import re
from string import ascii_lowercase
from typing import Any

from calprobe.prompts.types import PromptSet, Stated
from calprobe.questions import Question

ANSWER = "answer"  # the field that has the answer
# The range of the numbers of a scale; whole ones where it counts more than one step.
_NUMBERS: dict[str, dict[str, Any]] = {
    "x": {"type": "number", "minimum": 0, "maximum": 1},
    "x/10": {"type": "integer", "minimum": 0, "maximum": 10},
    "x/100": {"type": "integer", "minimum": 0, "maximum": 100},
}


def reply_schema(question: Question, prompts: PromptSet) -> dict[str, Any]:
    """The JSON schema of a reply: `answer` as the question's kind has it, then each confidence on its scale.

    >>> from calprobe.prompts import load_prompts
    >>> question = Question("1", "Which?", "choice", ("Mars", "Moon"), ("A", "B"), answer=0)
    >>> reply_schema(question, load_prompts("structured"))["properties"]["answer"]
    {'type': 'string', 'enum': ['A', 'B']}
    """
    answer: dict[str, Any] = {"type": "number" if question.kind == "number" else "string"}
    if question.kind == "choice":
        answer["enum"] = list(question.labels)
    properties = {ANSWER: answer, **{stated.name: _of_scale(stated) for stated in prompts.fields}}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def field_text(reply: str, stated: Stated) -> str:
    """What a reply says in that field, as one would reply to a question for it; empty where it has no such field.

    The reply need not be whole, or JSON alone: of several such fields the last one counts.

    >>> field_text('{"answer": "B", "confidence": 80}', Stated("confidence", "", "x/100", 8, is_field=True))
    '80%'
    """
    pattern = (
        rf"""(["']){re.escape(stated.name)}\1\s{{0,3}}:\s{{0,3}}(?:(["'])(?P<text>[^"'\n]*)\2|(?P<number>[-+.\w]+))"""
    )
    matches = list(re.finditer(pattern, reply))
    if not matches:
        return ""
    text = (matches[-1]["text"] or matches[-1]["number"] or "").strip()
    is_percentage = stated.forward_scale == "x/100" and text[-1:].isdigit()
    return f"{text}%" if is_percentage else text


def _of_scale(stated: Stated) -> dict[str, Any]:
    scale, expressions = stated.forward_scale, list(stated.expressions)
    if scale in _NUMBERS:
        return dict(_NUMBERS[scale])
    letters = list(ascii_lowercase[: len(expressions)])
    return {"type": "string", "enum": letters if scale == "letters" else expressions}
