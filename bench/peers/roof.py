"""What the machine can do with this model's matrix products, and how much arithmetic a forwarded token is."""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

_ROWS = {"cpu": 1024, "cuda": 8192}  # tokens in a product: the default budget on a CPU, enough to fill a card
_VOCAB_TILE = 8192  # of the head: its speed is flat from here on, and its result stays small
_ROUNDS = 12


def weight_shapes(network: Any) -> Counter[tuple[int, int]]:
    """How often the model, head included, multiplies a token by a weight of each shape, [out, in]."""
    linear = (tuple(module.weight.shape) for module in network.modules() if isinstance(module, nn.Linear))
    turned = (tuple(module.weight.shape[::-1]) for module in network.modules() if isinstance(module, Conv1D))
    return Counter(chain(linear, turned))


def flop_per_node(network: Any) -> int:
    """Of the weight matrices, head included; attention's products are left out, and so are norms and softmax."""
    return 2 * sum(rows * columns * count for (rows, columns), count in weight_shapes(network).items())


def matrix_peak(network: Any) -> dict[str, Any]:
    """GFLOP/s of torch.mm at the model's own shapes and dtype, each the best of several rounds.

    `peak_gflop_per_s` is the best shape's: the roof. `all_shapes_gflop_per_s` is what the model's products together
    would reach if each ran at its own best. Shapes take turns, so that other work on the machine meets all alike.
    """
    device, dtype = network.device, network.dtype
    best: dict[tuple[int, int], float] = {}
    shapes = weight_shapes(network)
    for _ in range(_ROUNDS):
        for shape in shapes:
            speed = _gflop_per_s(min(shape[0], _VOCAB_TILE), shape[1], device, dtype)
            best[shape] = max(best.get(shape, 0.0), speed)
    work = {shape: shape[0] * shape[1] * count for shape, count in shapes.items()}
    together = sum(work.values()) / sum(work[shape] / best[shape] for shape in shapes)
    return {
        "peak_gflop_per_s": round(max(best.values()), 1),
        "all_shapes_gflop_per_s": round(together, 1),
        "dtype": str(dtype).removeprefix("torch."),
        "rows": _ROWS[device.type],
        "shapes": {f"{rows}x{columns}": round(speed, 1) for (rows, columns), speed in best.items()},
    }


@torch.inference_mode()
def _gflop_per_s(out: int, width: int, device: torch.device, dtype: torch.dtype) -> float:
    tokens, times = _ROWS[device.type], 3
    left = torch.randn(tokens, width, device=device, dtype=dtype)
    right = torch.randn(out, width, device=device, dtype=dtype).T  # as nn.Linear holds it
    result = torch.empty(tokens, out, device=device, dtype=dtype)
    torch.mm(left, right, out=result)
    _wait(device)
    started = time.perf_counter()
    for _ in range(times):
        torch.mm(left, right, out=result)
    _wait(device)
    return times * 2e-9 * tokens * out * width / (time.perf_counter() - started)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
