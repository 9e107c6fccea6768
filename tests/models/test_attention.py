"""The kernel that attention takes is named."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from calprobe.models.attention import AttentionSeen


def test_the_kernel_that_runs_is_named() -> None:
    query, mask = torch.zeros(1, 2, 8, 16), torch.zeros(1, 1, 8, 8)
    with AttentionSeen() as seen:
        F.linear(query, query[0, 0])
    assert seen.kernels is None
    with AttentionSeen() as seen:
        F.scaled_dot_product_attention(query, query, query, attn_mask=mask)
        F.scaled_dot_product_attention(query, query, query, dropout_p=0.5)  # no fused kernel on a CPU drops
    assert seen.kernels == "flash, math"
