"""Attention of heads that share keys and values: the sums of transformers' own, without repeated keys and values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_models import CAUSAL_CONFIGS
from tolerances import rounding
from torch import Tensor
from transformers import AutoModelForCausalLM
from transformers.integrations import sdpa_attention

from calprobe.models import grouped_attention
from calprobe.models.grouped_attention import GroupedAttention

ROWS, SLOTS, DIM = 3, 40, 16


def attended(n_heads: int, n_key_heads: int, n_new: int, **others: Any) -> tuple[Tensor, Tensor]:
    """What is computed inside a block, and what transformers computes: both [rows, new, heads, dim]."""
    rng = torch.Generator().manual_seed(n_heads + n_new)
    query = torch.randn(ROWS, n_new, n_heads, DIM, generator=rng).transpose(1, 2)
    key, value = torch.randn(2, ROWS, n_key_heads, SLOTS, DIM, generator=rng)
    kept = torch.randint(0, SLOTS - n_new, (ROWS, 1, 1), generator=rng)
    seen = torch.arange(SLOTS) <= kept + torch.arange(n_new)[:, None]
    mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)[:, None]
    layer = SimpleNamespace(num_key_value_groups=n_heads // n_key_heads, is_causal=True, training=False)
    given: Any = (layer, query, key, value, mask)
    token = grouped_attention._MASKS.set({})
    try:
        found, _ = grouped_attention._attend(*given, scaling=DIM**-0.5, **others)
    finally:
        grouped_attention._MASKS.reset(token)
    return found, sdpa_attention.sdpa_attention_forward(*given, scaling=DIM**-0.5, **others)[0]


@pytest.mark.parametrize("n_new", [1, 2, 7, 30])
@pytest.mark.parametrize(("n_heads", "n_key_heads"), [(4, 2), (6, 2), (3, 1), (4, 4)])
def test_sums_are_those_of_transformers(n_heads: int, n_key_heads: int, n_new: int) -> None:
    found, own = attended(n_heads, n_key_heads, n_new)
    torch.testing.assert_close(found, own, rtol=0, atol=rounding(torch.float32, DIM + SLOTS, largest=5.0))
    assert found.is_contiguous()


@pytest.mark.parametrize(("n_new", "repeats"), [(7, False), (30, False), (33, True)])
def test_keys_are_repeated_only_where_a_mask_would_be_larger(
    n_new: int, repeats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    own = sdpa_attention.repeat_kv

    def repeated(*given: Any) -> Any:
        calls.append(given)
        return own(*given)

    monkeypatch.setattr(sdpa_attention, "repeat_kv", repeated)
    found, own_found = attended(4, 2, n_new)
    assert len(calls) == (4 if repeats else 2)  # keys and values, by transformers beside it
    torch.testing.assert_close(found, own_found, rtol=0, atol=rounding(torch.float32, DIM + SLOTS, largest=5.0))


def test_each_mask_is_repeated_even_where_it_takes_the_place_of_another_in_memory() -> None:
    token = grouped_attention._MASKS.set({})
    try:
        for number in range(20):  # as hooks copy them to a layer's device, and let them go behind it
            assert torch.equal(
                grouped_attention._repeated(torch.full((1, 1, 2, 3), float(number)), 2),
                torch.full((1, 1, 4, 3), float(number)),
            )
            assert len(grouped_attention._MASKS.get()) <= 2
    finally:
        grouped_attention._MASKS.reset(token)


def test_what_is_not_computed_is_left_to_transformers() -> None:
    bias = torch.randn(1, 4, 7, SLOTS, generator=torch.Generator().manual_seed(0))
    found, own = attended(4, 2, 7, position_bias=bias)
    assert torch.equal(found, own)


def network(architecture: str) -> Any:
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(CAUSAL_CONFIGS[architecture]).eval()


@pytest.mark.parametrize(("architecture", "pays"), [("llama", True), ("gpt2", False)])
def test_it_is_taken_where_heads_share_keys(architecture: str, pays: bool) -> None:
    of_tiny = network(architecture)
    attention = GroupedAttention(of_tiny)
    assert attention.pays is pays
    own = of_tiny.config._attn_implementation
    with attention.of_a_pass():
        assert (of_tiny.config._attn_implementation == own) is not pays
    assert of_tiny.config._attn_implementation == own


def test_names_are_set_back_after_an_error() -> None:
    of_tiny = network("llama")
    with pytest.raises(RuntimeError, match="broken"), GroupedAttention(of_tiny).of_a_pass():
        raise RuntimeError("broken")
    assert of_tiny.config._attn_implementation == "sdpa"
