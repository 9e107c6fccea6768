"""Where the kernels' tests run: compiled on a card where there is one, else in Triton's interpreter on the CPU."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest.importorskip("triton", reason="Triton exists for Linux on x86-64 only")

import torch
import triton.language as tl
from triton.runtime import interpreter


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """The card, or the CPU with an interpreter that has bf16 in `tl.dot`: else it multiplies bit patterns."""
    if torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        return torch.device("cuda")
    builder = interpreter.interpreter_builder
    multiply = builder.create_dot

    def create_dot(a: Any, b: Any, *others: Any) -> Any:
        a, b = (builder.cast_impl(x, tl.float32) if x.dtype.scalar == tl.bfloat16 else x for x in (a, b))
        return multiply(a, b, *others)

    monkeypatch.setattr(builder, "create_dot", create_dot)
    return torch.device("cpu")
