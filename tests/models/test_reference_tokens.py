"""Tokens and roles of every statement in the reference files, which were made one statement at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from proofs import few_of
from real_models import MISREADS_GEMMA3, gemma3, gemma3_file, minilm_mlm, smollm2
from reference_scores import read_reference

from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel, load_model, tokenise
from calprobe.statements import fill
from calprobe.words import Role

pytestmark = pytest.mark.weights


@pytest.mark.parametrize(
    ("name", "load", "count"),
    few_of(
        [("smollm2", smollm2, 1902), ("gemma3", gemma3, 286), ("minilm-mlm", minilm_mlm, 1902)],
        lambda name, load, count: name != "gemma3",
    ),
)
def test_tokens_and_roles_are_those_of_the_reference(
    shared: Path, name: str, load: Callable[[], LoadedModel], count: int
) -> None:
    model = load()
    reference = read_reference(shared, name)
    assert len(reference.statements) == count
    rows = tokenise(reference.statements, model)
    for place, statement in enumerate(reference.statements):
        part = slice(rows.offsets[place], rows.offsets[place + 1])
        assert model.tokenizer.convert_ids_to_tokens(rows.token_ids[part].tolist()) == reference.tokens[place], (
            statement
        )
        assert [Role(role).label for role in rows.roles[part]] == reference.roles[place], statement


def test_smollm2_says_wherever_it_is_shown_that_it_is_instruct_and_rounded() -> None:
    model = smollm2()
    assert "Instruct" in model.note
    assert "Q4_1" in model.note
    assert model.start_token == "<|im_start|>"


@pytest.mark.proof
def test_gemma_gets_its_bos_once_though_its_tokenizer_adds_one() -> None:
    model = gemma3()
    assert model.tokenizer.padding_side == "left"
    assert model.tokenizer("A").input_ids[0] == model.start_token_id
    rows = tokenise([fill("[X] is [Y].", "A", "B"), fill("[X] is [Y].", "A", "B" * 50)], model)
    assert model.start_token == "<bos>"
    assert model.start_token_id not in rows.token_ids


@pytest.mark.skipif(not MISREADS_GEMMA3, reason="transformers 5.23 and later read Gemma's GGUF files rightly")
def test_gemma_is_refused_where_transformers_misreads_it() -> None:
    with pytest.raises(CalprobeError, match=r"wrong tokenizer .*\nuse transformers 5\.23 or later"):
        load_model(str(gemma3_file()))
