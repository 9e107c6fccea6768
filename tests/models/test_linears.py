from collections.abc import Callable

import pytest
import torch
from tiny_models import CAUSAL_CONFIGS, MASKED_CONFIGS, VOCAB, tiny_causal, tiny_masked
from tolerances import product_rounding, tiny_score
from torch import nn
from transformers.pytorch_utils import Conv1D

from calprobe.kernels import onednn
from calprobe.models import linears
from calprobe.models.linears import fast_linears

pytestmark = pytest.mark.skipif(not onednn._there(), reason="torch has no oneDNN here")


@pytest.fixture(autouse=True)
def any_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "_maker", lambda: "")
    monkeypatch.setattr(linears, "stretches_pay", onednn.onednn_takes)


class Doubled(nn.Linear):
    """Computes something else than its weight says, as adapters and quantised layers do."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


@pytest.mark.parametrize("layer", [nn.Linear(24, 40), nn.Linear(24, 40, bias=False), Conv1D(40, 24)], ids=repr)
def test_a_plain_layer_gives_the_same_within_rounding_and_is_itself_afterwards(layer: nn.Module) -> None:
    x = torch.randn(3, 5, 24)
    with torch.inference_mode():
        own = layer(x)
        with fast_linears(nn.Sequential(layer)):
            assert "forward" in vars(layer)
            weight = layer.weight.T if isinstance(layer, Conv1D) else layer.weight
            tolerance = product_rounding(x, weight, layer.bias)
            torch.testing.assert_close(layer(x), own, rtol=0, atol=tolerance)
        assert "forward" not in vars(layer)
        assert torch.equal(layer(x), own)


@pytest.mark.parametrize("architecture", [*CAUSAL_CONFIGS, *MASKED_CONFIGS])
@torch.inference_mode()
def test_every_architecture_computes_the_same(architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calprobe.kernels.onednn.STRETCH", 8)  # a quarter of their width
    network = tiny_causal(architecture) if architecture in CAUSAL_CONFIGS else tiny_masked(architecture)
    tokens = torch.randint(3, VOCAB, (2, 9), generator=torch.Generator().manual_seed(0))
    own = network(input_ids=tokens).logits
    with fast_linears(network):
        assert any("forward" in vars(module) for module in network.modules())
        fast = network(input_ids=tokens).logits
    truth = in_double(network, tokens)
    assert (fast - truth).abs().max() <= 2 * (own - truth).abs().max() + tiny_score(architecture)


@torch.inference_mode()
def test_weights_are_cut_once_in_a_block_where_there_is_room_and_the_bits_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network, x, times = nn.Sequential(nn.Linear(400, 40), Conv1D(24, 40)), torch.randn(70, 400), []

    def counted(weight: torch.Tensor, stretch: int | None = None) -> list[torch.Tensor]:
        times.append(1)
        return onednn.cut(weight, stretch)

    monkeypatch.setattr(linears, "cut", counted)
    found = []
    for free, expected in ((4 * network[0].weight.nbytes, 2), (4 * network[0].weight.nbytes - 4, 0)):
        monkeypatch.setattr(linears, "free_bytes", lambda device, free=free: free)
        times.clear()
        with fast_linears(network):
            found += [network(x), network(x)]
        assert len(times) == expected
    assert all(torch.equal(found[0], other) for other in found)


def in_double(network: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    """Logits in float64; it is torch's own dtype meanwhile, since some masks (MPT's, before 5) are made in that."""
    torch.set_default_dtype(torch.float64)
    try:
        logits: torch.Tensor = network.double()(input_ids=tokens).logits
    finally:
        torch.set_default_dtype(torch.float32)
    return logits


def test_an_inner_block_leaves_the_outer_ones_layers_to_it() -> None:
    layer = nn.Linear(8, 8)
    network = nn.Sequential(layer)
    with fast_linears(network):
        outer = vars(layer)["forward"]
        with fast_linears(network):
            assert vars(layer)["forward"] is outer
        assert vars(layer)["forward"] is outer
    assert "forward" not in vars(layer)


def wrapped() -> nn.Module:
    layer = nn.Linear(8, 8)
    inner = layer.forward
    layer.forward = lambda x: 2 * inner(x)  # as accelerate's hooks do
    return layer


@pytest.mark.parametrize(
    "make",
    [lambda: Doubled(8, 8), wrapped, lambda: nn.Linear(8, 8).bfloat16()],
    ids=["subclass", "wrapped", "bfloat16"],
)
@torch.inference_mode()
def test_other_layers_are_left_alone(make: Callable[[], nn.Module]) -> None:
    layer = make()
    x = torch.randn(3, 8, dtype=next(layer.parameters()).dtype)
    own, forward = layer(x), vars(layer).get("forward")
    with fast_linears(nn.Sequential(layer)):
        assert vars(layer).get("forward") is forward
        assert torch.equal(layer(x), own)
    assert vars(layer).get("forward") is forward


def test_hooks_of_a_plain_layer_still_run() -> None:
    layer, seen = nn.Linear(8, 8), []
    layer.register_forward_hook(lambda *_: seen.append(1))
    with torch.inference_mode(), fast_linears(nn.Sequential(layer)):
        layer(torch.randn(1, 8))
    assert seen


def test_layers_are_given_back_when_the_block_raises() -> None:
    layer = nn.Linear(8, 8)
    with pytest.raises(ZeroDivisionError), fast_linears(nn.Sequential(layer)):
        _ = 1 / 0
    assert "forward" not in vars(layer)
