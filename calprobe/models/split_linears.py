"""A network's float32 linear layers on a card's tensor cores, for as long as a block lasts.

Tensor cores multiply float32 operands only after cutting them to TF32, which has 11 of the 24 digits. So each operand
is a sum of two: its value rounded to TF32, and the rest.

    x W = high(x) high(W) + high(x) low(W) + low(x) high(W)      without low(x) low(W), below 2**-22 of each product

The error is near that of float32 itself. Of weights the parts are made at each product: that takes little beside
products over thousands of rows, where parts that are kept would take the memory of two more networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from calprobe.models.forwards import has_own_forward, inner_forward, other_forwards
from calprobe.models.loaded_model import Products
from calprobe.models.torch_settings import ProcessSwitch

# With fewer rows, splitting the weight costs more than float32 products do.
LEAST_ROWS = 256
_CUT_BITS = 13  # of float32's digits, those that TF32 has not


@contextmanager
def split_linears(network: nn.Module, precision: Products) -> Iterator[None]:
    """Let the plain float32 linear layers of `network` that are on a card take three TF32 products for one.

    Changes nothing if `precision` is ieee. As `fast_linears` on a CPU: `nn.Linear` and GPT-2's `Conv1D`, no subclasses,
    none with a wrapped `forward`.
    """
    layers = layers_taken(network) if precision == "tf32x3" else []
    with other_forwards((layer, _forward_of(layer)) for layer in layers):
        yield


def layers_taken(network: nn.Module) -> list[Any]:
    """The layers of `split_linears`."""
    from transformers.pytorch_utils import Conv1D

    return [module for module in network.modules() if type(module) in (nn.Linear, Conv1D) and _is_taken(module)]


def _is_taken(layer: Any) -> bool:
    return not has_own_forward(layer) and layer.weight.dtype == torch.float32 and _on_card(layer.weight)


def _on_card(weight: Tensor) -> bool:
    return weight.is_cuda


def _forward_of(layer: Any) -> Callable[[Tensor], Tensor]:
    own = inner_forward(layer)
    is_linear = isinstance(layer, nn.Linear)

    def forward(x: Tensor) -> Tensor:
        if x.dtype != torch.float32 or x.numel() < LEAST_ROWS * x.shape[-1]:
            result: Tensor = own(x)
            return result
        return linear_in_three(x, layer.weight.T if is_linear else layer.weight, layer.bias)

    return forward


def _add_product(total: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """In the place of a sum of the product's shape, which torch.addmm would copy first; a bias is one row."""
    return torch.addmm(total, a, b) if total.dim() == 1 else total.addmm_(a, b)


def linear_in_three(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    add_product: Callable[[Tensor, Tensor, Tensor], Tensor] = _add_product,
) -> Tensor:
    """`x @ weight + bias` of [.., inputs], [inputs, outputs], [outputs]: three products, the smallest first.

    `add_product(sum, a, b)` gives `sum + a @ b`; a and b have at most 12 digits, so that a card's TF32 loses little or
    nothing of them.
    """
    high, low = in_two(x.reshape(-1, x.shape[-1]))
    weight_high, weight_low = in_two(weight)
    zero = x.new_zeros(weight.shape[1]) if bias is None else bias
    with _tf32_products():
        total = add_product(zero, low, weight_high)
        total = add_product(total, high, weight_low)
        total = add_product(total, high, weight_high)
    return total.view(*x.shape[:-1], weight.shape[1])


def in_two(x: Tensor) -> tuple[Tensor, Tensor]:
    """The values rounded to TF32, and what is left of them: together exactly `x`, if its values are finite."""
    bits = x.view(torch.int32) + (1 << (_CUT_BITS - 1))
    high = bits.bitwise_and_(-1 << _CUT_BITS).view(torch.float32)
    return high, x - high


_TF32 = ProcessSwitch(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "high")


def _tf32_products() -> AbstractContextManager[None]:
    """Let float32 products on a card be TF32's. The switch is the process's; it is set back, also after an error."""
    return _TF32.held()
