"""Token scores to statement scores, in one pass over the tokens.

    sum[s]         = sum of logprobs[i]            for offsets[s] <= i < offsets[s + 1]
    sum_answer[s]  = the same over roles[i] == ANSWER
    first[s]       = logprobs[offsets[s]]

Means are left to whoever wants them: sum / n_tokens and sum_answer / n_answer, NaN over no tokens.

Shapes: logprobs [tokens] float32, roles [tokens] int8, offsets [statements + 1] int64 -> each output [statements].
Sums accumulate in float64, so that the order and grouping of the tokens show in the last bits of a float64 only.
NaN in a statement's scores makes the sums that it enters NaN.

The Triton kernel is in `segment_reduce_triton`, which is imported with the first CUDA tensor.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from calprobe.kernels.validation import check_segment_reduce

ANSWER = 2  # the value of calprobe.statements.Role.ANSWER; kernels import nothing of calprobe


class StatementScores(NamedTuple):
    """What `segment_reduce` returns; every tensor is [statements]."""

    sum: Tensor  # float64, nats; 0 over no tokens
    sum_answer: Tensor  # float64, nats; 0 over no answer tokens
    n_tokens: Tensor  # int64
    n_answer: Tensor  # int64
    first: Tensor  # float64, nats; NaN where a statement has no token
    first_role: Tensor  # int8; -1 where a statement has no token


def segment_reduce_reference(logprobs: Tensor, roles: Tensor, offsets: Tensor) -> StatementScores:
    """Reduce token scores to statement scores in plain torch; see the module's docstring for the formulas."""
    n_tokens = offsets.diff()
    in_answer = roles == ANSWER
    exact = logprobs.to(torch.float64)
    first = torch.full(n_tokens.shape, torch.nan, dtype=torch.float64, device=logprobs.device)
    first_role = torch.full(n_tokens.shape, -1, dtype=torch.int8, device=logprobs.device)
    filled = n_tokens > 0
    starts = offsets[:-1][filled]
    first[filled] = exact[starts]
    first_role[filled] = roles[starts]
    return StatementScores(
        sum=_segment_sum(exact, n_tokens),
        sum_answer=_segment_sum(exact.masked_fill(~in_answer, 0.0), n_tokens),
        n_tokens=n_tokens,
        n_answer=_segment_sum(in_answer.to(torch.float64), n_tokens).to(torch.int64),
        first=first,
        first_role=first_role,
    )


def _segment_sum(values: Tensor, lengths: Tensor) -> Tensor:
    """Sum [segments] of consecutive runs of `values`; 0 over an empty run."""
    if values.numel() == 0:
        return torch.zeros(lengths.shape, dtype=values.dtype, device=values.device)
    return torch.segment_reduce(values, "sum", lengths=lengths, initial=0.0)


@torch.no_grad()
def segment_reduce(logprobs: Tensor, roles: Tensor, offsets: Tensor) -> StatementScores:
    """Statement scores from token scores, formulas above: the kernel on a CUDA device, the reference elsewhere.

    No statements give empty results; a statement without tokens gives sums of 0, first NaN and first_role -1. Raises
    ValueError for shapes, dtypes or devices that do not fit, and on the CPU for offsets that do not go from 0 to
    [tokens] without falling (on a card, where looking would stall it, they are taken as they are).

    >>> roles = torch.tensor([1, 0, 2], dtype=torch.int8)
    >>> scores = segment_reduce(torch.tensor([-1.0, -2.0, -4.0]), roles, torch.tensor([0, 3, 3]))
    >>> scores.sum.tolist(), scores.sum_answer.tolist(), scores.first.tolist()
    ([-7.0, 0.0], [-4.0, 0.0], [-1.0, nan])
    """
    check_segment_reduce(logprobs, roles, offsets)
    if logprobs.is_cuda:
        from calprobe.kernels.segment_reduce_triton import segment_reduce_triton

        return segment_reduce_triton(logprobs, roles, offsets)
    return segment_reduce_reference(logprobs, roles, offsets)
