"""Rotary positions as one kernel: the same bits as each file's own function, and who is taken."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest
import torch
from proofs import few_of
from tiny_models import CAUSAL_CONFIGS, VOCAB, tiny_causal
from torch import Tensor, nn
from transformers.models.llama.modeling_llama import LlamaAttention

from calprobe.kernels import RotaryRule, rotary_reference
from calprobe.models import fused_layers as layers_module
from calprobe.models import fused_rotary as module
from calprobe.models.forwards import other_forwards
from calprobe.models.fused_layers import forwards_of, fused_layers
from calprobe.models.fused_rotary import NAME, rotary_forward, rotary_layers_among

# Where the layer's forward looks the function up; transformers 4 wraps the forward.
NAMES = inspect.unwrap(LlamaAttention.forward).__globals__
HALVES, NEIGHBOURS = RotaryRule(), RotaryRule(neighbours=True)
QUICK = {"gpt2", "llama", "gemma3", "phi", "cohere", "olmo2", "phi3"}
# Models with learned, ALiBi or no positions; GPT-J's function takes its sines first.
NOT_TAKEN = {"gpt2", "opt", "bloom", "gptj", "mpt", "mamba", "rwkv"}
NEVER_TURNED = {"falcon-alibi"}  # its file has the function, for the others


def logits(network: nn.Module, tokens: Tensor) -> Tensor:
    with torch.inference_mode():
        found: Tensor = network(input_ids=tokens, use_cache=False).logits
    return found


@pytest.mark.parametrize("architecture", few_of(sorted(CAUSAL_CONFIGS), lambda name, *_: name in QUICK))
def test_a_network_has_the_same_bits(architecture: str) -> None:
    network = tiny_causal(architecture)
    layers = rotary_layers_among(network.modules())
    assert bool(layers) == (architecture not in NOT_TAKEN)
    assert len(layers) in (0, 2)
    turned = []

    def turn(heads: Tensor, *angles_and_rule: Any) -> Tensor:
        turned.append(heads.shape)
        return rotary_reference(heads, *angles_and_rule)

    tokens = torch.randint(3, VOCAB, (2, 9), generator=torch.Generator().manual_seed(0))
    for dtype in (torch.float32, torch.bfloat16) if layers else ():
        network = network.to(dtype)
        own = logits(network, tokens)
        turned.clear()
        with other_forwards((layer, rotary_forward(layer, turn)) for layer in layers):
            assert torch.equal(logits(network, tokens), own)
        assert len(turned) == 4 * (architecture not in NEVER_TURNED)  # queries and keys of two layers
        assert all("forward" not in vars(layer) for layer in layers)


@pytest.mark.parametrize(
    ("family", "rule"),
    [
        *((family, HALVES) for family in ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "olmo2")),
        *((family, HALVES) for family in ("phi", "phi3", "gpt_neox", "starcoder2", "granite", "stablelm", "falcon")),
        ("cohere", NEIGHBOURS),
        *(
            (family, RotaryRule(neighbours=True, angle_of_pair=True))
            for family in ("glm", "glm4", "helium", "ernie4_5")
        ),
    ],
)
def test_the_rule_of_a_family(family: str, rule: RotaryRule) -> None:
    try:
        own = getattr(import_module(f"transformers.models.{family}.modeling_{family}"), NAME)
    except ImportError:
        pytest.skip("not in this version of transformers")
    assert module._rule_of(own, module._Call(1, False, torch.float32, torch.float32)) == rule


@pytest.mark.parametrize(("family", "rounds_last"), [("llama", None), ("olmo2", True), ("cohere", True)])
def test_a_function_that_widens_rounds_once(family: str, rounds_last: bool | None) -> None:
    own = getattr(import_module(f"transformers.models.{family}.modeling_{family}"), NAME)
    rule = module._rule_of(own, module._Call(1, False, torch.bfloat16, torch.float32))
    assert (rule and rule.rounds_last) == rounds_last  # Llama's gives float32


def turned_backwards(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, unsqueeze_dim: int = 1) -> tuple[Tensor, ...]:
    """Computes something else than any rule."""
    return tuple(rotary_reference(x, cos, -sin, HALVES) for x in (q, k))


def test_a_function_of_another_formula_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    network = tiny_causal("llama")
    assert rotary_layers_among(network.modules())
    monkeypatch.setitem(NAMES, NAME, turned_backwards)
    assert rotary_layers_among(network.modules()) == []
    monkeypatch.setitem(NAMES, NAME, lambda q, k, *angles: (q, k))
    assert rotary_layers_among(network.modules()) == []


def test_a_call_that_no_rule_fits_is_the_functions_own() -> None:
    layer = tiny_causal("llama").model.layers[0].self_attn
    own = NAMES[NAME]
    by_rule = rotary_forward(layer, lambda *_: pytest.fail("turned")).__func__.__globals__[NAME]
    rng = torch.Generator().manual_seed(0)
    heads, angles = torch.randn(2, 3, 5, 8, generator=rng), torch.randn(2, 5, 8, generator=rng)
    for given in (
        (heads.double(), heads.double(), angles.double(), angles.double()),
        (heads.bfloat16(), heads.bfloat16(), angles, angles),
        (heads[:, None], heads[:, None], angles[:, None], angles[:, None]),
    ):
        assert all(torch.equal(a, b) for a, b in zip(by_rule(*given), own(*given), strict=True))


def turned_by_positions(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, position_ids: Tensor | None = None, unsqueeze_dim: int = 1
) -> tuple[Tensor, ...]:
    """As a function of transformers 4, which may choose the angles of positions."""
    if position_ids is not None:
        cos, sin = cos[:, position_ids], sin[:, position_ids]
    return tuple(rotary_reference(x, cos, sin, HALVES) for x in (q, k))


def test_positions_that_are_given_are_the_functions_own(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = tiny_causal("llama").model.layers[0].self_attn
    monkeypatch.setitem(NAMES, NAME, turned_by_positions)
    assert rotary_layers_among([layer]) == [layer]
    turned: list[Tensor] = []

    def turn(heads: Tensor, cos: Tensor, sin: Tensor, rule: RotaryRule) -> Tensor:
        turned.append(heads)
        return rotary_reference(heads, cos, sin, rule)

    by_rule = rotary_forward(layer, turn).__func__.__globals__[NAME]
    rng = torch.Generator().manual_seed(0)
    heads, angles = torch.randn(2, 3, 5, 8, generator=rng), torch.randn(2, 5, 8, generator=rng)
    given, backwards = (heads, heads, angles, angles), torch.arange(4, -1, -1)
    for positions, calls in ((None, 2), (backwards, 0)):
        turned.clear()
        results = zip(by_rule(*given, positions), turned_by_positions(*given, positions), strict=True)
        assert all(torch.equal(a, b) for a, b in results)
        assert len(turned) == calls


class Other(LlamaAttention):
    """Has a forward of its own."""

    def forward(self, *given: Any, **named: Any) -> Any:
        return super().forward(*given, **named)


def test_subclasses_and_wrapped_layers_stay() -> None:
    network = tiny_causal("llama")
    first, second = (layer.self_attn for layer in network.model.layers)
    first.__class__ = Other
    second.forward = lambda *given: given  # as a profiler does
    assert rotary_layers_among([first, second, nn.Linear(2, 2)]) == []


def test_the_file_and_other_networks_keep_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers_module, "triton_takes", lambda weight: True)
    network, other = tiny_causal("llama"), tiny_causal("llama")
    own = NAMES[NAME]
    with fused_layers(network):
        assert NAMES[NAME] is own
        assert all("forward" not in vars(layer) for layer in other.modules())
        layer = network.model.layers[0].self_attn
        assert layer.forward.__func__.__globals__[NAME] is not own
        with fused_layers(network):
            pass
        assert "forward" in vars(layer)
    assert "forward" not in vars(layer)


def test_hooks_of_a_layer_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers_module, "triton_takes", lambda weight: True)
    network, seen = tiny_causal("llama"), []
    layer = network.model.layers[0].self_attn
    for each in (layer, layer.q_proj, layer.k_proj):
        each.register_forward_hook(lambda each, *_: seen.append(each))
    with fused_layers(network):
        logits(network, torch.ones(1, 3, dtype=torch.int64))
    assert seen == [layer.q_proj, layer.k_proj, layer]


def test_positions_alone_are_reason_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers_module, "triton_takes", lambda weight: True)
    assert len(forwards_of(tiny_causal("gpt-neox"))) == 2  # no RMSNorm, no gated unit
