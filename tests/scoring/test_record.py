"""What the manifest of a run says of the machine's products."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from calprobe.scoring import device, record


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


@pytest.mark.parametrize(
    ("path", "dtype", "precision", "by_kernel", "takes", "said"),
    [
        ("flat", "float32", "tf32x3", True, True, ("tf32x3", "kernel")),
        ("flat", "float32", "ieee", False, True, ("ieee", "torch")),  # its kernel was refused
        ("tree", "bfloat16", "ieee", True, False, (None, "torch")),  # an old card
        ("plain", "float32", "tf32x3", True, True, ("ieee", None)),  # float32's own, whatever the environment says
    ],
)
def test_it_says_what_a_card_multiplies_by(
    path: Any,
    dtype: str,
    precision: Any,
    by_kernel: bool,
    takes: bool,
    said: tuple[str | None, str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record, "triton_takes", lambda array: takes)
    monkeypatch.setattr(torch, "empty", lambda *_, **__: None)
    card: Any = SimpleNamespace(
        device=torch.device("cuda", 0), dtype=dtype, precision=precision, head_by_kernel=by_kernel
    )
    assert (record._precision(card, path), record.head_by(card, path)) == said
    cpu: Any = SimpleNamespace(device=torch.device("cpu"), dtype=dtype, precision="ieee", head_by_kernel=True)
    assert (record._precision(cpu, path), record.head_by(cpu, path)) == (None, None)
