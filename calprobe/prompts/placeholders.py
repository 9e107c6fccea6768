"""Placeholders in the texts of prompts: which there are, and what replaces them."""

from __future__ import annotations

import re
from collections.abc import Mapping

TURN_PLACEHOLDERS = ("input", "question", "options", "label_list", "fewshot_examples")
SHOT_PLACEHOLDERS = ("input", "question", "options", "label_list", "answer", "number")
LAYOUT_PLACEHOLDERS = ("label", "option")
CONCLUSION_PLACEHOLDERS = ("claim",)
ANSWER_PLACEHOLDERS = ("claim", "answer")  # of what is asked about an answer that is known

# {name}; {{name}} stands for the text {name}. All other braces are text.
_PLACEHOLDER = re.compile(r"\{\{([a-z_][a-z0-9_]*)\}\}|\{([a-z_][a-z0-9_]*)\}")


def placeholders_of(text: str) -> tuple[str, ...]:
    """The names in braces, each once, in the order of the text.

    >>> placeholders_of('{input} Reply as {"label": ..}, not as {{label}}. {input}')
    ('input',)
    """
    return tuple(dict.fromkeys(match[2] for match in _PLACEHOLDER.finditer(text) if match[2]))


def replace_placeholders(text: str, values: Mapping[str, str]) -> str:
    """The text with the values for its placeholders; braces within values are text.

    Raises:
        KeyError: a placeholder without a value.

    >>> replace_placeholders("{question} {{x}}", {"question": "What is {input}?"})
    'What is {input}? {x}'
    """
    return _PLACEHOLDER.sub(lambda match: f"{{{match[1]}}}" if match[1] else values[match[2]], text)
