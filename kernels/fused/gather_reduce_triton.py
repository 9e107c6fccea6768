"""The kernel of `gather_reduce` and its launcher; its module has formulas, shapes and reference."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from calprobe.kernels.arguments import ANSWER, StatementScores
from calprobe.kernels.tiles import FUSING

# One thread a statement: statements have some ten tokens, too few to share among threads, and a thread that adds its
# tokens in order gives the reference's bits. 128 statements fill four warps, and a group of 32,768 makes 256 programs.
BLOCK_STATEMENTS = 128


@triton.jit(do_not_specialize=["n_edges", "n_statements"])
def _gather_reduce_kernel(
    p_edge_logprob,  # [E] float32
    p_edge_of_token,  # [M] int32 or int64
    p_role,  # [M] int8
    p_offset,  # [S + 1] int64
    p_sum,  # [S] float64, written, as are all below
    p_sum_answer,  # [S] float64
    p_n_tokens,  # [S] int32
    p_n_answer,  # [S] int32
    p_first,  # [S] float64
    p_first_role,  # [S] int8
    n_edges,
    n_statements,
    ANSWER_ROLE: tl.constexpr,
    BLOCK_STATEMENTS: tl.constexpr,
):
    o_statement = tl.program_id(0).to(tl.int64) * BLOCK_STATEMENTS + tl.arange(0, BLOCK_STATEMENTS)
    m_statement = o_statement < n_statements
    start = tl.load(p_offset + o_statement, mask=m_statement, other=0)
    end = tl.load(p_offset + o_statement + 1, mask=m_statement, other=0)
    n_tokens = (end - start).to(tl.int32)
    total = tl.zeros([BLOCK_STATEMENTS], tl.float64)
    total_answer = tl.zeros([BLOCK_STATEMENTS], tl.float64)
    n_answer = tl.zeros([BLOCK_STATEMENTS], tl.int32)
    first = tl.full([BLOCK_STATEMENTS], float("nan"), tl.float64)
    for i in range(tl.max(n_tokens, 0)):
        m_token = i < n_tokens
        edge = tl.load(p_edge_of_token + start + i, mask=m_token, other=0)
        inside = (edge >= 0) & (edge < n_edges)
        logprob = tl.load(p_edge_logprob + edge, mask=m_token & inside, other=float("nan")).to(tl.float64)
        in_answer = tl.load(p_role + start + i, mask=m_token, other=-1) == ANSWER_ROLE
        total += tl.where(m_token, logprob, 0.0)
        total_answer += tl.where(in_answer, logprob, 0.0)
        n_answer += in_answer.to(tl.int32)
        # `i == 0` as a tensor: of a plain number Triton 3.2 makes none where it interprets. It compiles to the same.
        first = tl.where(m_token & (start + i == start), logprob, first)
    tl.store(p_sum + o_statement, total, mask=m_statement)
    tl.store(p_sum_answer + o_statement, total_answer, mask=m_statement)
    tl.store(p_n_tokens + o_statement, n_tokens, mask=m_statement)
    tl.store(p_n_answer + o_statement, n_answer, mask=m_statement)
    tl.store(p_first + o_statement, first, mask=m_statement)
    tl.store(p_first_role + o_statement, tl.load(p_role + start, mask=n_tokens > 0, other=-1), mask=m_statement)


def gather_reduce_triton(
    edge_logprobs: Tensor, edge_of_token: Tensor, roles: Tensor, offsets: Tensor
) -> StatementScores:
    """`gather_reduce` by the kernel, on a card or in Triton's interpreter; the arguments are taken as checked."""
    n_statements = len(offsets) - 1

    def empty(dtype: torch.dtype) -> Tensor:
        return torch.empty(n_statements, dtype=dtype, device=edge_logprobs.device)

    real, count = torch.float64, torch.int32
    scores = StatementScores(empty(real), empty(real), empty(count), empty(count), empty(real), empty(torch.int8))
    if n_statements:
        with torch.cuda.device_of(edge_logprobs):
            _gather_reduce_kernel[(triton.cdiv(n_statements, BLOCK_STATEMENTS),)](
                edge_logprobs.contiguous(),
                edge_of_token.contiguous(),
                roles.contiguous(),
                offsets.contiguous(),
                *scores,
                len(edge_logprobs),
                n_statements,
                ANSWER_ROLE=ANSWER,
                BLOCK_STATEMENTS=BLOCK_STATEMENTS,
                **FUSING,
            )
    return scores
