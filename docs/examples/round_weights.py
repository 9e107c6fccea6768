"""Round the weights of `tiny-clm` to a few bits, as quantised files do, and save the result as a model folder.

    python docs/examples/round_weights.py --bits 4 models/tiny-4bit

Each group of 32 weights of a matrix shares one scale, and each weight becomes one of 2 ** bits - 1 multiples of it. The
folder holds what these weights stand for, in float32, so that every tool can load it: it shows what rounding does to
the answers, not what it saves.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch

import calprobe

GROUP = 32


def rounded(weight: torch.Tensor, bits: int) -> torch.Tensor:
    """The matrix with each group of a row on a grid of its own, around 0."""
    if weight.shape[-1] % GROUP:
        raise ValueError(f"weight must have rows of a multiple of {GROUP} values, not {tuple(weight.shape)}")
    groups = weight.reshape(-1, GROUP)
    largest = 2 ** (bits - 1) - 1
    scale = groups.abs().amax(dim=1, keepdim=True).clamp_min(1e-12) / largest
    on_grid: torch.Tensor = (groups / scale).round() * scale
    return on_grid.reshape(weight.shape)


def save_rounded(bits: int, folder: Path) -> int:
    """The number of weights that were rounded."""
    loaded = calprobe.load_model("tiny-clm")
    network: Any = loaded.network
    matrices = [weight for weight in network.parameters() if weight.ndim == 2]
    with torch.no_grad():
        for weight in matrices:
            weight.copy_(rounded(weight, bits))
    network.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return sum(weight.numel() for weight in matrices)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bits", type=int, default=4, choices=range(2, 9))
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    print(f"{given.folder}: {save_rounded(given.bits, given.folder):,} weights in {given.bits} bits")
