"""Where the kernels' tests run: compiled on a card where there is one, else in Triton's interpreter on the CPU.

Without Triton each file here is one test, which is skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

HAS_TRITON = find_spec("triton") is not None


class WithoutTriton(pytest.File):
    """A file of tests that is not imported."""

    def collect(self) -> Iterator[pytest.Item]:
        yield SkippedFile.from_parent(self, name="without_triton")


class SkippedFile(pytest.Item):
    """What stands for its tests."""

    def runtest(self) -> None:
        pytest.skip("Triton is not installed")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Pytest's own, or what takes its place."""
    return None if HAS_TRITON else WithoutTriton.from_parent(parent, path=module_path)


def interpreted() -> bool:
    return os.environ.get("TRITON_INTERPRET") == "1" or not torch.cuda.is_available()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the kernels ran; bench/first_contact.py reads it."""
    if not HAS_TRITON:
        return
    where = "interpreted on the CPU" if interpreted() else f"compiled for {torch.cuda.get_device_name()}"
    variable = os.environ.get("TRITON_INTERPRET", "not set")
    terminalreporter.write_line(f"kernels: {where}; TRITON_INTERPRET: {variable}")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[torch.device]:
    """The card, or the CPU with an interpreter that has bf16: else it multiplies bit patterns, and rounds down."""
    if not interpreted():
        yield torch.device("cuda")
        return
    import triton.language as tl
    from triton.runtime import interpreter

    builder = interpreter.interpreter_builder
    multiply = builder.create_dot

    def create_dot(a: Any, b: Any, *others: Any) -> Any:
        a, b = (builder.cast_impl(x, tl.float32) if x.dtype.scalar == tl.bfloat16 else x for x in (a, b))
        return multiply(a, b, *others)

    cast = builder.cast_impl

    def cast_impl(value: Any, dtype: Any) -> Any:
        if (value.dtype.scalar, dtype.scalar) != (tl.float32, tl.bfloat16):
            return cast(value, dtype)
        rounded = torch.from_numpy(np.array(value.data)).bfloat16().view(torch.int16).numpy()
        return interpreter.TensorHandle(rounded.view(np.uint16), tl.bfloat16)

    monkeypatch.setattr(builder, "create_dot", create_dot)
    monkeypatch.setattr(builder, "cast_impl", cast_impl)
    with np.errstate(over="ignore", invalid="ignore"):  # a card does not warn of infinities
        yield torch.device("cpu")
