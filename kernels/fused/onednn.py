"""The head's float32 products on a CPU through oneDNN, which torch carries but calls only for shorter dtypes.

In float32 `torch.nn.functional.linear` goes to MKL, which on AMD processors uses half of their vector width: 200
GFLOP/s where oneDNN makes 450 (two Zen 5 cores, 1,024 rows, SmolLM2-135M's layers), both with float32 operands and
sums. The operator is the one that torch's own compiler puts in the place of linear layers.

For the head only. oneDNN's sums are a third to three times less exact, which a single product bears (1e-5 nats); thirty
layers of them put 4 of 25,639 token scores of SmolLM2-135M 1e-3 to 2.4e-3 nats off, where MKL's are within 2.5e-4.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

# oneDNN compiles and keeps half a megabyte of code for each number of rows and shape of weight, up to a thousand of
# them: 150 MB after one instance of each of BEAR's relations. So numbers of rows come in steps.
ROWS_STEP = 64


def onednn_takes(weight: Tensor) -> bool:
    """Whether `linear` goes to oneDNN for a layer of that weight: float32, on the CPU, in a torch that has oneDNN."""
    return _there() and weight.dtype == torch.float32 and weight.device.type == "cpu"


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
    if not onednn_takes(weight):
        return F.linear(x, weight, bias)
    rows = x.reshape(x.shape[:-1].numel(), x.shape[-1])
    missing = -len(rows) % ROWS_STEP
    padded = F.pad(rows, (0, 0, 0, missing)) if missing else rows  # F.pad copies even for nothing
    result: Tensor = torch.ops.mkldnn._linear_pointwise(padded, weight, bias, "none", [], "")
    return result[: len(rows)].view(*x.shape[:-1], len(weight))


def _there() -> bool:
    # Builds for other processors, and torch without oneDNN, have no such operator.
    return (
        torch.backends.mkldnn.is_available()
        and torch.backends.mkldnn.enabled
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )
