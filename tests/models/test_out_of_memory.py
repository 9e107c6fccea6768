"""What counts as out of memory."""

from __future__ import annotations

import pytest
import torch

from calprobe.models.memory import is_out_of_memory


def test_a_real_failed_allocation_is_recognised() -> None:
    with pytest.raises(RuntimeError) as failure:
        torch.empty(2**55, dtype=torch.uint8)
    assert is_out_of_memory(failure.value)


@pytest.mark.parametrize(
    ("error", "is_it"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("shape mismatch"), False),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
        (ValueError("can't allocate memory"), False),  # no allocator raises that
    ],
)
def test_what_counts_as_out_of_memory(error: Exception, is_it: bool) -> None:
    assert is_out_of_memory(error) is is_it
