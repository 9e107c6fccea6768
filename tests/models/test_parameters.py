"""Numbers of parameters, by hand."""

from __future__ import annotations

import pytest
import torch
from tiny_backends import tiny_model
from transformers import LlamaConfig, LlamaForCausalLM

from calprobe.models.sizes import ParameterCounts, parameter_counts
from calprobe.runs.manifest_records import ModelSize
from calprobe.scoring.record import model_record

VOCABULARY, WIDTH, HIDDEN = 11, 8, 12
LAYER = 4 * WIDTH * WIDTH + 3 * WIDTH * HIDDEN + 2 * WIDTH  # attention, three matrices, two norms
OTHERS = 2 * LAYER + WIDTH  # and the last norm


@pytest.mark.parametrize("tied", [True, False])
def test_a_tied_head_counts_once(tied: bool) -> None:
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        intermediate_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        tie_word_embeddings=tied,
    )
    embeddings = VOCABULARY * WIDTH * (1 if tied else 2)
    assert parameter_counts(LlamaForCausalLM(config)) == ParameterCounts(OTHERS + embeddings, embeddings)


def test_parameters_without_storage_count() -> None:
    with torch.device("meta"):
        network = LlamaForCausalLM(LlamaConfig(vocab_size=7, hidden_size=8, num_attention_heads=2, num_hidden_layers=1))
    assert parameter_counts(network).embeddings == 2 * 7 * 8


def test_the_manifest_has_the_size_of_a_loaded_model() -> None:
    model = tiny_model("llama")
    size = model_record(model).size
    total = sum(own.numel() for own in model.network.parameters())
    assert size is not None
    assert (size.parameters, size.source) == (total, "weights")
    assert size.others == total - (size.embeddings or 0) > 0
    assert ModelSize(7, "given").others is None
