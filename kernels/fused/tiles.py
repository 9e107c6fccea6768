"""Which tile a launch of `linear_logprob` takes, and into how many parts it cuts the vocabulary. Plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

Precision = Literal["ieee", "tf32x3"]

# Parts of the vocabulary that run side by side even when there are rows enough to fill the card: the rows in flight
# are then few enough for their hidden states to stay in the L2 cache (16 blocks of 128 rows on 132 processors: 12 MiB
# at D = 3,072, where 132 blocks would take 100 MiB of 50).
SPLITS_FOR_CACHE = 8


@dataclass(frozen=True, slots=True)
class Tiles:
    """Block sizes of one program and how Triton shall compile it."""

    rows: int
    vocab: int
    dim: int
    warps: int
    stages: int

    def launch_options(self) -> dict[str, int]:
        """These sizes under the names that the kernel and Triton's launcher give them."""
        blocks = {"BLOCK_ROWS": self.rows, "BLOCK_VOCAB": self.vocab, "BLOCK_DIM": self.dim}
        return {**blocks, "num_warps": self.warps, "num_stages": self.stages}


# 128 x 256 with 8 warps keeps 128 sums a thread, the most that leaves room for the softmax without spilling; smaller
# tiles load more bytes a multiplication than the L2 cache delivers. Up to 16 rows, reading the weight once is all the
# work: the smallest tile of the tensor cores. `ieee` runs on the plain float32 units, which gain nothing from size;
# tf32x3 holds each operand twice, so that a deeper step than 16 spills on sm_80.
_TILES: dict[str, tuple[Tiles, ...]] = {
    "half": (Tiles(16, 128, 128, 4, 4), Tiles(64, 256, 64, 8, 4), Tiles(128, 256, 64, 8, 4)),
    "tf32x3": (Tiles(16, 128, 32, 4, 3), Tiles(64, 64, 32, 4, 3), Tiles(128, 128, 16, 8, 4)),
    "ieee": (Tiles(16, 64, 32, 4, 3), Tiles(64, 64, 32, 4, 3)),
}


def tile_choices(dtype: torch.dtype, precision: Precision) -> tuple[Tiles, ...]:
    """Every tile that `choose_tiles` may give for inputs of this dtype, smallest first."""
    return _TILES[precision if dtype == torch.float32 else "half"]


def choose_tiles(dtype: torch.dtype, precision: Precision, n_rows: int) -> Tiles:
    """The smallest tile that holds all rows, else the largest there is."""
    choices = tile_choices(dtype, precision)
    return next((tiles for tiles in choices if n_rows <= tiles.rows), choices[-1])


def tiles_per_split(row_blocks: int, vocab_tiles: int, n_processors: int) -> int:
    """Vocabulary tiles that one program walks, chosen so that the card's last wave of programs is a full one.

    A split costs each of its programs about one tile's time extra (filling the pipeline, writing the result). More
    splits than four waves of programs gain nothing.
    """
    fewest = min(SPLITS_FOR_CACHE, vocab_tiles)
    most = min(vocab_tiles, max(fewest, 4 * n_processors))

    def cost(splits: int) -> int:
        waves = -(-row_blocks * splits // n_processors)
        return waves * (-(-vocab_tiles // splits) + 1)

    return -(-vocab_tiles // min(range(fewest, most + 1), key=cost))
