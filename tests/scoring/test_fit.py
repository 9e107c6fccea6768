"""How a run's path and budget are found: measured on a card with memory counted by hand, and remembered."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import pytest
import torch
from scored_samples import PROBE
from tiny_models import (
    MAX_POSITIONS,
    loaded,
    save_tiny_model,
    tiny_causal,
    tiny_masked,
    tiny_masked_tokenizer,
)

from calprobe.models import LoadedModel, load_model
from calprobe.models.split_linears import LEAST_ROWS
from calprobe.scoring.budget import PassSize, budget_that_fits, budgets_file
from calprobe.scoring.fit import Way, find_way, measured_budget, memories_of, row_width
from calprobe.scoring.options import Path, ScoreOptions
from calprobe.scoring.path_choice import executor_of
from calprobe.scoring.probe_selection import select

MIB = 2**20


class CountedMemory:
    """A card on which a pass takes so many bytes a place of its input, and so many for each pair of places of a row."""

    def __init__(self, network: torch.nn.Module, free: int, fixed: int = 0, a_place: int = 1000, a_pair: int = 0):
        self.size = 0  # bytes of the card where others hold some of them
        self._free, self._fixed, self._a_place, self._a_pair = free, fixed, a_place, a_pair
        self.peak, self.shapes = 0, [(0, 0)]
        network.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, network: torch.nn.Module, args: Any, given: dict[str, torch.Tensor]) -> None:
        rows, width = given["input_ids"].shape
        self.shapes.append((rows, width))
        taken = self._fixed + rows * width * self._a_place + rows * width**2 * self._a_pair
        if taken > self._free:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.peak = max(self.peak, taken)

    def free(self) -> int:
        return self._free

    def capacity(self, model: LoadedModel) -> int:
        return self.size or self._free

    def peak_of(self, run: Callable[[], object]) -> int:
        self.peak = 0
        run()
        return self.peak


def measured(model: LoadedModel, path: Path, longest: int, *memories: CountedMemory) -> int | None:
    width = row_width(model, path, longest)
    return measured_budget(model, path, executor_of(path, model, 64), width, memories)


def masked_model() -> LoadedModel:
    return loaded(tiny_masked("bert"), kind="masked", tokenizer=tiny_masked_tokenizer())


@pytest.mark.parametrize(
    ("small", "large", "free", "budget"),
    [
        ((1000, 20_000), (4000, 80_000), 50_000, 2000),  # 20 bytes a token, 40,000 to be had
        ((1000, 30_000), (4000, 90_000), 50_000, 1500),  # .. of which 10,000 are needed anyhow
        ((1000, 90_000), (4000, 80_000), 50_000, 2000),  # a line that falls: from zero through the larger
        ((1000, 5_000), (4000, 80_000), 50_000, 2000),  # a line below zero: likewise
        ((1000, 20_000), (4000, 80_000), 10**12, 32768),
        ((1000, 0), (4000, 0), 10**9, 32768),
        ((1000, 20_000), (4000, 80_000), 100, 64),
        ((1000, 30_000), (4000, 90_000), 100, 64),  # less than what is needed anyhow
    ],
)
def test_the_budget_is_where_the_line_meets_what_is_free(
    small: tuple[int, int], large: tuple[int, int], free: int, budget: int
) -> None:
    assert budget_that_fits(PassSize(*small), PassSize(*large), free) == 2 ** int(math.log2(budget))


def test_two_passes_of_one_size_are_no_line() -> None:
    with pytest.raises(ValueError, match="large must have more tokens than small, got 5 and 5"):
        budget_that_fits(PassSize(5, 1), PassSize(5, 2), 100)


@pytest.mark.parametrize("path", ["tree", "padded", "plain"])
def test_a_measured_budget_takes_what_the_device_has(path: Path) -> None:
    model = loaded(tiny_causal("llama"))
    memory = CountedMemory(model.network, 10 * MIB, fixed=MIB, a_place=1000)
    # 0.8 x 10 MiB minus 1 MiB, at 1,000 bytes a place: 7,340 places.
    assert measured(model, path, 30, memory) == 4096


def test_the_square_of_a_row_counts() -> None:
    model = loaded(tiny_causal("llama"), max_positions=None)
    width = row_width(model, "tree", 30)
    assert width == 160
    memory = CountedMemory(model.network, 80 * MIB, a_place=1000, a_pair=50)
    # 1,000 + 160 x 50 = 9,000 bytes a place of 64 MiB: 7,456.
    assert measured(model, "tree", 30, memory) == 4096
    assert {width for _, width in memory.shapes[2:]} == {160}
    assert max(rows for rows, _ in memory.shapes) == 4


def test_a_masked_statement_is_as_many_rows() -> None:
    model = masked_model()
    memory = CountedMemory(model.network, 10 * MIB, fixed=MIB, a_place=1000)
    assert measured(model, "masked", 14, memory) == 4096
    assert set(memory.shapes[2:]) == {(4, 18), (16, 18)}  # the head is looked at first


@pytest.mark.parametrize(("path", "longest"), [("flat", 20), ("padded", 60), ("tree", 14)])
def test_both_measured_passes_multiply_as_a_run_does(path: Path, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def fits(small: PassSize, large: PassSize, free: int) -> int:
        sizes.extend((small.n_tokens, large.n_tokens))
        return budget_that_fits(small, large, free)

    monkeypatch.setattr("calprobe.scoring.fit.budget_that_fits", fits)
    model = loaded(tiny_causal("llama"), max_positions=None, precision="tf32x3")
    memory = CountedMemory(model.network, 10 * MIB, fixed=MIB, a_place=1000)
    assert measured(model, path, longest, memory) == 4096
    assert LEAST_ROWS <= sizes[0] < sizes[1] / 3


def test_several_cards_take_what_the_smallest_holds() -> None:
    model = loaded(tiny_causal("llama"))
    memories = [CountedMemory(model.network, free, a_place=1000) for free in (40 * MIB, 10 * MIB, 20 * MIB)]
    assert measured(model, "tree", 30, *memories) == measured(model, "tree", 30, memories[1]) == 8192


def test_a_card_too_small_to_measure_gives_no_budget() -> None:
    model = loaded(tiny_causal("llama"))
    assert measured(model, "tree", 30, CountedMemory(model.network, 1000)) is None


def test_other_errors_of_a_measured_pass_are_raised() -> None:
    model = loaded(tiny_causal("llama"))
    memory = CountedMemory(model.network, MIB)
    model.network.register_forward_pre_hook(lambda network, args: (_ for _ in ()).throw(RuntimeError("broken")))
    with pytest.raises(RuntimeError, match="broken"):
        measured(model, "tree", 30, memory)


def test_rows_are_no_longer_than_the_models_positions() -> None:
    model = loaded(tiny_causal("gpt2"))  # learned positions: a longer row would fail
    memory = CountedMemory(model.network, 10 * MIB)
    assert measured(model, "padded", 200, memory) == 8192
    assert max(width for _, width in memory.shapes) <= MAX_POSITIONS


@pytest.mark.parametrize(("longest", "width"), [(0, 16), (16, 16), (17, 32), (600, 1024)])
def test_the_width_is_a_power_of_two_that_holds_the_longest(longest: int, width: int) -> None:
    assert row_width(loaded(tiny_causal("llama")), "padded", longest) == width
    assert row_width(masked_model(), "masked", longest) == min(width, 128)


def test_a_model_on_a_cpu_lies_on_no_card() -> None:
    assert memories_of(loaded(tiny_causal("llama"))) == []


@pytest.fixture
def model(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    return load_model(str(save_tiny_model(tmp_path / "tiny")))


@pytest.fixture
def found(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Way]:
    """The way that is found where the model is on a card with so many free bytes."""

    def find(free: int, size: int = 0, **options: Any) -> Way:
        # 1,000 bytes a place; a pass of any size goes well, since only what is free differs.
        memory = CountedMemory(model.network, 2**60)
        memory.free = lambda: free  # type: ignore[method-assign]
        memory.size = size or free
        monkeypatch.setattr("calprobe.scoring.fit.memories_of", lambda model: [memory])
        asked = ScoreOptions(**options)
        return find_way(model, select(PROBE, asked), asked)

    return find


def test_a_budget_of_a_free_card_is_remembered_and_wins_over_what_is_free_later(found: Callable[..., Way]) -> None:
    assert found(10 * MIB) == Way("tree", 8192, "measured")
    assert found(40 * MIB) == Way("tree", 8192, "remembered")
    assert found(1 * MIB) == Way("tree", 8192, "remembered")


def test_a_budget_of_a_busy_card_holds_for_that_run_alone(found: Callable[..., Way]) -> None:
    assert found(10 * MIB, size=40 * MIB) == Way("tree", 8192, "measured")
    assert not budgets_file().exists()
    assert found(40 * MIB) == Way("tree", 32768, "measured")
    assert list(json.loads(budgets_file().read_text()).values()) == [32768]


def test_a_typed_budget_is_taken_and_not_remembered(found: Callable[..., Way]) -> None:
    assert found(10 * MIB, batch_tokens=100) == Way("tree", 100, "typed")
    assert found(40 * MIB).batch_tokens == 32768


def test_on_a_cpu_the_budget_is_computed_and_not_remembered(model: LoadedModel) -> None:
    assert find_way(model, select(PROBE, ScoreOptions()), ScoreOptions()) == Way("tree", 1024, "computed")
    assert not budgets_file().exists()


def test_shards_are_grouped_by_the_usual_budget_whatever_was_found(found: Callable[..., Way]) -> None:
    assert found(0.1 * MIB, shard="1/2") == Way("tree", 64, "measured", grouped_by=1024)
    assert found(40 * MIB, shard="1/2", batch_tokens=100) == Way("tree", 100, "typed")
