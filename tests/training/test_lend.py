"""A network is given back as it was lent, whatever happened to it inside."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import loaded, tiny_causal, tiny_masked
from torch import nn

from calprobe.models.head import hidden_states, scoring_head
from calprobe.training.lend import undisturbed


def state(network: nn.Module) -> dict[str, Any]:
    """All that a module is made of: identities of what it holds, and its modes."""
    found: dict[str, Any] = {}
    for name, module in network.named_modules():
        for attribute, value in vars(module).items():
            inner = tuple((key, id(item)) for key, item in value.items()) if isinstance(value, dict) else None
            found[f"{name}.{attribute}"] = (id(value), inner)
        found[f"{name}.training"] = module.training
    return found


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "gemma2", "mpt"])
def test_scoring_leaves_nothing_behind(architecture: str) -> None:
    network: Any = tiny_causal(architecture)
    network.train()
    ids = torch.arange(3, 9)[None]
    before, weights = state(network), {name: value.clone() for name, value in network.state_dict().items()}
    expected = network.eval()(input_ids=ids).logits
    network.train()
    with undisturbed(network):
        assert not any(module.training for module in network.modules())
        scoring_head(network, loaded(network).device)
        with torch.inference_mode(), hidden_states(network):
            network(input_ids=ids)
    assert state(network) == before
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())
    assert torch.equal(network.eval()(input_ids=ids).logits, expected)
    network(input_ids=ids, labels=ids).loss.backward()  # nothing was left in inference mode


def test_each_module_has_its_own_mode_again() -> None:
    network = tiny_masked("bert")
    frozen: Any = network.get_submodule("bert.embeddings").eval()
    network.train()
    frozen.eval()
    modes = [module.training for module in network.modules()]
    assert len(set(modes)) == 2
    with pytest.raises(KeyError), undisturbed(network):
        raise KeyError
    assert [module.training for module in network.modules()] == modes


def test_tables_computed_inside_are_taken_out_again() -> None:
    network = nn.Linear(2, 2)
    network.register_buffer("table", torch.ones(2), persistent=False)
    table = network.table
    with undisturbed(network), torch.inference_mode():
        network.register_buffer("table", torch.zeros(2), persistent=False)
        network.register_buffer("other", torch.zeros(2))
        network.cached = torch.zeros(2)
        network.forward = torch.sin  # type: ignore[assignment]
    assert network.table is table
    assert "other" not in dict(network.named_buffers())
    assert not hasattr(network, "cached")
    assert network(torch.ones(1, 2)).requires_grad


def test_random_numbers_and_threads_go_on_where_they_were() -> None:
    def draws() -> list[float]:
        return [random.random(), float(np.random.random()), float(torch.rand(1))]  # noqa: NPY002

    def seed() -> None:
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        torch.manual_seed(1)

    seed()
    expected = draws()
    threads, network = torch.get_num_threads(), nn.Linear(1, 1)
    seed()
    with undisturbed(network):
        draws()
        torch.set_num_threads(threads + 1)
    assert draws() == expected
    assert torch.get_num_threads() == threads


def test_wrappers_of_training_are_off_inside() -> None:
    network: Any = nn.Linear(2, 2)
    own = network.forward
    network._original_forward = own
    network.forward = wrapped = lambda x: own(x).bfloat16()
    network._compiled_call_impl = compiled = lambda x: own(x).half()
    with torch.autocast("cpu", torch.bfloat16), undisturbed(network):
        assert network(torch.ones(1, 2)).dtype == torch.float32
    assert network.forward is wrapped
    assert network._compiled_call_impl is compiled
    assert network(torch.ones(1, 2)).dtype == torch.float16
