"""The token budget that is chosen when the user does not say, and the measured ones that are kept on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_models import loaded, tiny_causal, tiny_masked, tiny_masked_tokenizer

import calprobe
from calprobe.scoring import budget
from calprobe.scoring.budget import RememberedBudget, auto_batch_tokens, budgets_file, vocabulary_size


def test_a_large_vocabulary_limits_full_logits_and_not_the_masked_path() -> None:
    network = tiny_masked("bert")
    model = loaded(network, kind="masked", tokenizer=tiny_masked_tokenizer())
    assert auto_batch_tokens(model) == 1024
    network.set_output_embeddings(torch.nn.Linear(32, 2**20))  # type: ignore[operator]
    assert auto_batch_tokens(model) == auto_batch_tokens(model, "plain") == 2**29 // 2**22
    assert auto_batch_tokens(model, "masked") == 4096


def test_the_vocabulary_counts_padded_rows_and_heads_that_are_no_embedding() -> None:
    causal = tiny_causal("llama")
    causal.set_output_embeddings(torch.nn.Linear(32, 128))  # type: ignore[operator]
    assert vocabulary_size(loaded(causal)) == 128
    assert vocabulary_size(loaded(tiny_masked("deberta-v2-own-head"))) == 260


def test_a_cpu_with_little_memory_takes_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model = loaded(tiny_causal("llama"))
    usual = auto_batch_tokens(model, "tree")
    monkeypatch.setattr(budget, "free_bytes", lambda device: 2**31)
    assert auto_batch_tokens(model, "tree") == usual == 1024
    # The widest layer has 48 values, eight of which are held for a token, in float32: 1,536 bytes.
    monkeypatch.setattr(budget, "free_bytes", lambda device: 2**20)
    assert auto_batch_tokens(model, "tree") == int(2**20 * 0.8) // 1536 == 546
    assert auto_batch_tokens(model, "plain") == int(2**20 * 0.8) // (1536 + 2 * 97 * 4)
    monkeypatch.setattr(budget, "free_bytes", lambda device: 0)
    assert auto_batch_tokens(model, "tree") == 64
    assert auto_batch_tokens(model, "tree", longest=100) == 125


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_kept_is_recalled_under_its_own_key_alone(cache: Path) -> None:
    one, other = RememberedBudget("one"), RememberedBudget("other")
    assert one.recall() is None
    one.keep(512)
    other.keep(64)
    assert (one.recall(), other.recall()) == (512, 64)
    assert [file.name for file in cache.iterdir()] == ["budgets.json"]


def test_the_key_has_what_decides_how_much_fits() -> None:
    model = loaded(tiny_causal("llama"))
    key = RememberedBudget.of(model, "tree", 512).key
    version, device, weights, path, width = key.replace(", rows", "; rows").split("; ")
    assert version == f"calprobe {calprobe.__version__}"
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
def test_a_damaged_file_counts_as_absent(cache: Path, text: str) -> None:
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
