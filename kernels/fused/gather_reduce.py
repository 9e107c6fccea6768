"""Scores of distinct edges to scores of statements, in one pass: gather each token's edge score, reduce over tokens.

    logprob[i]     = edge_logprobs[edge_of_token[i]]
    sum[s]         = sum of logprob[i]            for offsets[s] <= i < offsets[s + 1]
    sum_answer[s]  = the same over roles[i] == ANSWER
    first[s]       = logprob[offsets[s]]

An edge is a distinct pair of a state and a token that is scored there; many tokens of many statements share one. Means
are left to the caller: sum / n_tokens and sum_answer / n_answer, NaN over no tokens.

Shapes: edge_logprobs [E] float32, edge_of_token [M] int32 or int64, roles [M] int8, offsets [S + 1] int64 -> each
output [S]. Sums add float64 values from a statement's first token to its last, in the kernel as in the reference, so
that both give the same bits. NaN in a statement's scores makes the sums that it enters NaN.

The Triton kernel is in `gather_reduce_triton`, which is imported with the first tensor that it takes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from calprobe.kernels.arguments import (
    ANSWER,
    INDICES,
    StatementScores,
    check_axes,
    check_devices,
    check_offsets,
    require,
    triton_takes,
)


def gather_reduce_reference(
    edge_logprobs: Tensor, edge_of_token: Tensor, roles: Tensor, offsets: Tensor
) -> StatementScores:
    """`gather_reduce` in plain torch: the CPU's path."""
    logprobs = edge_logprobs.index_select(0, edge_of_token)
    lengths, in_answer = offsets.diff(), roles == ANSWER
    first = torch.full(lengths.shape, torch.nan, dtype=torch.float64, device=roles.device)
    first_role = torch.full(lengths.shape, -1, dtype=torch.int8, device=roles.device)
    filled = lengths > 0
    starts = offsets[:-1][filled]
    first[filled] = logprobs[starts].double()
    first_role[filled] = roles[starts]
    return StatementScores(
        sum=_segment_sum(logprobs.double(), lengths),
        sum_answer=_segment_sum(logprobs.double().masked_fill_(~in_answer, 0.0), lengths),
        n_tokens=lengths.int(),
        n_answer=_segment_sum(in_answer.double(), lengths).int(),
        first=first,
        first_role=first_role,
    )


def _segment_sum(values: Tensor, lengths: Tensor) -> Tensor:
    """Sum [segments] of consecutive runs of `values`; 0 over an empty run."""
    if values.numel() == 0:
        return torch.zeros(lengths.shape, dtype=values.dtype, device=values.device)
    return torch.segment_reduce(values, "sum", lengths=lengths, initial=0.0)


@torch.no_grad()
def gather_reduce(edge_logprobs: Tensor, edge_of_token: Tensor, roles: Tensor, offsets: Tensor) -> StatementScores:
    """Statement scores from edge scores, formulas above: the kernel on a CUDA device, the reference elsewhere.

    No statements give empty results; a statement without tokens gives sums of 0, first NaN and first_role -1. Raises
    ValueError for shapes, dtypes or devices that do not fit, and on the CPU for edges outside [0, E) or offsets that do
    not ascend from 0 to M. On a card, where checking values would stall it, an edge outside gives NaN, and offsets must
    fit.

    >>> roles = torch.tensor([1, 0, 2], dtype=torch.int8)
    >>> scores = gather_reduce(torch.tensor([-4.0, -1.0]), torch.tensor([1, 1, 0]), roles, torch.tensor([0, 3, 3]))
    >>> scores.sum.tolist(), scores.sum_answer.tolist(), scores.first.tolist()
    ([-6.0, 0.0], [-4.0, 0.0], [-1.0, nan])
    """
    _check(edge_logprobs, edge_of_token, roles, offsets)
    if triton_takes(edge_logprobs):
        from calprobe.kernels.gather_reduce_triton import gather_reduce_triton

        return gather_reduce_triton(edge_logprobs, edge_of_token, roles, offsets)
    return gather_reduce_reference(edge_logprobs, edge_of_token, roles, offsets)


def _check(edge_logprobs: Tensor, edge_of_token: Tensor, roles: Tensor, offsets: Tensor) -> None:
    """Raise ValueError where an argument of `gather_reduce` breaks its contract."""
    check_axes(
        edge_logprobs=(edge_logprobs, 1), edge_of_token=(edge_of_token, 1), roles=(roles, 1), offsets=(offsets, 1)
    )
    require(edge_logprobs.dtype == torch.float32, f"edge_logprobs must be float32, got {edge_logprobs.dtype}")
    require(edge_of_token.dtype in INDICES, f"edge_of_token must be int32 or int64, got {edge_of_token.dtype}")
    require(roles.dtype == torch.int8, f"roles must be int8, got {roles.dtype}")
    n_edges, n_tokens = len(edge_logprobs), len(edge_of_token)
    require(len(roles) == n_tokens, f"roles must be [{n_tokens}] as edge_of_token is, got [{len(roles)}]")
    check_offsets(offsets, "offsets", max(len(offsets) - 1, 0), "statements", n_tokens)
    check_devices(edge_logprobs, "edge_logprobs", {"edge_of_token": edge_of_token, "roles": roles, "offsets": offsets})
    if not edge_of_token.is_cuda and n_tokens:
        low, high = (int(bound) for bound in torch.aminmax(edge_of_token))
        require(low >= 0 and high < n_edges, f"edge_of_token must lie in [0, {n_edges}), got {low} to {high}")
