"""The kernel that attention takes is named, and so are the layers that a model has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from calprobe.models.attention import AttentionSeen, layer_kinds


def test_the_kernel_that_runs_is_named() -> None:
    query, mask = torch.zeros(1, 2, 8, 16), torch.zeros(1, 1, 8, 8)
    with AttentionSeen() as seen:
        F.linear(query, query[0, 0])
    assert seen.kernels is None
    with AttentionSeen() as seen:
        F.scaled_dot_product_attention(query, query, query, attn_mask=mask)
        F.scaled_dot_product_attention(query, query, query, dropout_p=0.5)  # no fused kernel on a CPU drops
    assert seen.kernels == "flash, math"


@pytest.mark.parametrize(
    ("named", "kinds"),
    [
        ({"layer_types": ["mamba", "attention"], "layers_block_type": ["other"]}, {"mamba", "attention"}),
        ({"layer_types": None, "layers_block_type": ["attention", "mamba"]}, {"mamba", "attention"}),
        ({"hybrid_override_pattern": "M-M*E"}, {"mamba", "full_attention"}),
        ({"hybrid_override_pattern": "-*"}, {"full_attention"}),
        ({}, set()),
    ],
)
def test_the_kinds_of_layers_are_those_that_the_configuration_names(named: dict[str, Any], kinds: set[str]) -> None:
    config = SimpleNamespace(get_text_config=lambda: SimpleNamespace(**named))
    assert layer_kinds(SimpleNamespace(config=config)) == kinds
