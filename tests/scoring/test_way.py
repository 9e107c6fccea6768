"""How a run's path and budget are found: measured once on a card, and remembered from then on."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_pass_memory import MIB, CountedMemory
from test_score import PROBE
from tiny_models import save_tiny_model

from calprobe.models import LoadedModel, load_model
from calprobe.scoring import ScoreOptions
from calprobe.scoring.selection import select
from calprobe.scoring.way import find_way


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    return load_model(str(save_tiny_model(tmp_path / "tiny")))


def budget(model: LoadedModel, free: int, batch_tokens: int | None = None) -> int:
    options = ScoreOptions(batch_tokens=batch_tokens)
    # 1,000 bytes a place; a pass of any size goes well, since only what is free differs.
    memory = CountedMemory(model.network, 2**60)
    memory.free = lambda: free  # type: ignore[method-assign]
    return find_way(model, select(PROBE, options), options, [memory]).batch_tokens


def test_the_remembered_budget_wins_over_what_is_free_now(model: LoadedModel) -> None:
    assert budget(model, 10 * MIB) == 8192
    assert budget(model, 40 * MIB) == 8192
    assert budget(model, 1 * MIB) == 8192


def test_a_typed_budget_is_taken_and_not_remembered(model: LoadedModel) -> None:
    assert budget(model, 10 * MIB, batch_tokens=100) == 100
    assert budget(model, 40 * MIB) == 32768


def test_a_lowered_budget_is_the_next_runs(model: LoadedModel) -> None:
    options = ScoreOptions()
    way = find_way(model, select(PROBE, options), options)
    assert (way.path, way.batch_tokens) == ("tree", 1024)  # a CPU's
    way.remembered.lower(256)
    assert find_way(model, select(PROBE, options), options).batch_tokens == 256
