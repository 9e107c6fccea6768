"""Float32 products on a CPU through oneDNN, which torch carries but calls only for shorter dtypes.

In float32 `torch.nn.functional.linear` goes to MKL, which on AMD processors uses vectors of 256 bits; oneDNN uses those
of 512. From Zen 5 on these are twice as fast. On Zen 4, which computes them in two halves, MKL and oneDNN are equally
fast, and only the head, which needs no stretches, goes to oneDNN. On Intel's processors MKL is the faster of the two,
and stays. The operator is the one that torch's own compiler puts in the place of linear layers.

oneDNN adds up all products of a sum one after the other, so that rounding grows with its length; MKL begins anew after
192 and adds the parts. A single product can bear the difference (the head, `linear`); dozens of layers one after
another cannot. `linear_in_stretches` sums as MKL does. bench/README.md has the speeds and errors of all three.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

# oneDNN compiles and keeps half a megabyte of code for each number of rows and shape of weight, up to a thousand of
# them: 150 MB after one instance of each of BEAR's relations. So numbers of rows come in steps, 16 of them up to 1,024
# and 8 more with each doubling.
ROWS_STEP = 64
STRETCH = 192  # products that are added up without a stop
_INTEL, _AMD = "GenuineIntel", "AuthenticAMD"  # as processors call their makers
_ZEN_5 = 26  # its family; AMD's families are numbered in the order of their making


def onednn_takes(weight: Tensor) -> bool:
    """Whether `linear` goes to oneDNN for a layer of that weight: float32, on a CPU that Intel has not made, in a torch
    that has oneDNN."""
    return _there() and weight.dtype == torch.float32 and weight.device.type == "cpu" and _maker() != _INTEL


def stretches_pay(weight: Tensor) -> bool:
    """Whether `linear_in_stretches` is the faster way too: `onednn_takes`, on an AMD processor from Zen 5 on."""
    wide = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    return onednn_takes(weight) and wide and _maker() == _AMD and _family() >= _ZEN_5


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`torch.nn.functional.linear`, through oneDNN where `onednn_takes(weight)`; forward only.

    Args:
        x: [.., in] or [in], of the weight's dtype; rows may be none.
        weight: [out, in], of any strides.
        bias: [out].
    Returns:
        [.., out] or [out]. The two ways sum in different orders: they differ by rounding, about 1e-6 of the largest
        value.
    """
    return _linear(x, cut(weight, weight.shape[1]), bias) if onednn_takes(weight) else F.linear(x, weight, bias)


def linear_in_stretches(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`linear` with sums of at most `STRETCH` products, added up afterwards: slower, and as exact as MKL's.

    For the layers of a network, where `stretches_pay(weight)`; arguments and result are those of `linear`.
    """
    return _linear(x, cut(weight), bias) if onednn_takes(weight) else F.linear(x, weight, bias)


def linear_of_cut(x: Tensor, stretches: Sequence[Tensor], bias: Tensor | None = None) -> Tensor:
    """`linear_in_stretches` with a weight that was cut before, by `cut`: the same products, without its copies."""
    return _linear(x, stretches, bias)


def cut(weight: Tensor, stretch: int | None = None) -> list[Tensor]:
    """The columns of `weight` [out, in] in stretches, without gaps between their rows; a transposed weight's are views.

    oneDNN has no fast product of operands with such gaps.
    """
    parts = torch.split(weight, stretch or STRETCH, 1)
    return [part if part.stride(0) == 1 else part.contiguous() for part in parts]


def _linear(x: Tensor, stretches: Sequence[Tensor], bias: Tensor | None) -> Tensor:
    width = sum(part.shape[1] for part in stretches)
    rows = x.reshape(x.shape[:-1].numel(), width)
    missing = -len(rows) % max(ROWS_STEP, 2 ** (len(rows).bit_length() - 1) // 8)
    product = torch.ops.mkldnn._linear_pointwise
    total: Tensor | None = None
    start = 0
    for columns in stretches:
        part = rows[:, start : start + columns.shape[1]]
        start += columns.shape[1]
        part = F.pad(part, (0, 0, 0, missing)) if missing else part.contiguous()  # F.pad copies even for nothing
        if total is None:
            total = product(part, columns, bias, "none", [], "")
        else:
            total = product.binary(part, total, columns, None, "add")
    assert total is not None, "a weight has columns"
    return total[: len(rows)].view(*x.shape[:-1], len(stretches[0]))


def _there() -> bool:
    # Builds for other processors, and torch without oneDNN, have no such operator.
    built_in = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return bool(built_in and torch.backends.mkldnn.enabled) and hasattr(torch.ops.mkldnn, "_linear_pointwise")


@cache
def _maker() -> str:
    """Who made the processor: torch says what it can do. Empty elsewhere than on Linux."""
    return next((name for name in (_INTEL, _AMD) if name in _cpu_info()), "")


@cache
def _family() -> int:
    """The processor's family by its maker's numbers; 0 elsewhere than on Linux."""
    found = re.search(r"^cpu family\s*:\s*(\d+)$", _cpu_info(), re.MULTILINE)
    return int(found[1]) if found else 0


def _cpu_info() -> str:
    info = Path("/proc/cpuinfo")
    return info.read_text("utf-8", "replace") if info.is_file() else ""
