"""Tokens and roles of every statement in the reference files, which were made one statement at a time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real_models import gemma3, smollm2

from calprobe.models import LoadedModel, tokenise
from calprobe.statements import Role, Statement, fill

pytestmark = pytest.mark.weights


def read_reference(file: Path, paper: Path) -> tuple[list[Statement], list[list[str]], list[list[str]]]:
    """All statements of a reference file, in order, with the tokens and roles that they must get."""
    relations: dict[str, Any] = json.loads(paper.read_text("utf-8"))
    statements, tokens, roles = [], [], []
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for entry in map(json.loads, lines):
            relation = relations[entry["relation"]]
            templates, candidates = relation["templates"], relation["answer_space_labels"]
            assert len(candidates) == len(entry["tokens"])
            statements += [fill(templates[entry["template"]], entry["subject"], label) for label in candidates]
            tokens += entry["tokens"]
            roles += entry["roles"]
    return statements, tokens, roles


@pytest.mark.parametrize(("name", "load", "count"), [("smollm2", smollm2, 1902), ("gemma3", gemma3, 286)])
def test_tokens_and_roles_are_those_of_the_reference(
    shared: Path, name: str, load: Callable[[], LoadedModel], count: int
) -> None:
    model = load()
    paper = shared / "paper" / "metadata_relations_12_templates.json"
    statements, tokens, roles = read_reference(shared / "reference" / f"{name}_bear.jsonl.gz", paper)
    assert len(statements) == count
    rows = tokenise(statements, model)
    for place, statement in enumerate(statements):
        part = slice(rows.offsets[place], rows.offsets[place + 1])
        assert model.tokenizer.convert_ids_to_tokens(rows.token_ids[part].tolist()) == tokens[place], statement
        assert [Role(role).label for role in rows.roles[part]] == roles[place], statement


def test_smollm2_says_wherever_it_is_shown_that_it_is_instruct_and_rounded() -> None:
    model = smollm2()
    assert "Instruct" in model.note
    assert "Q4_1" in model.note
    assert model.start_token == "<|im_start|>"


def test_gemma_gets_its_bos_once_though_its_tokenizer_adds_one() -> None:
    model = gemma3()
    assert model.tokenizer.padding_side == "left"
    assert model.tokenizer("A").input_ids[0] == model.start_token_id
    rows = tokenise([fill("[X] is [Y].", "A", "B"), fill("[X] is [Y].", "A", "B" * 50)], model)
    assert model.start_token == "<bos>"
    assert model.start_token_id not in rows.token_ids
