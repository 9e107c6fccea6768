"""Budgets that were found, from one run to the next."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_models import loaded, tiny_causal

from calprobe.scoring.remembered import RememberedBudget, budgets_file


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_kept_is_recalled_under_its_own_key_alone(cache: Path) -> None:
    one, other = RememberedBudget("one"), RememberedBudget("other")
    assert one.recall() is None
    one.keep(512)
    other.keep(64)
    assert (one.recall(), other.recall()) == (512, 64)
    one.lower(1024)
    assert one.recall() == 512
    one.lower(256)
    assert one.recall() == 256
    assert [file.name for file in cache.iterdir()] == ["budgets.json"]


def test_the_key_has_what_decides_how_much_fits() -> None:
    model = loaded(tiny_causal("llama"))
    key = RememberedBudget.of(model, "tree", 512).key
    device, weights, path, width = key.replace(", rows", "; rows").split("; ")
    assert device.endswith(" MiB")
    assert weights.startswith("LlamaForCausalLM, ")
    assert weights.endswith(" parameters, float32, sdpa")
    assert (path, width) == ("tree", "rows of 512")
    others = [
        RememberedBudget.of(model, "padded", 512),
        RememberedBudget.of(model, "tree", 1024),
        RememberedBudget.of(loaded(tiny_causal("llama"), dtype="bfloat16"), "tree", 512),
        RememberedBudget.of(loaded(tiny_causal("gpt2")), "tree", 512),
    ]
    assert len({key, *(other.key for other in others)}) == 5


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"one": "many"}', '{"one": -5}', '{"one": true}', "\udce4"])
def test_a_damaged_file_is_as_if_it_were_not_there(text: str) -> None:
    budgets_file().parent.mkdir()
    budgets_file().write_bytes(text.encode("utf-8", "surrogateescape"))
    budget = RememberedBudget("one")
    assert budget.recall() is None
    budget.keep(128)
    assert budget.recall() == 128


def test_a_folder_that_cannot_be_written_is_no_error(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    RememberedBudget("one").keep(128)
    assert RememberedBudget("one").recall() is None
