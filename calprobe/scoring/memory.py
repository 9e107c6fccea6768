"""Out of memory: what is freed then, and how much smaller batches get."""

from __future__ import annotations

import gc
import traceback

import torch


def free_after(error: BaseException) -> None:
    """Free what the failed pass held: the tensors in the frames of its traceback, and torch's cache on a card.

    For an error that goes no further: its traceback shows no values after this.
    """
    seen: set[int] = set()
    failed: BaseException | None = error
    while failed is not None and id(failed) not in seen:
        seen.add(id(failed))
        traceback.clear_frames(failed.__traceback__)
        failed = failed.__cause__ or failed.__context__
    gc.collect()
    torch.cuda.empty_cache()  # does nothing where no card is in use


def smaller_budget(batch_tokens: int, longest: int) -> int | None:
    """Half the budget, but enough for the longest statement; None if it is no more than that already.

    >>> [smaller_budget(tokens, longest=30) for tokens in (100, 50, 30, 8)]
    [50, 30, None, None]
    """
    return None if batch_tokens <= longest else max(longest, batch_tokens // 2)
