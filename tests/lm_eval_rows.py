"""Lines as lm-evaluation-harness logs them of multiple-choice tasks and generated text, made up for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def choice_row(
    doc_id: int, logprobs: Sequence[float], target: object, *, acc: float | None = 1.0, texts: Sequence[str] = ()
) -> dict[str, Any]:
    """A question with a choice for each log-likelihood, in the form of 0.4.3 and later; without `acc` if it is None."""
    choices = texts or [f"choice {place}" for place in range(len(logprobs))]
    row = {
        "doc_id": doc_id,
        "doc": {"question": "made up"},
        "target": str(target),
        "arguments": {
            f"gen_args_{place}": {"arg_0": "made up:", "arg_1": f" {choice}"} for place, choice in enumerate(choices)
        },
        "resps": [[[str(logprob), "False"]] for logprob in logprobs],
        "filtered_resps": [[str(logprob), "False"] for logprob in logprobs],
        "filter": "none",
        "metrics": ["acc"],
    }
    return row if acc is None else row | {"acc": acc}


def generated_row(doc_id: int, *replies: str, **more: Any) -> dict[str, Any]:
    """A document of generated text, with a reply for each repeat, in the form of 0.4.3 and later."""
    return {
        "doc_id": doc_id,
        "doc": {"question": f"Question {doc_id}?"},
        "target": "yes",
        "arguments": {"gen_args_0": {"arg_0": f"Q{doc_id}:", "arg_1": {"until": ["."]}}},
        "resps": [list(replies)],
        "filtered_resps": list(replies[:1]),
        "filter": "none",
        "metrics": ["exact_match"],
        "exact_match": 1.0,
    } | more


def write_samples(path: Path, rows: Sequence[object]) -> Path:
    """The rows as a JSON-lines file; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
