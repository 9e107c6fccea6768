"""Models of a known shape with random weights, as the GPU runs use them: here with tiny dimensions on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peers import models
from peers.calprobe import Calprobe, random_model
from peers.roof import flop, matrix_peak, weight_shapes
from peers.statements import ModelSpec, Piece
from real_models import minilm_mlm
from tiny_models import save_tiny_masked_model, save_tiny_model, tiny_tokenizer

from calprobe.scoring import ScoreOptions

BERT = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 260,
    "max_position_embeddings": 256,
}  # fmt: skip
TINY: dict[str, dict[str, int]] = {
    "gpt2": {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 264},
    "opt-1.3b": {
        "hidden_size": 16, "ffn_dim": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 264
    },
    "gemma-7b": {
        "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 264,
    },
    "minilm": BERT,
    "xlm-r-mini": BERT,
    "xlm-r-base": BERT,
}  # fmt: skip
PIECE = Piece("author", "[Y] wrote [X].", ("Ulysses", "Emma"), ("Joyce", "Austen", "Woolf"))


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("causal"))


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_masked_model(tmp_path_factory.mktemp("masked"))


@pytest.fixture
def spec(request: pytest.FixtureRequest) -> ModelSpec:
    """Of the shape that is the parameter, in float32."""
    shape: str = request.param
    kind = models.SHAPES[shape].kind
    return ModelSpec(shape, kind, None, shape, str(request.getfixturevalue(kind)), "float32", "cpu")


def parameters(shape: str) -> int:
    with torch.device("meta"):
        network: Any = models.AUTO[models.SHAPES[shape].kind].from_config(models.SHAPES[shape].config())
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize(
    ("shape", "millions"),
    [("gpt2", 124), ("opt-1.3b", 1315), ("gemma-7b", 8556), ("minilm", 22), ("xlm-r-mini", 107), ("xlm-r-base", 278)],
)
def test_shapes_are_those_of_the_models(shape: str, millions: int) -> None:
    # Gemma's own is 8,537 million; the 6,144 words that Gemma 3's vocabulary has more add 19.
    assert parameters(shape) // 10**6 == millions


@pytest.mark.parametrize("spec", TINY, indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_every_process_draws_the_same_weights(spec: ModelSpec, dtype: str) -> None:
    short = ModelSpec(spec.name, spec.kind, None, spec.shape, spec.tokenizer, dtype, "cpu")
    first, second = (models.load_network(short, **TINY[spec.name]) for _ in range(2))
    assert not first.training
    assert first.dtype == getattr(torch, dtype)
    for mine, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(mine, other)


@pytest.mark.parametrize("spec", TINY, indirect=True)
def test_random_models_are_scored_like_any_other(spec: ModelSpec) -> None:
    model = random_model(spec, models.load_network(spec, **TINY[spec.name]))
    assert model.start_token == "<s>"
    ours = Calprobe(model).ready([PIECE])
    assert ours.way is not None
    assert ours.way.path == ("tree" if spec.kind == "causal" else "masked")
    plain = Calprobe(model, ScoreOptions(path="plain"))
    np.testing.assert_allclose(ours.answer([PIECE]).sums, plain.answer([PIECE]).sums, atol=1e-4)
    assert ours.counts([PIECE]) == plain.counts([PIECE])


@pytest.mark.parametrize("spec", ["minilm"], indirect=True)
def test_a_random_head_sits_on_the_real_encoder(spec: ModelSpec) -> None:
    network = models.load_network(spec, **TINY["minilm"])
    saved = models.transformers.AutoModel.from_pretrained(spec.tokenizer, add_pooling_layer=False).state_dict()
    for name, weight in network.base_model.state_dict().items():
        assert torch.equal(weight, saved[name])
    assert network.get_output_embeddings().weight is network.get_input_embeddings().weight


@pytest.mark.proof
@pytest.mark.weights
def test_minilm_is_the_model_of_the_reference() -> None:
    reference: Any = minilm_mlm().network
    spec = ModelSpec("minilm", "masked", None, "minilm", models.minilm_folder(), "float32", "cpu")
    for mine, other in zip(models.load_network(spec).parameters(), reference.parameters(), strict=True):
        assert torch.equal(mine, other)


@pytest.mark.parametrize("spec", ["gpt2"], indirect=True)
def test_arithmetic_of_a_causal_model_is_that_of_its_weights_at_every_node(spec: ModelSpec) -> None:
    network = models.load_network(spec, **TINY["gpt2"])
    # attention 16 x 48 and 16 x 16, the two layers of 64, and the head.
    shapes = weight_shapes(network, {"forwarded": 3, "heads": 3})
    assert shapes == {(48, 16): 3, (16, 16): 3, (64, 16): 3, (16, 64): 3, (264, 16): 3}
    assert flop(shapes) == 3 * 2 * 16 * (48 + 16 + 2 * 64 + 264)
    assert set(matrix_peak(network, shapes)["shapes"]) == {"48x16", "16x16", "64x16", "16x64", "264x16"}


@pytest.mark.parametrize("spec", ["xlm-r-mini"], indirect=True)
def test_a_masked_model_transforms_and_multiplies_by_its_vocabulary_once_a_row(spec: ModelSpec) -> None:
    network = models.load_network(spec, **TINY["xlm-r-mini"])
    # two layers of attention 4 x (32 x 32) and of 48 at 10 places; dense 32 x 32 and the decoder at one.
    shapes = weight_shapes(network, {"forwarded": 10, "heads": 1})
    assert shapes == {(32, 32): 2 * 4 * 10 + 1, (48, 32): 20, (32, 48): 20, (260, 32): 1}


def test_what_has_to_be_computed_for_masked_statements(masked: Path) -> None:
    spec = ModelSpec("tiny", "masked", None, "xlm-r-mini", str(masked), "float32", "cpu")
    ours = Calprobe(random_model(spec, models.load_network(spec, **TINY["xlm-r-mini"])))
    # The tokenizer knows bytes only, and each is a word: "a c" is 5 places with <s> and </s>, masked three times.
    one = Piece("any", "[Y] [X]", ("c",), ("a",))
    assert ours.counts([one]) == {"tokens": 3, "forwarded": 15, "heads": 3, "edges": 3}
    # With "b c", masking the answer reads the same: one row, two scores.
    two = Piece("any", "[Y] [X]", ("c",), ("a", "b"))
    assert ours.counts([two]) == {"tokens": 6, "forwarded": 25, "heads": 5, "edges": 6}


def test_tokenizers_pad_on_the_right(causal: Path) -> None:
    assert tiny_tokenizer().padding_side == "left"
    spec = ModelSpec("gpt2", "causal", None, "gpt2", str(causal), "float32", "cpu")
    assert models.load_tokenizer(spec).padding_side == "right"
