"""Models of a known shape with random weights, as the GPU runs use them: here with tiny dimensions on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peers import models
from peers.calprobe import Calprobe, random_model
from peers.job import ModelSpec, Piece
from peers.roof import flop_per_node, matrix_peak, weight_shapes
from tiny_models import tiny_tokenizer

TINY: dict[str, dict[str, int]] = {
    "gpt2": {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 264},
    "opt-1.3b": {
        "hidden_size": 16, "ffn_dim": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 264
    },
    "gemma-7b": {
        "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 264,
    },
}  # fmt: skip
PIECE = Piece("author", "[Y] wrote [X].", ("Ulysses", "Emma"), ("Joyce", "Austen", "Woolf"))


def spec_of(shape: str, tokenizer: Path, dtype: str = "float32") -> ModelSpec:
    return ModelSpec(shape, None, shape, str(tokenizer), dtype, "cpu")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    tiny_tokenizer().save_pretrained(folder)
    return folder


def parameters(shape: str) -> int:
    with torch.device("meta"):
        network: Any = models.transformers.AutoModelForCausalLM.from_config(models.SHAPES[shape]())
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize(("shape", "millions"), [("gpt2", 124), ("opt-1.3b", 1315), ("gemma-7b", 8556)])
def test_shapes_are_those_of_the_models(shape: str, millions: int) -> None:
    # Gemma's own is 8,537 million; the 6,144 words that Gemma 3's vocabulary has more add 19.
    assert parameters(shape) // 10**6 == millions


@pytest.mark.parametrize("shape", TINY)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_every_process_draws_the_same_weights(shape: str, dtype: str, tokenizer: Path) -> None:
    spec = spec_of(shape, tokenizer, dtype)
    first, second = (models.load_network(spec, **TINY[shape]) for _ in range(2))
    assert not first.training
    assert first.dtype == getattr(torch, dtype)
    for mine, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(mine, other)


@pytest.mark.parametrize("shape", TINY)
def test_random_models_are_scored_like_any_other(shape: str, tokenizer: Path) -> None:
    spec = spec_of(shape, tokenizer)
    model = random_model(spec, models.load_network(spec, **TINY[shape]))
    assert model.start_token == "<s>"
    ours = Calprobe(model).ready([PIECE])
    assert ours.path == "tree"
    plain = Calprobe(model, path="plain")
    np.testing.assert_allclose(ours.score([PIECE], None), plain.score([PIECE], None), atol=1e-4)


def test_arithmetic_of_a_node_is_that_of_the_weight_matrices(tokenizer: Path) -> None:
    network = models.load_network(spec_of("gpt2", tokenizer), **TINY["gpt2"])
    # attention 16 x 48 and 16 x 16, the two layers of 64, and the head.
    assert weight_shapes(network) == {(48, 16): 1, (16, 16): 1, (64, 16): 1, (16, 64): 1, (264, 16): 1}
    assert flop_per_node(network) == 2 * 16 * (48 + 16 + 2 * 64 + 264)
    assert set(matrix_peak(network)["shapes"]) == {"48x16", "16x16", "64x16", "16x64", "264x16"}


def test_tokenizers_pad_on_the_right(tokenizer: Path) -> None:
    assert tiny_tokenizer().padding_side == "left"
    assert models.load_tokenizer(spec_of("gpt2", tokenizer)).padding_side == "right"
