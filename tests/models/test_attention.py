"""Which kernels attention takes: cuDNN is kept out and let in again, and what runs is named."""

from __future__ import annotations

from threading import Event, Thread

import pytest
import torch
from torch.nn import functional as F

from calprobe.models.attention import AttentionSeen, no_cudnn_attention


@pytest.mark.parametrize("before", [True, False])
def test_cudnn_is_kept_out_and_let_in_again_also_after_an_error(before: bool) -> None:
    def fail() -> None:
        with no_cudnn_attention(), no_cudnn_attention():
            assert not torch.backends.cuda.cudnn_sdp_enabled()
            raise ZeroDivisionError

    enabled = torch.backends.cuda.cudnn_sdp_enabled()
    try:
        torch.backends.cuda.enable_cudnn_sdp(before)
        with pytest.raises(ZeroDivisionError):
            fail()
        assert torch.backends.cuda.cudnn_sdp_enabled() is before
    finally:
        torch.backends.cuda.enable_cudnn_sdp(enabled)


def test_blocks_of_two_threads_that_overlap_leave_all_as_it_was() -> None:
    enabled, began, ended = torch.backends.cuda.cudnn_sdp_enabled(), Event(), Event()

    def scores_beside() -> None:
        with no_cudnn_attention():
            began.set()
            ended.wait(10)

    try:
        torch.backends.cuda.enable_cudnn_sdp(True)
        other = Thread(target=scores_beside)
        with no_cudnn_attention():
            other.start()
            began.wait(10)
        assert not torch.backends.cuda.cudnn_sdp_enabled()
        ended.set()
        other.join()
        assert torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(enabled)


def test_the_kernel_that_runs_is_named() -> None:
    query, mask = torch.zeros(1, 2, 8, 16), torch.zeros(1, 1, 8, 8)
    with AttentionSeen() as seen:
        F.linear(query, query[0, 0])
    assert seen.kernels is None
    with AttentionSeen() as seen:
        F.scaled_dot_product_attention(query, query, query, attn_mask=mask)
        F.scaled_dot_product_attention(query, query, query, dropout_p=0.5)  # no fused kernel on a CPU drops
    assert seen.kernels == "flash, math"
