"""What the manifest of a run says of the machine's products."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from calprobe.scoring import device


@pytest.mark.parametrize(
    ("path", "dtype", "there", "pays", "said"),
    [
        ("tree", "float32", True, True, "onednn"),
        ("tree", "float32", True, False, "onednn for the head"),
        ("tree", "float32", False, False, "torch"),
        ("plain", "float32", True, True, "torch"),  # the model's own forward, and nothing else
        ("masked", "bfloat16", True, True, "onednn for the head"),  # the body multiplies bf16
    ],
)
def test_it_says_what_makes_float32_products(
    path: Any, dtype: str, there: bool, pays: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_float32(weight: torch.Tensor) -> bool:
        return weight.dtype == torch.float32

    monkeypatch.setattr(device, "onednn_takes", lambda weight: there and is_float32(weight))
    monkeypatch.setattr(device, "stretches_pay", lambda weight: pays and is_float32(weight))
    assert device.cpu_products(dtype, path) == said
