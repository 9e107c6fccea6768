"""Norms and gated units as one kernel: each class held against its own forward, and who is taken."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelerate.hooks import AlignDevicesHook
from proofs import few_of
from tiny_models import VOCAB, tiny_causal
from tolerances import TINY_SCORE
from torch import Tensor, nn
from transformers.activations import ACT2FN, SiLUActivation
from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

from calprobe.models import fused_layers as module
from calprobe.models.fused_layers import forwards_of, fused_layers, norms_among, units_among

pytest.importorskip("triton", reason="Triton exists for Linux on x86-64 only")

WIDTH = 96
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
UNITS = module._TWO | module._ONE
QUICK = ("llama", "gemma3", "olmo2", "phi3", "qwen3")  # of each rule and way to write a unit one, and norms of heads


def family(name: str, *_: object) -> bool:
    return name.split(".")[2] in QUICK


def class_of(name: str) -> Any:
    """The class of transformers; skips where the installed version has none."""
    file, _, kind = name.rpartition(".")
    try:
        return getattr(import_module(file), kind)
    except (ImportError, AttributeError):
        pytest.skip("not in this version of transformers")


@pytest.fixture
def on_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a card: modules on the CPU are taken too, and the references compute."""
    monkeypatch.setattr(module, "triton_takes", lambda weight: True)


def as_one_kernel(layer: nn.Module, *given: Tensor) -> tuple[Tensor, Tensor]:
    """What its own forward gives, and what the block makes of it."""
    with torch.inference_mode():
        own = layer(*given)
        with fused_layers(layer):
            assert "forward" in vars(layer)
            fused = layer(*given)
    assert "forward" not in vars(layer)
    return own, fused


def are_equal_but_for_rounding(own: Tensor, fused: Tensor) -> bool:
    """In float32 nearly, else to the last bit but for a few values at an edge of rounding: 1 in 200."""
    if own.dtype != fused.dtype:
        return False
    if own.dtype == torch.float32:
        return torch.allclose(own, fused, rtol=2e-6, atol=1e-6)
    near = torch.allclose(own, fused, rtol=2.5 * torch.finfo(own.dtype).eps, atol=0)
    return near and bool((own == fused).double().mean() > 0.995)


def norm_of(name: str, dtype: torch.dtype) -> tuple[nn.Module, Tensor]:
    rng = torch.Generator().manual_seed(0)
    norm = class_of(name)(WIDTH).to(dtype)
    norm.weight.data.add_(torch.randn(WIDTH, generator=rng) / 4)
    return norm, (3 * torch.randn(2, 40, WIDTH, generator=rng)).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", few_of(sorted(module._NORMS), family))
def test_each_norm_computes_what_its_class_does(name: str, dtype: torch.dtype, on_card: None) -> None:
    norm, x = norm_of(name, dtype)
    assert are_equal_but_for_rounding(*as_one_kernel(norm, x))


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
@pytest.mark.parametrize(
    ("family", "listed_as"), [("llama", "olmo2"), ("olmo2", "llama"), ("gemma", "olmo2"), ("llama", "gemma")]
)
def test_a_class_with_another_formula_would_be_found(
    family: str, listed_as: str, dtype: torch.dtype, on_card: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = {name.split(".")[2]: rule for name, rule in module._NORMS.items()}
    (name,) = (each for each in module._NORMS if each.split(".")[2] == family)
    monkeypatch.setitem(module._NORMS, name, rules[listed_as])
    norm, x = norm_of(name, dtype)
    norm.eps = norm.variance_epsilon = 1e-6
    assert not are_equal_but_for_rounding(*as_one_kernel(norm, x))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", few_of(sorted(UNITS), family))
@pytest.mark.parametrize("activation", ["silu", "gelu_pytorch_tanh"])
def test_each_unit_computes_what_its_class_does(name: str, activation: str, dtype: torch.dtype, on_card: None) -> None:
    unit = unit_of(class_of(name), activation).to(dtype)
    unit.down_proj = nn.Identity()  # whose sums would hide differences
    x = torch.randn(2, 40, 16, generator=torch.Generator().manual_seed(0)).to(dtype)
    assert are_equal_but_for_rounding(*as_one_kernel(unit, x))


def unit_of(kind: Any, activation: str) -> Any:
    """One of that class, with random weights; classes read these names of their config."""
    names: dict[str, Any] = dict.fromkeys(("hidden_act", "hidden_activation", "use_bias", "mlp_bias"), False)
    names |= {"hidden_act": activation, "hidden_activation": activation, "hidden_size": 16, "intermediate_size": WIDTH}
    torch.manual_seed(0)
    try:
        return kind(SimpleNamespace(**names))
    except TypeError:  # the width beside the config
        return kind(SimpleNamespace(**names), WIDTH)


def test_the_known_families_are_in_this_version() -> None:
    known = {name: name.split(".")[2] for name in (*module._NORMS, *UNITS)}
    for each in ("gemma", "gemma2", "gemma3", "llama", "mistral", "olmo2", "phi3", "qwen2", "qwen3"):
        for name in [name for name, family in known.items() if family == each]:
            file, _, kind = name.rpartition(".")
            assert hasattr(import_module(file), kind), name


@pytest.mark.parametrize(
    ("architecture", "norms", "units"),
    [
        *(("llama", 5, 2), ("mistral", 5, 2), ("gemma", 5, 2), ("gemma2", 9, 2), ("gemma3", 13, 2), ("qwen3", 9, 2)),
        *(("phi3", 5, 2), ("olmo2", 9, 2), ("cohere", 0, 2), ("granite", 5, 2), ("gpt2", 0, 0), ("opt", 0, 0)),
    ],
)
def test_a_network_of_fused_layers_computes_the_same(architecture: str, norms: int, units: int, on_card: None) -> None:
    network = tiny_causal(architecture)
    modules = list(network.modules())
    assert (len(norms_among(modules)), len(units_among(modules))) == (norms, units)
    tokens = torch.randint(3, VOCAB, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        own = network(input_ids=tokens).logits
        with fused_layers(network, fused=False):
            assert torch.equal(network(input_ids=tokens).logits, own)
        with fused_layers(network):
            fused = network(input_ids=tokens).logits
        assert torch.equal(network(input_ids=tokens).logits, own)
    torch.testing.assert_close(fused, own, rtol=0, atol=TINY_SCORE)


def test_the_kernels_themselves_compute_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_KERNELS", "triton")
    device = "cuda" if torch.cuda.is_available() else "cpu"  # interpreted
    network = tiny_causal("gemma3").to(device)
    tokens = torch.randint(3, VOCAB, (1, 5), generator=torch.Generator().manual_seed(0)).to(device)
    with torch.inference_mode():
        own = network(input_ids=tokens).logits
        with fused_layers(network):
            fused = network(input_ids=tokens).logits
    torch.testing.assert_close(fused, own, rtol=0, atol=TINY_SCORE)


def test_nothing_changes_on_a_cpu() -> None:
    assert forwards_of(tiny_causal("llama")) == []


class Doubled(LlamaRMSNorm):
    """Computes something else than the class that it comes from."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def test_subclasses_and_wrapped_modules_stay(on_card: None) -> None:
    wrapped = LlamaRMSNorm(8)
    wrapped.forward = inner = lambda x: x  # as a profiler does
    both = nn.Sequential(Doubled(8), wrapped)
    with fused_layers(both):
        assert "forward" not in vars(both[0])
        assert vars(wrapped)["forward"] is inner
    assert vars(wrapped)["forward"] is inner


def spread(network: nn.Module, offload: bool = False) -> nn.Module:
    """As accelerate does with a device map over several cards: every module is wrapped."""
    for part in network.modules():
        hook = AlignDevicesHook(execution_device="cpu", io_same_device=True)
        hook.offload = offload
        part._hf_hook = hook
        part._old_forward = part.forward
        part.forward = partial(_moved, part)
    return network


def _moved(part: Any, *args: Any, **kwargs: Any) -> Any:
    args, kwargs = part._hf_hook.pre_forward(part, *args, **kwargs)
    return part._hf_hook.post_forward(part, part._old_forward(*args, **kwargs))


@pytest.mark.parametrize("architecture", ["llama", "gemma3", "phi3"])
def test_layers_that_a_device_map_has_wrapped_are_fused_inside(architecture: str, on_card: None) -> None:
    network, alone = spread(tiny_causal(architecture)), tiny_causal(architecture)
    taken, before = forwards_of(network), [vars(part).copy() for part in network.modules()]
    assert [type(part) for part, _ in taken] == [type(part) for part, _ in forwards_of(alone)] != []
    tokens = torch.randint(3, VOCAB, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        with fused_layers(alone):
            expected = alone(input_ids=tokens).logits
        with fused_layers(network):
            assert forwards_of(network) == []  # an inner block leaves them to the outer one
            assert torch.equal(network(input_ids=tokens).logits, expected)
        assert torch.equal(network(input_ids=tokens).logits, alone(input_ids=tokens).logits)
    for part, attributes in zip(network.modules(), before, strict=True):
        assert vars(part)["forward"] is attributes["forward"]
        assert vars(part)["_old_forward"] == attributes["_old_forward"]


def test_inputs_are_still_moved_to_a_fused_layer(on_card: None) -> None:
    norm, moved = spread(LlamaRMSNorm(8)), []
    own = norm._hf_hook.pre_forward
    norm._hf_hook.pre_forward = lambda *given, **named: moved.append(given) or own(*given, **named)
    with fused_layers(norm):
        assert norm._old_forward is not LlamaRMSNorm.forward.__get__(norm)
        norm(torch.ones(1, 8))
    assert len(moved) == 1


def test_offloaded_layers_and_what_was_wrapped_before_stay(on_card: None) -> None:
    assert forwards_of(spread(tiny_causal("llama"), offload=True)) == []
    norm = LlamaRMSNorm(8)
    norm.forward = lambda x: x
    assert forwards_of(spread(norm)) == []


def test_an_inner_block_leaves_the_outer_ones_modules_to_it(on_card: None) -> None:
    norm = LlamaRMSNorm(8)
    with fused_layers(norm):
        with fused_layers(norm):
            pass
        assert "forward" in vars(norm)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_new", "gelu_python_tanh"])
def test_units_with_another_activation_stay(activation: str) -> None:
    if activation in ACT2FN:  # the last came with transformers 5
        assert units_among([unit_of(LlamaMLP, activation)]) == []


def test_a_unit_whose_activation_somebody_listens_to_stays() -> None:
    unit = unit_of(LlamaMLP, "silu")
    assert isinstance(unit.act_fn, nn.SiLU | SiLUActivation)
    assert units_among([unit]) == [(unit, "silu")]
    unit.act_fn.register_forward_hook(lambda *_: None)
    assert units_among([unit]) == []


def test_hooks_of_a_unit_and_of_its_products_still_run(on_card: None) -> None:
    unit, seen = unit_of(LlamaMLP, "silu"), []
    for layer in (unit, unit.gate_proj, unit.up_proj, unit.down_proj):
        layer.register_forward_hook(lambda layer, *_: seen.append(layer))
    with fused_layers(unit):
        unit(torch.ones(1, 16))
    assert seen == [unit.gate_proj, unit.up_proj, unit.down_proj, unit]


def test_a_norm_of_another_dtype_than_its_input_is_torch_s(on_card: None) -> None:
    norm = Qwen3RMSNorm(8)  # float32, as some models keep their norms
    own, fused = as_one_kernel(norm, torch.ones(2, 8, dtype=torch.bfloat16))
    assert own.dtype == fused.dtype == torch.float32
    assert torch.equal(own, fused)
