"""The reference files: tokens, roles and scores of statements that were computed one at a time in float32."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calprobe.statements import Statement, fill


@dataclass(frozen=True)
class Reference:
    """All statements of one reference file, in its order, with what a model must give for each."""

    statements: list[Statement]
    tokens: list[list[str]]
    roles: list[list[str]]
    logprobs: list[list[float]]


def read_reference(shared: Path, model: str, every: int = 1) -> Reference:
    """The reference of that model (smollm2, gemma3, minilm-mlm); template numbers are places in the paper's file.

    `every` 3 takes every third relation under each of the five templates, with all its candidates.
    """
    paper = shared / "paper" / "metadata_relations_12_templates.json"
    relations: dict[str, Any] = json.loads(paper.read_text("utf-8"))
    reference, places = Reference([], [], [], []), Counter[int]()
    with gzip.open(shared / "reference" / f"{model}_bear.jsonl.gz", "rt", encoding="utf-8") as lines:
        for entry in map(json.loads, lines):
            places[entry["template"]] += 1
            if (places[entry["template"]] - 1) % every:
                continue
            relation = relations[entry["relation"]]
            template, candidates = relation["templates"][entry["template"]], relation["answer_space_labels"]
            assert len(candidates) == len(entry["tokens"])
            reference.statements.extend(fill(template, entry["subject"], label) for label in candidates)
            reference.tokens.extend(entry["tokens"])
            reference.roles.extend(entry["roles"])
            reference.logprobs.extend(entry["logprobs"])
    assert sorted(places) == list(range(5))
    return reference
