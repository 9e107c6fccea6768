"""What the machine can do with this model's matrix products, and how much arithmetic a slice is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from calprobe.kernels.onednn import linear, onednn_takes

_ROWS = {"cpu": 1024, "cuda": 8192}  # tokens in a product: the default budget on a CPU, enough to fill a card
_VOCAB_TILE = {"cpu": 2048, "cuda": 8192}  # of the head; on a CPU larger results cost new memory each time
_ROUNDS = 12


Shapes = Mapping[tuple[int, int], int]  # how often a token is multiplied by a weight of each shape, [out, in]


def weight_shapes(network: Any, counts: Mapping[str, int]) -> Shapes:
    """Of a model of which `counts["forwarded"]` tokens go through the body, and `counts["heads"]` on to logits."""
    body, shapes = set(network.base_model.modules()), Counter[tuple[int, int]]()
    for module in network.modules():
        if isinstance(module, nn.Linear | Conv1D):
            shape = module.weight.shape if isinstance(module, nn.Linear) else module.weight.shape[::-1]
            shapes[shape[0], shape[1]] += counts["forwarded" if module in body else "heads"]
    return shapes


def flop(shapes: Shapes) -> int:
    """Of the weight matrices; attention's products are left out, and so are norms and softmax."""
    return 2 * sum(rows * columns * count for (rows, columns), count in shapes.items())


def matrix_peak(network: Any, shapes: Shapes) -> dict[str, Any]:
    """GFLOP/s of single products at the model's own shapes and dtype, each the best of several rounds.

    `peak_gflop_per_s` is torch.mm's at its best shape: the roof of whoever multiplies as torch does.
    `fastest_gflop_per_s` is the same for the product that calprobe's head takes (oneDNN's in float32 on a CPU, else
    torch.mm again). `all_shapes_gflop_per_s` is what the products that `shapes` counts would reach together if
    each ran at its own best in that way. Shapes take turns, so that other work on the machine meets all alike.
    """
    device, dtype = network.device, network.dtype
    torch_mm, own = dict.fromkeys(shapes, 0.0), dict.fromkeys(shapes, 0.0)
    for _ in range(_ROUNDS):
        for shape in shapes:
            out, width = min(shape[0], _VOCAB_TILE[device.type]), shape[1]
            torch_mm[shape] = max(torch_mm[shape], _gflop_per_s(_mm, out, width, device, dtype))
            own[shape] = max(own[shape], _gflop_per_s(_linear, out, width, device, dtype))
    work = {shape: shape[0] * shape[1] * count for shape, count in shapes.items()}
    together = sum(work.values()) / sum(work[shape] / own[shape] for shape in shapes)
    return {
        "peak_gflop_per_s": round(max(torch_mm.values()), 1),
        "fastest_gflop_per_s": round(max(own.values()), 1),
        "all_shapes_gflop_per_s": round(together, 1),
        "dtype": str(dtype).removeprefix("torch."),
        "rows": _ROWS[device.type],
        "shapes": {f"{rows}x{columns}": round(speed, 1) for (rows, columns), speed in own.items()},
    }


def _mm(rows: Tensor, weight: Tensor, result: Tensor) -> None:
    torch.mm(rows, weight.T, out=result)


def _linear(rows: Tensor, weight: Tensor, result: Tensor) -> None:
    # oneDNN's has no `out`; elsewhere the same product again.
    if onednn_takes(weight):
        linear(rows, weight)
    else:
        _mm(rows, weight, result)


@torch.inference_mode()
def _gflop_per_s(
    product: Callable[[Tensor, Tensor, Tensor], None], out: int, width: int, device: torch.device, dtype: torch.dtype
) -> float:
    tokens, times = _ROWS[device.type], 3
    rows = torch.randn(tokens, width, device=device, dtype=dtype)
    weight = torch.randn(out, width, device=device, dtype=dtype)
    result = torch.empty(tokens, out, device=device, dtype=dtype)
    product(rows, weight, result)
    _wait(device)
    started = time.perf_counter()
    for _ in range(times):
        product(rows, weight, result)
    _wait(device)
    return times * 2e-9 * tokens * out * width / (time.perf_counter() - started)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
