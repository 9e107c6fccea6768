"""A network's linear layers through the fastest exact product that the processor has, for as long as a block lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from calprobe.kernels.onednn import linear_in_stretches, stretches_pay


@contextmanager
def fast_linears(network: nn.Module) -> Iterator[None]:
    """Let the plain linear layers of `network` go through oneDNN where that is faster and as exact.

    Those are float32 layers on a CPU (see `calprobe.kernels.onednn`), `nn.Linear` and GPT-2's `Conv1D`. Subclasses
    (adapters, quantised layers) and layers with a wrapped `forward` compute something else than weight and
    bias say, and stay; torch's own hooks still run. Nothing else of the network changes. The layers are changed in
    place, so that inside the block the network is its thread's alone; a block within a block changes nothing.
    """
    from transformers.pytorch_utils import Conv1D

    layers = [module for module in network.modules() if type(module) in (nn.Linear, Conv1D) and _is_free(module)]
    for layer in layers:
        layer.forward = _forward_of(layer)
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward  # the class's own shows again


def _is_free(layer: nn.Module) -> bool:
    # `forward` in the instance is somebody's wrapper (accelerate's offloading, a profiler).
    return "forward" not in vars(layer) and stretches_pay(layer.weight)


def _forward_of(layer: nn.Module) -> Callable[[Tensor], Tensor]:
    if isinstance(layer, nn.Linear):
        return lambda x: linear_in_stretches(x, layer.weight, layer.bias)
    return lambda x: linear_in_stretches(x, layer.weight.T, layer.bias)
