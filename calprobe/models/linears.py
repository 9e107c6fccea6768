"""A network's linear layers through the fastest exact product that the processor has, for as long as a block lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor, nn

from calprobe.kernels.onednn import cut, linear_in_stretches, linear_of_cut, stretches_pay
from calprobe.models.forwards import has_own_forward, other_forwards
from calprobe.models.memory import free_bytes

_SHARE_OF_FREE = 0.25  # of the memory that is left, for weights that were cut; larger ones are cut in each pass


@contextmanager
def fast_linears(network: nn.Module, once: bool = False) -> Iterator[None]:
    """Let the plain linear layers of `network` go through oneDNN where that is faster and as exact.

    Those are float32 layers on a CPU (see `calprobe.kernels.onednn`), `nn.Linear` and GPT-2's `Conv1D`. Subclasses
    (adapters, quantised layers) and layers with a wrapped `forward` compute something else than weight and
    bias say, and stay; torch's own hooks still run. Nothing else of the network changes. Weights are cut once for all
    passes of a block, if memory allows, and must not change meanwhile; `once`: it has one pass, and nothing is kept.
    The layers are changed in place, so that inside the block the network is its thread's alone; a block within a block
    changes nothing.
    """
    from transformers.pytorch_utils import Conv1D

    layers = [module for module in network.modules() if type(module) in (nn.Linear, Conv1D) and _is_free(module)]
    keep = not once and _have_room(layers)
    with other_forwards((layer, _forward_of(layer, keep)) for layer in layers):
        yield


def _is_free(layer: nn.Module) -> bool:
    return not has_own_forward(layer) and stretches_pay(layer.weight)


def _have_room(layers: Sequence[nn.Module]) -> bool:
    """Whether memory is left to keep the layers' weights cut too, as copies (those of a Conv1D are views)."""
    needed = sum(layer.weight.nbytes for layer in layers if isinstance(layer, nn.Linear))
    return needed <= _SHARE_OF_FREE * free_bytes(torch.device("cpu")) if needed else True


def _forward_of(layer: nn.Module, keep: bool) -> Callable[[Tensor], Tensor]:
    """Its product in stretches; `keep`: the weight is cut in the first pass of the block, for all of them."""
    weight = layer.weight if isinstance(layer, nn.Linear) else layer.weight.T
    stretches = cache(lambda: cut(weight))

    def forward(x: Tensor) -> Tensor:
        result: Tensor = linear_of_cut(x, stretches(), layer.bias)
        return result

    return forward if keep else lambda x: linear_in_stretches(x, weight, layer.bias)
