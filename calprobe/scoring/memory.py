"""Out of memory, on a card or on a CPU, told as one thing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from calprobe.errors import CalprobeError


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed. On a CPU torch says so in the text of a plain RuntimeError only."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


@contextmanager
def memory_explained(what: str, batch_tokens: int) -> Iterator[None]:
    """Inside, a failed allocation becomes a CalprobeError that names `what` and the mend."""
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise CalprobeError(
            f"{what}: out of memory with batches of {batch_tokens} tokens\n"
            f"start over with smaller ones: --no-resume --batch-tokens {max(1, batch_tokens // 4)}"
        ) from error
