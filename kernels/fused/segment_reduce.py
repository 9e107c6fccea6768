"""Token scores to statement scores, in one pass over the tokens.

    sum[s]         = sum of logprobs[i]            for offsets[s] <= i < offsets[s + 1]
    sum_answer[s]  = the same over roles[i] == ANSWER
    first[s]       = logprobs[offsets[s]]

Means are left to whoever wants them: sum / n_tokens and sum_answer / n_answer, NaN over no tokens.

Shapes: logprobs [tokens] float32, roles [tokens] int8, offsets [statements + 1] int64 -> each output [statements].
Sums accumulate in float64, so that the order and grouping of the tokens show in the last bits of a float64 only.
NaN in a statement's scores makes the sums that it enters NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from calprobe.kernels.optional_triton import jit, tl, triton
from calprobe.kernels.validation import check_segment_reduce

ANSWER = 2  # the value of calprobe.statements.Role.ANSWER; kernels import nothing of calprobe
BLOCK_STATEMENTS = 64  # of one program; BEAR's 209,499 make 3,274 programs
BLOCK_TOKENS = 16  # read at a time; most statements are shorter, so that one read does


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


@jit
def _segment_reduce_kernel(
    p_logprob,  # [M] floating
    p_role,  # [M] int8
    p_offset,  # [S + 1] int64
    p_sum,  # [S] float64, written, as are all below
    p_sum_answer,  # [S] float64
    p_n_tokens,  # [S] int64
    p_n_answer,  # [S] int64
    p_first,  # [S] float64
    p_first_role,  # [S] int8
    n_statements,
    ANSWER_ROLE: tl.constexpr,
    BLOCK_STATEMENTS: tl.constexpr,
    BLOCK_TOKENS: tl.constexpr,
):  # type: ignore[no-untyped-def]
    o_statement = tl.program_id(0).to(tl.int64) * BLOCK_STATEMENTS + tl.arange(0, BLOCK_STATEMENTS)
    m_statement = o_statement < n_statements
    start = tl.load(p_offset + o_statement, mask=m_statement, other=0)
    end = tl.load(p_offset + o_statement + 1, mask=m_statement, other=0)
    longest = tl.max(end - start, 0)
    total = tl.zeros([BLOCK_STATEMENTS], tl.float64)
    total_answer = tl.zeros([BLOCK_STATEMENTS], tl.float64)
    n_answer = tl.zeros([BLOCK_STATEMENTS], tl.int64)
    for first_token in range(0, longest, BLOCK_TOKENS):
        o_token = start[:, None] + first_token + tl.arange(0, BLOCK_TOKENS)[None, :]
        m_token = o_token < end[:, None]
        logprob = tl.load(p_logprob + o_token, mask=m_token, other=0.0).to(tl.float64)
        in_answer = tl.load(p_role + o_token, mask=m_token, other=-1) == ANSWER_ROLE
        total += tl.sum(logprob, 1)
        total_answer += tl.sum(tl.where(in_answer, logprob, 0.0), 1)
        n_answer += tl.sum(in_answer.to(tl.int64), 1)
    filled = end > start
    first = tl.load(p_logprob + start, mask=filled, other=float("nan")).to(tl.float64)
    tl.store(p_sum + o_statement, total, mask=m_statement)
    tl.store(p_sum_answer + o_statement, total_answer, mask=m_statement)
    tl.store(p_n_tokens + o_statement, end - start, mask=m_statement)
    tl.store(p_n_answer + o_statement, n_answer, mask=m_statement)
    tl.store(p_first + o_statement, first, mask=m_statement)
    tl.store(p_first_role + o_statement, tl.load(p_role + start, mask=filled, other=-1), mask=m_statement)


def segment_reduce_triton(logprobs: Tensor, roles: Tensor, offsets: Tensor) -> StatementScores:
    """`segment_reduce` by the kernel, on a card or in Triton's interpreter; the arguments are taken as checked."""
    n_statements = len(offsets) - 1

    def empty(dtype: torch.dtype) -> Tensor:
        return torch.empty(n_statements, dtype=dtype, device=logprobs.device)

    real, count = torch.float64, torch.int64
    scores = StatementScores(empty(real), empty(real), empty(count), empty(count), empty(real), empty(torch.int8))
    if n_statements:
        with torch.cuda.device_of(logprobs):
            _segment_reduce_kernel[(triton.cdiv(n_statements, BLOCK_STATEMENTS),)](
                logprobs.contiguous(),
                roles.contiguous(),
                offsets.contiguous(),
                *scores,
                n_statements,
                ANSWER_ROLE=ANSWER,
                BLOCK_STATEMENTS=BLOCK_STATEMENTS,
                BLOCK_TOKENS=BLOCK_TOKENS,
            )
    return scores


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
    run = segment_reduce_triton if logprobs.is_cuda else segment_reduce_reference
    return run(logprobs, roles, offsets)
