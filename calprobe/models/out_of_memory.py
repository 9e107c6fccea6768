"""How it is known that memory ran out, on a card or on a CPU, while a model is loaded or run."""

from __future__ import annotations

import torch

# All that an allocation says that failed on a CPU: torch, the C++ library, oneDNN, the system.
_SAID_ON_CPU = ("can't allocate memory", "not enough memory", "bad_alloc", "could not create a memory", "out of memory")
_SAID_BY_CUDA = ("CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed. Away from torch's own allocator only the text of a RuntimeError says so."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error) for said in (*_SAID_ON_CPU, *_SAID_BY_CUDA))
