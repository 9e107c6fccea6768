"""What goes to a card goes in one buffer: views of it in the right types and shapes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calprobe.scoring.executor import packed, unpacked, uploaded, uploaded_to_both

ARRAYS = [
    np.arange(15, dtype=np.int64).reshape(3, 5),
    np.arange(7, dtype=np.int8),
    np.empty((0, 4), np.int32),
    np.broadcast_to(np.float32(2.5), (2, 3)),  # not contiguous
    np.arange(12, dtype=np.int32).reshape(3, 4).T,
]


def test_arrays_come_out_of_the_buffer_as_they_went_in() -> None:
    buffer = packed(ARRAYS, pinned=False)
    found = unpacked(buffer, ARRAYS)
    assert buffer.dtype == torch.uint8
    for array, tensor in zip(ARRAYS, found, strict=True):
        assert tensor.data_ptr() % 64 == buffer.data_ptr() % 64 or not tensor.numel()
        np.testing.assert_array_equal(tensor.numpy(), array, strict=True)
    assert unpacked(packed([], pinned=False), []) == []


@pytest.mark.parametrize("other", ["cpu", "meta"])
def test_each_array_comes_to_its_device(other: str) -> None:
    cpu = torch.device("cpu")
    first, second = uploaded_to_both(ARRAYS[:2], cpu, ARRAYS[2:3], torch.device(other))
    assert [tensor.device.type for tensor in (*first, *second)] == ["cpu", "cpu", other]
    np.testing.assert_array_equal(first[1].numpy(), ARRAYS[1], strict=True)
    assert uploaded(ARRAYS[:1], cpu)[0].data_ptr() == ARRAYS[0].ctypes.data  # nothing is copied on a CPU
