"""Activations that transformers writes as eight element-wise steps, as torch's one step of the same formula."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from torch import nn
from torch.nn import functional as F

from calprobe.models.forwards import has_own_forward, other_forwards

# 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), by the names of the classes: BLOOM's file need not be imported.
_TANH_GELU = frozenset(
    {
        "transformers.activations.NewGELUActivation",
        "transformers.activations.FastGELUActivation",
        "transformers.models.bloom.modeling_bloom.BloomGelu",
    }
)


@contextmanager
def fast_activations(network: nn.Module) -> Iterator[None]:
    """Let the tanh forms of GELU in `network` run as one kernel (GPT-2, GPT-J, Phi, BLOOM), on any device.

    The result differs by rounding; in a shorter dtype it is rounded once, the classes' own at each step. Subclasses and
    modules with a wrapped `forward` stay. The modules are changed in place for as long as the block lasts; a block
    within a block changes nothing.
    """
    gelu = partial(F.gelu, approximate="tanh")
    with other_forwards((module, gelu) for module in network.modules() if _is_tanh_gelu(module)):
        yield


def _is_tanh_gelu(module: nn.Module) -> bool:
    kind = type(module)
    return f"{kind.__module__}.{kind.__qualname__}" in _TANH_GELU and not has_own_forward(module)
