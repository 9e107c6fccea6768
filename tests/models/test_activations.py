"""Activations as one kernel: the formula of the class that they stand in for, inside the block only."""

from __future__ import annotations

import pytest
import torch
from tiny_models import CAUSAL_CONFIGS, VOCAB, tiny_causal
from tolerances import TINY_SCORE
from torch import nn
from transformers.activations import ACT2FN, FastGELUActivation, NewGELUActivation
from transformers.models.bloom.modeling_bloom import BloomGelu

from calprobe.models.activations import fast_activations
from calprobe.models.head import hidden_states


class Doubled(NewGELUActivation):
    """Computes something else than the class that it comes from."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", [NewGELUActivation, FastGELUActivation, BloomGelu])
@torch.inference_mode()
def test_the_kernel_is_as_exact_as_the_class_that_it_stands_in_for(kind: type, dtype: torch.dtype) -> None:
    module = kind()
    x = torch.cat([torch.linspace(-12, 12, 4001), torch.tensor([0.0, -0.0, 1e-20, 300.0, -300.0])]).to(dtype)
    right = x.double() * 0.5 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x.double() + 0.044715 * x.double() ** 3)))
    own = module(x)
    with fast_activations(module):
        fast = module(x)
    assert fast.dtype == dtype
    assert torch.equal(module(x), own)
    assert (fast.double() - right).abs().max() <= 1.01 * (own.double() - right).abs().max() + 1e-9
    assert (fast.double() - right).abs().mean() <= 1.05 * (own.double() - right).abs().mean() + 1e-9


@pytest.mark.parametrize("name", ["gelu", "gelu_pytorch_tanh", "quick_gelu", "relu", "silu"])
def test_other_formulas_and_what_is_one_kernel_already_stay(name: str) -> None:
    module = ACT2FN[name]
    with fast_activations(module):
        assert "forward" not in vars(module)


def test_subclasses_and_wrapped_modules_stay() -> None:
    wrapped = NewGELUActivation()
    wrapped.forward = inner = lambda x: x  # as a profiler does
    both = nn.Sequential(Doubled(), wrapped)
    with fast_activations(both):
        assert "forward" not in vars(both[0])
        assert vars(wrapped)["forward"] is inner
    assert vars(wrapped)["forward"] is inner


def test_an_inner_block_leaves_the_outer_ones_modules_to_it() -> None:
    module = NewGELUActivation()
    with fast_activations(module):
        with fast_activations(module):
            pass
        assert "forward" in vars(module)


def test_modules_are_given_back_when_the_block_raises() -> None:
    module = NewGELUActivation()
    with pytest.raises(ZeroDivisionError), fast_activations(module):
        _ = 1 / 0
    assert "forward" not in vars(module)


@pytest.mark.parametrize("architecture", ["gpt2", "gptj", "phi", "bloom"])
@torch.inference_mode()
def test_scoring_runs_the_kernel_where_a_model_has_the_formula(architecture: str) -> None:
    assert architecture in CAUSAL_CONFIGS
    network = tiny_causal(architecture)
    tokens = torch.randint(3, VOCAB, (2, 9), generator=torch.Generator().manual_seed(0))
    own = network(input_ids=tokens).logits
    with torch.profiler.profile() as seen, hidden_states(network) as kept:
        network(input_ids=tokens)
    names = {event.key for event in seen.key_averages()}
    assert "aten::gelu" in names
    assert "aten::tanh" not in names
    torch.testing.assert_close(network.get_output_embeddings()(kept.hidden), own, rtol=0, atol=TINY_SCORE)
