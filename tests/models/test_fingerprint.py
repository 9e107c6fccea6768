"""Fingerprints change when, and only when, the model does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from sample_tokenizers import byte_level

from calprobe.models.fingerprint import SAMPLES, tokenizer_fingerprint, weights_fingerprint


def network(columns: int = 5, dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(columns, 4), torch.nn.BatchNorm1d(4)).to(dtype)


def test_the_same_weights_give_the_same_fingerprint() -> None:
    assert weights_fingerprint(network()) == weights_fingerprint(network())
    assert len(weights_fingerprint(network())) == 64


def test_any_value_of_a_small_tensor_counts() -> None:
    first = weights_fingerprint(network())
    for row in range(4):
        for column in range(5):
            changed = network()
            with torch.no_grad():
                changed[0].weight[row, column] += 1e-6
            assert weights_fingerprint(changed) != first


def test_buffers_names_and_dtypes_count() -> None:
    first = weights_fingerprint(network())
    moved = network()
    moved[1].running_mean += 1
    assert weights_fingerprint(moved) != first
    assert weights_fingerprint(network(dtype=torch.bfloat16)) != first
    assert weights_fingerprint(torch.nn.Sequential(torch.nn.Identity(), *network())) != first


@pytest.mark.parametrize("dtype", ["float4_e2m1fn_x2", "float8_e4m3fn", "float8_e8m0fnu"])
def test_weights_of_a_byte_or_less_count(dtype: str) -> None:
    if not hasattr(torch, dtype):
        pytest.skip(f"this torch has no {dtype}")

    def stored(value: int) -> torch.nn.Module:
        module, values = torch.nn.Module(), torch.arange(12, dtype=torch.uint8).reshape(3, 4)
        values[2, 3] = value
        module.register_buffer("weight", values.view(getattr(torch, dtype)))
        return module

    assert weights_fingerprint(stored(11)) == weights_fingerprint(stored(11))
    assert weights_fingerprint(stored(11)) != weights_fingerprint(stored(12))


def test_a_large_tensor_is_sampled_from_end_to_end() -> None:
    large = torch.nn.Linear(SAMPLES, 3, bias=False)
    first = weights_fingerprint(large)
    for place in ((0, 0), (2, SAMPLES - 1)):
        with torch.no_grad():
            large.weight[place] += 1
        changed = weights_fingerprint(large)
        assert changed != first
        first = changed


def test_a_transposed_tensor_is_read_in_its_own_order() -> None:
    plain, transposed = network(), network()
    transposed[0].weight = torch.nn.Parameter(plain[0].weight.detach().t().contiguous().t())
    assert not transposed[0].weight.is_contiguous()
    assert weights_fingerprint(transposed) == weights_fingerprint(plain)


def test_scalars_empty_tensors_and_tensors_without_storage() -> None:
    odd = torch.nn.Module()
    odd.register_buffer("scalar", torch.tensor(2.5))
    odd.register_buffer("nothing", torch.zeros(0, 3))
    odd.register_buffer("elsewhere", torch.zeros(4, device="meta"))
    assert len(weights_fingerprint(odd)) == 64


def test_files_stand_for_weights_without_storage_and_only_for_them(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"one")
    offloaded = network().to("meta")
    first, here = weights_fingerprint(offloaded, [tmp_path]), weights_fingerprint(network(), [tmp_path])
    (tmp_path / "notes.txt").touch()
    assert weights_fingerprint(offloaded, [tmp_path]) == first
    os.utime(tmp_path / "model.safetensors", ns=(1, 1))
    assert weights_fingerprint(offloaded, [tmp_path]) != first
    assert weights_fingerprint(network(), [tmp_path]) == here == weights_fingerprint(network())


def test_the_last_call_of_a_tokenizer_leaves_its_fingerprint_alone() -> None:
    tokenizer = byte_level()
    first = tokenizer_fingerprint(tokenizer)
    tokenizer(["the", "the Paris"], padding=True, truncation=True, max_length=2)
    assert tokenizer_fingerprint(tokenizer) == first


def test_vocabulary_and_special_tokens_count() -> None:
    first = tokenizer_fingerprint(byte_level())
    assert tokenizer_fingerprint(byte_level(merged=False)) != first
    other_bos = byte_level()
    other_bos.bos_token = "</s>"
    assert tokenizer_fingerprint(other_bos) != first
