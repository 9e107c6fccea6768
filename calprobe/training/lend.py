"""A network in the middle of its training, lent for scoring and given back exactly as it was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

_REGISTRIES = ("_parameters", "_buffers", "_modules")


@contextmanager
def undisturbed(network: nn.Module) -> Iterator[None]:
    """Inside, the network is in evaluation mode and in its weights' own precision; afterwards all is as it was.

    What is put back: every module's own mode, forward, buffers, submodules and plain attributes (a rotary table that
    was computed in inference mode may take no part in a backward pass), the random numbers of torch, NumPy and Python,
    and torch's number of threads. Weights are not copied: nothing that scores writes to them.
    """
    device = next(network.parameters()).device
    kept = [(module, dict(vars(module)), _registries(module)) for module in network.modules()]
    threads = torch.get_num_threads()
    with _same_random_numbers(device):
        try:
            network.eval()
            _as_written(network)
            _free_memory(device)
            with torch.autocast(device.type, enabled=False):
                yield
        finally:
            for module, attributes, registries in kept:
                _put_back(module, attributes, registries)
            torch.set_num_threads(threads)
            _free_memory(device)


def _registries(module: nn.Module) -> dict[str, dict[str, Any]]:
    return {name: dict(vars(module)[name]) for name in _REGISTRIES}


def _as_written(network: nn.Module) -> None:
    """Take off what training puts around the model's own forward: accelerate's autocast, torch.compile."""
    original = vars(network).get("_original_forward")
    if original is not None:
        network.forward = original
    for module in network.modules():
        if getattr(module, "_compiled_call_impl", None) is not None:
            module._compiled_call_impl = None  # the stand-in for the head would be compiled anew each time


def _put_back(module: nn.Module, attributes: dict[str, Any], registries: dict[str, dict[str, Any]]) -> None:
    own = vars(module)
    for name in own.keys() - attributes.keys():
        del own[name]
    own.update(attributes)
    for name, entries in registries.items():
        own[name].clear()
        own[name].update(entries)


@contextmanager
def _same_random_numbers(device: torch.device) -> Iterator[None]:
    cards = [device] if device.type == "cuda" else []
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - a training run may draw from it
    try:
        with torch.random.fork_rng(cards):
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002


def _free_memory(device: torch.device) -> None:
    """Let the other side have what torch keeps on the card: budgets are a share of what is free."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
