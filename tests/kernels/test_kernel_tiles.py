"""How a launch is cut: every vocabulary tile in one split, and the card's last wave of programs full."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calprobe.kernels.tiles import (
    SPLITS_FOR_CACHE,
    WIDEST_GATE,
    WIDEST_NORM,
    RowTiles,
    row_tiles,
    tile_set,
    tiles_per_split,
)


@given(row_blocks=st.integers(1, 10**6), vocab_tiles=st.integers(1, 4096), n_processors=st.integers(1, 150))
def test_splits_are_at_least_those_that_the_cache_wants(row_blocks: int, vocab_tiles: int, n_processors: int) -> None:
    per_split = tiles_per_split(row_blocks, vocab_tiles, n_processors)
    splits = -(-vocab_tiles // per_split)
    assert 1 <= per_split <= vocab_tiles
    # Rounding up tiles a split may leave a split or two out, never a tile.
    assert (splits - 1) * per_split < vocab_tiles <= splits * per_split
    assert per_split <= -(-vocab_tiles // min(SPLITS_FOR_CACHE, vocab_tiles))


def test_a_single_row_block_is_spread_over_the_card() -> None:
    # gemma's 262,144 words in tiles of 128, one row, 132 processors: 16 tiles each, 128 programs in one wave.
    assert tiles_per_split(row_blocks=1, vocab_tiles=2048, n_processors=132) == 16


def test_the_last_wave_is_full() -> None:
    # 32 blocks of rows: 33 splits make 1,056 programs, eight full waves of 132.
    per_split = tiles_per_split(row_blocks=32, vocab_tiles=1023, n_processors=132)
    programs = 32 * -(-1023 // per_split)
    assert programs / (132 * -(-programs // 132)) > 0.95


def test_a_card_takes_the_tiles_that_its_shared_memory_holds() -> None:
    in_kib = {
        (8, 163): "wide", (9, 227): "wide", (10, 227): "tensor_memory", (11, 227): "tensor_memory", (8, 99): "narrow",
        (12, 99): "narrow",
    }  # fmt: skip
    assert {(major, kib): tile_set(major, kib * 1024) for major, kib in in_kib} == in_kib


@given(width=st.integers(1, 100_000), widest=st.sampled_from([WIDEST_NORM, WIDEST_GATE]))
def test_a_tile_of_rows_holds_a_row_or_a_part_of_it_in_few_registers(width: int, widest: int) -> None:
    tiles = row_tiles(width, widest)
    assert min(width, widest) <= tiles.width <= max(1, min(2 * width - 1, widest))
    assert tiles.rows * tiles.width >= 2048
    assert tiles.rows * tiles.width <= 32 * 32 * tiles.warps


def test_tiles_of_rows_by_hand() -> None:
    # A head of 128, gemma-7b's states, the widest row; a gate of gemma-7b in parts.
    assert [row_tiles(width, WIDEST_NORM) for width in (128, 3072, 16_384)] == [
        RowTiles(16, 128, 4), RowTiles(1, 4096, 8), RowTiles(1, 16_384, 16)
    ]  # fmt: skip
    assert row_tiles(24_576, WIDEST_GATE) == RowTiles(1, 2048, 4)
