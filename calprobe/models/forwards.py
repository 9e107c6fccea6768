"""Other forward passes for some modules of a network, for as long as a block lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


def has_own_forward(module: nn.Module) -> bool:
    """Whether somebody has wrapped the module's `forward` (accelerate's offloading, a profiler, a block of these)."""
    return "forward" in vars(module)


@contextmanager
def other_forwards(forwards: Iterable[tuple[nn.Module, Callable[..., Any]]]) -> Iterator[None]:
    """Let modules compute by other functions; torch's own hooks still run.

    The modules are changed in place, so that inside the block the network is its thread's alone.

    Args:
        forwards: modules without a forward of their own (`has_own_forward`), each with its function.
    """
    changed = list(forwards)
    for module, forward in changed:
        module.forward = forward
    try:
        yield
    finally:
        for module, _ in changed:
            del module.forward  # the class's own shows again
