"""Three TF32 products for one: their error beside float32's, and the layers that take them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from tiny_models import loaded, tiny_causal
from tolerances import TINY_SCORE
from torch import Tensor, nn

from calprobe.models import LoadOptions, load, split_linears
from calprobe.models.split_linears import in_two, linear_in_three

TIMES_FLOAT32 = 1.5  # the error of three products of what TF32 keeps, beside that of one in float32


def in_tf32(x: Tensor, rounds: bool) -> Tensor:
    """What a tensor core takes of a float32: the sign, the exponent and ten bits, rounded or cut."""
    bits = x.contiguous().view(torch.int32) + (0x1000 if rounds else 0)
    return (bits & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("n_dim", [64, 768, 4096])
def test_the_error_is_near_that_of_float32(n_dim: int, centred: bool, rounds: bool) -> None:
    rng = torch.Generator().manual_seed(n_dim)
    x, weight = torch.randn(96, n_dim, generator=rng), torch.randn(n_dim, 128, generator=rng) / n_dim**0.5
    if not centred:
        x, weight = x.abs(), weight.abs()
    bias = torch.randn(128, generator=rng)

    def add_product(total: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return total + in_tf32(a, rounds) @ in_tf32(b, rounds)

    truth = x.double() @ weight.double() + bias.double()
    errors = [(found - truth).abs() for found in (linear_in_three(x, weight, bias, add_product), x @ weight + bias)]
    assert errors[0].max() <= TIMES_FLOAT32 * errors[1].max()
    assert errors[0].mean() <= TIMES_FLOAT32 * errors[1].mean()
    # One TF32 product would not do.
    assert (add_product(bias, x, weight) - truth).abs().max() > 50 * errors[1].max()


def test_two_parts_make_the_value() -> None:
    x = torch.randn(1000, generator=torch.Generator().manual_seed(1)) * 10.0 ** torch.arange(-20, 20).repeat(25)
    x[:3] = torch.tensor([0.0, -0.0, 1.0])
    high, low = in_two(x)
    assert torch.equal(high + low, x)
    assert torch.equal(in_tf32(high, rounds=False), high)
    assert (low.abs() <= x.abs() * 2.0**-11).all()


@pytest.fixture
def as_on_a_card(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Layers on the CPU are taken too, with any number of rows; the inputs that are multiplied so."""
    taken: list[Tensor] = []

    def in_three(x: Tensor, *rest: Any) -> Tensor:
        taken.append(x)
        return linear_in_three(x, *rest)

    monkeypatch.setattr(split_linears, "_on_card", lambda weight: True)
    monkeypatch.setattr(split_linears, "LEAST_ROWS", 1)
    monkeypatch.setattr(split_linears, "_tf32_products", nullcontext)
    monkeypatch.setattr(split_linears, "linear_in_three", in_three)
    return taken


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])  # Conv1D, Linear
def test_a_network_computes_the_same_with_split_layers(architecture: str, as_on_a_card: list[Tensor]) -> None:
    network, ids = tiny_causal(architecture), torch.arange(3, 23).view(2, 10)
    with torch.inference_mode():
        own = network(input_ids=ids).logits
        with split_linears.split_linears(network, "ieee"):
            assert torch.equal(network(input_ids=ids).logits, own)
        assert as_on_a_card == []
        with split_linears.split_linears(network, "tf32x3"):
            found = network(input_ids=ids).logits
    assert len(as_on_a_card) >= 8  # of two layers
    torch.testing.assert_close(found, own, atol=TINY_SCORE, rtol=0)
    assert not any("forward" in vars(module) for module in network.modules())


@pytest.mark.parametrize(("has_kernel", "hooked", "products"), [(1, 0, "tf32x3"), (0, 0, "ieee"), (1, 1, "ieee")])
def test_tf32x3_is_said_only_where_layers_and_head_take_it(
    has_kernel: int, hooked: int, products: str, as_on_a_card: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "float32_products", lambda *_: "tf32x3")
    monkeypatch.setattr(load, "triton_takes", lambda _: bool(has_kernel))
    model = loaded(tiny_causal("llama"))
    for module in model.network.modules() if hooked else ():  # as accelerate does with a device map
        module.forward = module.forward
    assert load._products(LoadOptions(), model, torch.device("cpu")) == products


def test_layers_on_a_cpu_and_few_rows_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = nn.Linear(8, 8), torch.randn(split_linears.LEAST_ROWS - 1, 8)
    with split_linears.split_linears(layer, "tf32x3"):
        assert "forward" not in vars(layer)
    monkeypatch.setattr(split_linears, "_on_card", lambda weight: True)
    with split_linears.split_linears(layer, "tf32x3"):
        assert torch.equal(layer(x), nn.functional.linear(x, layer.weight, layer.bias))


def test_the_switch_for_tf32_is_put_back() -> None:
    before = torch.get_float32_matmul_precision()
    seen = []

    def fails(*operands: Tensor) -> Tensor:
        seen.append(torch.get_float32_matmul_precision())
        raise RuntimeError

    with pytest.raises(RuntimeError):
        linear_in_three(torch.ones(2, 8), torch.ones(8, 3), None, fails)
    assert (seen, torch.get_float32_matmul_precision()) == (["high"], before)
