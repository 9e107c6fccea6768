"""Which tile a launch takes, and into how many parts that of `linear_logprob` cuts the vocabulary. Plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

Precision = Literal["ieee", "tf32x3"]
# Tables of tiles. `wide` for cards with at least 163 KB of shared memory a block (A100, H100); `narrow` for 99 KB (A10,
# L4, L40S, RTX 30, 40 and 50); `tensor_memory` for B200, B300 and Thor, whose sums lie outside the registers until the
# softmax; `hip` for AMD's CDNA (MI200, MI300) with 64 KB.
TileSet = Literal["wide", "narrow", "tensor_memory", "hip"]
# Of all kernels but the rotary one: products are fused with their sums, which Triton does by itself before 3.10 only.
FUSING = {"enable_fp_fusion": True}
WIDE_SHARED = 163 * 1024  # bytes that a block may have
TENSOR_MEMORY = (10, 11)  # compute capabilities, their first numbers
OLDEST_CAPABILITY = 8  # on older cards Triton multiplies without tensor cores, and larger tiles spill
CDNA = ("gfx90a", "gfx942")  # of AMD; on RDNA (gfx10, gfx11, gfx12) all tiles spill

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
# work: the smallest tile of the tensor cores. In 99 KB, a step half as deep leaves room for four stages. Out of tensor
# memory, 128 x 256 spills. `ieee` runs on the plain float32 units, which gain nothing from size; tf32x3 holds each
# operand twice, so that a deeper step than 16 spills on sm_80.
_HALF: dict[TileSet, tuple[Tiles, ...]] = {
    "wide": (Tiles(16, 128, 128, 4, 4), Tiles(64, 256, 64, 8, 4), Tiles(128, 256, 64, 8, 4)),
    "narrow": (Tiles(16, 128, 64, 4, 4), Tiles(64, 128, 64, 4, 3), Tiles(128, 256, 32, 8, 4)),
    "tensor_memory": (Tiles(16, 128, 128, 4, 4), Tiles(64, 256, 64, 8, 4), Tiles(128, 128, 64, 8, 4)),
    "hip": (Tiles(16, 128, 64, 4, 2), Tiles(64, 128, 64, 4, 2), Tiles(128, 128, 64, 8, 2)),
}
_FLOAT32: dict[Precision, tuple[Tiles, ...]] = {
    "tf32x3": (Tiles(16, 128, 32, 4, 3), Tiles(64, 64, 32, 4, 3), Tiles(128, 128, 16, 8, 4)),
    "ieee": (Tiles(16, 64, 32, 4, 3), Tiles(64, 64, 32, 4, 3)),
}


def tile_set(major: int, shared_bytes: int) -> TileSet:
    """The table for a card of compute capability `major`.x that gives a block up to `shared_bytes` of shared memory.

    One card always takes the same tiles, so that its results repeat to the last bit; another card may sum in another
    order.
    """
    if shared_bytes < WIDE_SHARED:
        return "narrow"
    return "tensor_memory" if major in TENSOR_MEMORY else "wide"


def tile_choices(dtype: torch.dtype, precision: Precision, tile_set: TileSet = "wide") -> tuple[Tiles, ...]:
    """Every tile that `choose_tiles` may give for inputs of this dtype, smallest first."""
    return _FLOAT32[precision] if dtype == torch.float32 else _HALF[tile_set]


def choose_tiles(dtype: torch.dtype, precision: Precision, n_rows: int, tile_set: TileSet = "wide") -> Tiles:
    """The smallest tile that holds all rows, else the largest there is."""
    choices = tile_choices(dtype, precision, tile_set)
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


@dataclass(frozen=True, slots=True)
class RowTiles:
    """What one program of a kernel over rows takes at a time, and its warps."""

    rows: int
    width: int  # values of a row
    warps: int

    def launch_options(self) -> dict[str, int]:
        """These sizes under the names that the kernels and Triton's launcher give them."""
        return {"BLOCK_ROWS": self.rows, "BLOCK_WIDTH": self.width, "num_warps": self.warps}


# A norm keeps a row of up to 16,384 values in registers, 32 a thread at most; a wider one is read twice. What is
# computed value by value has no use for more than 16 a thread.
WIDEST_NORM, WIDEST_GATE = 16_384, 2048
_VALUES = 2048  # of a program, from several rows where these are short (heads): two loads of 16 bytes a thread
_MOST_WARPS = 16


def row_tiles(width: int, widest: int) -> RowTiles:
    """The tile for rows of `width` values, in parts of `widest` at most.

    It depends on nothing else, so that a row is summed in one order and gives the same bits whatever else is in the
    batch.
    """
    block = min(1 << (width - 1).bit_length(), widest)
    rows = max(1, _VALUES // block)
    return RowTiles(rows, block, min(_MOST_WARPS, max(4, rows * block // 512)))
