"""Other forward passes for some modules of a network, for as long as a block lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

Forward = Callable[..., Any]


def has_own_forward(module: nn.Module) -> bool:
    """Whether somebody has wrapped the module's `forward` (accelerate's offloading, a profiler, a block of these).

    What accelerate wraps for a device map, to move inputs to the module's card, does not count: what is inside is the
    class's own, and `other_forwards` leaves the wrapping around it.
    """
    if "forward" not in vars(module):
        return False
    return not moves_inputs_alone(module) or _inside(module) != (type(module).forward, module)


def moves_inputs_alone(module: Any) -> bool:
    """Whether accelerate has wrapped the module and does no more than move what comes in and goes out."""
    hook = vars(module).get("_hf_hook")
    if hook is None:
        return False
    from accelerate.hooks import AlignDevicesHook

    return type(hook) is AlignDevicesHook and not hook.offload


def inner_forward(module: nn.Module) -> Forward:
    """What the module computes, without accelerate's wrapping where that moves inputs alone."""
    forward: Forward = vars(module)["_old_forward"] if moves_inputs_alone(module) else module.forward
    return forward


def _inside(module: nn.Module) -> tuple[Any, Any]:
    """The function and the object of the method that is wrapped."""
    wrapped = vars(module).get("_old_forward")
    return getattr(wrapped, "__func__", None), getattr(wrapped, "__self__", None)


@contextmanager
def other_forwards(forwards: Iterable[tuple[nn.Module, Forward]]) -> Iterator[None]:
    """Let modules compute by other functions; torch's own hooks still run, and what moves inputs between cards.

    The modules are changed in place, so that inside the block the network is its thread's alone.

    Args:
        forwards: modules without a forward of their own (`has_own_forward`), each with its function.
    """
    changed: list[tuple[Any, Forward | None]] = []
    for layer, forward in list(forwards):
        module: Any = layer
        if moves_inputs_alone(module):
            changed.append((module, vars(module)["_old_forward"]))
            module._old_forward = forward
        else:
            changed.append((module, None))
            module.forward = forward
    try:
        yield
    finally:
        for layer, before in changed:
            if before is None:
                del layer.forward  # the class's own shows again
            else:
                layer._old_forward = before
