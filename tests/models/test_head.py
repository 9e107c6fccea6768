"""The scoring head: taken apart right, for every architecture, or refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import CAUSAL_CONFIGS, KEEPS_ITS_HEAD, MASKED_CONFIGS, VOCAB, tiny_causal, tiny_masked
from tolerances import TINY_SCORE, tiny_score
from torch import nn

from calprobe.models.head import HeadUnusable, hidden_states, hidden_states_at, scoring_head

CPU = torch.device("cpu")


@torch.inference_mode()
def rebuilt_logits(network: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    head = scoring_head(network, CPU)
    with hidden_states(network) as kept:
        network(input_ids=tokens, use_cache=False)
    rule = head.rule
    logits = torch.nn.functional.linear(kept.hidden, head.weight, rule.bias) * rule.scale
    return logits if rule.softcap is None else rule.softcap * torch.tanh(logits / rule.softcap)


@pytest.mark.parametrize("architecture", CAUSAL_CONFIGS)
def test_hidden_states_and_head_give_the_models_own_logits(architecture: str) -> None:
    network = tiny_causal(architecture)
    tokens = torch.randint(3, VOCAB, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        expected = network(input_ids=tokens).logits
    torch.testing.assert_close(rebuilt_logits(network, tokens), expected, atol=tiny_score(architecture), rtol=0)


@pytest.mark.parametrize(
    ("architecture", "scale", "softcap"),
    [("llama", 1.0, None), ("gemma2", 1.0, 30.0), ("granite", 0.25, None), ("cohere", 0.5, None)],
)
def test_scale_and_cap_are_measured(architecture: str, scale: float, softcap: float | None) -> None:
    rule = scoring_head(tiny_causal(architecture), CPU).rule
    assert rule.scale == pytest.approx(scale, rel=1e-6)
    assert rule.softcap == (None if softcap is None else pytest.approx(softcap, rel=1e-6))


def test_the_model_is_left_as_it_was() -> None:
    network = tiny_causal("gemma2")
    before = network.get_output_embeddings()
    scoring_head(network, CPU)
    with pytest.raises(RuntimeError, match="stop"), hidden_states(network):
        raise RuntimeError("stop")
    assert network.get_output_embeddings() is before


def test_heads_that_are_more_than_a_linear_layer_are_refused() -> None:
    class Noisy(nn.Linear):
        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            return super().forward(hidden) + 1

    network = tiny_causal("llama")
    network.set_output_embeddings(Noisy(32, VOCAB))
    with pytest.raises(HeadUnusable, match="is a Noisy, not a plain linear layer"):
        scoring_head(network, CPU)
    network = tiny_causal("llama")
    network.get_output_embeddings().register_forward_hook(lambda module, given, result: result * 2)
    with pytest.raises(HeadUnusable, match="hooked"):
        scoring_head(network, CPU)


def test_unknown_changes_of_the_logits_are_refused() -> None:
    network = tiny_causal("llama")
    forward = network.forward

    def changed(*args: object, **kwargs: object) -> object:
        output = forward(*args, **kwargs)
        output.logits = output.logits.abs()
        return output

    network.forward = changed  # type: ignore[method-assign]
    with pytest.raises(HeadUnusable, match="neither a factor nor a soft-cap"):
        scoring_head(network, CPU)


@pytest.mark.parametrize("architecture", sorted(MASKED_CONFIGS.keys() - KEEPS_ITS_HEAD))
@torch.inference_mode()
def test_one_place_of_each_row_goes_through_a_masked_head(architecture: str) -> None:
    network = tiny_masked(architecture)
    head, embedding = scoring_head(network, CPU), network.get_output_embeddings()
    tokens = torch.randint(3, VOCAB, (3, 9), generator=torch.Generator().manual_seed(0))
    places = torch.tensor([0, 8, 4])
    before = network(input_ids=tokens).logits
    with hidden_states_at(network, places) as kept:
        network(input_ids=tokens)
    assert kept.hidden.shape == (3, 1, head.weight.shape[1])
    logits = torch.nn.functional.linear(kept.hidden[:, 0], head.weight, head.rule.bias) * head.rule.scale
    torch.testing.assert_close(logits, before[torch.arange(3), places], atol=TINY_SCORE, rtol=0)
    assert network.get_output_embeddings() is embedding
    torch.testing.assert_close(network(input_ids=tokens).logits, before, atol=0, rtol=0)  # nothing stays hooked


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
@torch.inference_mode()
def test_the_last_layer_goes_on_at_the_wanted_places_alone(architecture: str) -> None:
    network = tiny_masked(architecture)
    seen: dict[str, list[int]] = {"query": [], "key": [], "intermediate": []}
    for layer in network.base_model.encoder.layer:
        for name, module in (*layer.attention.self.named_children(), ("intermediate", layer.intermediate)):
            if name in seen:
                module.register_forward_hook(lambda _, given, result, name=name: seen[name].append(result.shape[1]))
    with hidden_states_at(network, torch.tensor([0, 8, 4])):
        network(input_ids=torch.ones((3, 9), dtype=torch.long))
    layers = len(network.base_model.encoder.layer)
    assert seen["query"] == seen["intermediate"] == [9] * (layers - 1) + [1]
    assert seen["key"] == [9] * layers


@torch.inference_mode()
def test_a_last_attention_that_somebody_wrapped_runs_as_it_is() -> None:
    network = tiny_masked("bert")
    mixing = network.base_model.encoder.layer[-1].attention.self
    inner, calls = mixing.forward, []

    def wrapped(*given: Any, **how: Any) -> Any:
        calls.append(1)
        return inner(*given, **how)

    mixing.forward = wrapped
    tokens = torch.randint(3, VOCAB, (3, 9), generator=torch.Generator().manual_seed(0))
    with hidden_states_at(network, torch.tensor([0, 8, 4])) as kept:
        network(input_ids=tokens)
    assert calls == [1]
    assert kept.hidden.shape[:2] == (3, 1)
    assert mixing.forward is wrapped


def test_a_head_that_multiplies_by_the_input_embedding_is_refused() -> None:
    with pytest.raises(HeadUnusable, match="smaller than its vocabulary"):
        scoring_head(tiny_masked("deberta-v2-own-head"), CPU)


def test_a_masked_model_without_an_encoder_of_its_own_is_refused() -> None:
    network = tiny_masked("bert")
    network.base_model_prefix = "nothing of that name"
    with pytest.raises(HeadUnusable, match="no module apart from its head"), hidden_states_at(network, torch.zeros(1)):
        pass


@torch.inference_mode()
def test_a_masked_head_that_reads_more_than_the_encoders_last_states_is_refused() -> None:
    network = tiny_masked("bert")
    network.cls.predictions.transform.register_forward_hook(lambda module, given, result: result.repeat(1, 2, 1))
    tokens = torch.ones((2, 5), dtype=torch.long)
    places = torch.zeros(2, dtype=torch.long)
    with pytest.raises(HeadUnusable, match="by more than its encoder"), hidden_states_at(network, places):
        network(input_ids=tokens)
