"""The scoring head: taken apart right, for every architecture, or refused with the reason."""

from __future__ import annotations

import pytest
import torch
from tiny_models import CAUSAL_CONFIGS, VOCAB, tiny_causal
from torch import nn

from calprobe.models.head import HeadUnusable, hidden_states, scoring_head

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
    torch.testing.assert_close(rebuilt_logits(network, tokens), expected, atol=1e-5, rtol=1e-5)


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
