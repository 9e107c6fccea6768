"""Triton where it is installed. It exists for Linux on x86-64 only; elsewhere the kernel files must still import, since
their plain torch references run everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None

__all__ = ["jit", "tl", "triton"]


def jit(kernel: Callable[..., None]) -> Any:
    """`triton.jit`, or the bare function where Triton is missing: nothing calls it there."""
    return kernel if triton is None else triton.jit(kernel)
