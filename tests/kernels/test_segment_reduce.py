"""segment_reduce: kernel and reference against sums by hand, over every block edge."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses import FakeTensorMode

from calprobe.kernels import StatementScores, segment_reduce, segment_reduce_reference
from calprobe.kernels.segment_reduce_triton import BLOCK_STATEMENTS, BLOCK_TOKENS, segment_reduce_triton

Reduce = Callable[[Tensor, Tensor, Tensor], StatementScores]
BOTH = pytest.mark.parametrize("reduce", [segment_reduce_reference, segment_reduce_triton])
ANSWER = 2


def tokens_of(lengths: list[int], device: torch.device | str, dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
    rng = torch.Generator().manual_seed(sum(lengths) * 31 + len(lengths))
    n_tokens = sum(lengths)
    logprobs = -10 * torch.rand(n_tokens, generator=rng)
    roles = torch.randint(0, 3, (n_tokens,), generator=rng, dtype=torch.int8)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    return logprobs.to(device, dtype), roles.to(device), offsets.to(device)


def by_hand(logprobs: Tensor, roles: Tensor, offsets: Tensor) -> list[list[float]]:
    """The six outputs by Python's own sums."""
    bounds = offsets.tolist()
    rows = []
    for start, end in pairwise(bounds):
        scores, roles_here = logprobs[start:end].tolist(), roles[start:end].tolist()
        answer = [score for score, role in zip(scores, roles_here, strict=True) if role == ANSWER]
        first = (scores[0], roles_here[0]) if scores else (float("nan"), -1)
        rows.append([sum(scores), sum(answer), len(scores), len(answer), *first])
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 6


def assert_as_by_hand(reduce: Reduce, tokens: tuple[Tensor, ...]) -> None:
    result = reduce(*tokens)
    expected = by_hand(*(array.cpu() for array in tokens))
    assert [array.dtype for array in result] == [*[torch.float64] * 2, *[torch.int64] * 2, torch.float64, torch.int8]
    for got, column in zip(result, expected, strict=True):
        # 100 tokens of at most 10 nats: float64 sums in any order agree to 1,000 * 2**-52.
        expected_column = torch.tensor(column, dtype=got.dtype)
        torch.testing.assert_close(got.cpu(), expected_column, rtol=0, atol=1e-12, equal_nan=True)


@BOTH
@pytest.mark.parametrize("n_statements", [1, BLOCK_STATEMENTS - 1, BLOCK_STATEMENTS, 2 * BLOCK_STATEMENTS + 5])
def test_over_statements(reduce: Reduce, n_statements: int, device: torch.device) -> None:
    assert_as_by_hand(reduce, tokens_of([(i * 7) % 20 for i in range(n_statements)], device))


@BOTH
@pytest.mark.parametrize("length", [1, BLOCK_TOKENS - 1, BLOCK_TOKENS, 2 * BLOCK_TOKENS + 5])
def test_over_tokens(reduce: Reduce, length: int, device: torch.device) -> None:
    assert_as_by_hand(reduce, tokens_of([length, 0, length, 3], device))


@BOTH
@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]], ids=str)
def test_over_nothing(reduce: Reduce, lengths: list[int], device: torch.device) -> None:
    assert_as_by_hand(reduce, tokens_of(lengths, device))


@BOTH
def test_nan_stays_where_it_belongs(reduce: Reduce, device: torch.device) -> None:
    logprobs, roles, offsets = tokens_of([2, 2], device)
    logprobs[1], roles[:2] = torch.nan, 0
    result = reduce(logprobs, roles, offsets)
    assert result.sum.isnan().tolist() == [True, False]
    assert result.sum_answer[0] == 0.0


def test_a_cuda_tensor_goes_to_the_kernel() -> None:
    with FakeTensorMode():  # tensors that say they are on a card, and need none
        dtypes = (torch.float32, torch.int8, torch.int64)
        tokens = [torch.empty(n, dtype=dtype, device="cuda") for n, dtype in zip((0, 0, 1), dtypes, strict=True)]
        with patch("calprobe.kernels.segment_reduce_triton.segment_reduce_triton") as kernel:
            assert segment_reduce(*tokens) is kernel.return_value


@BOTH
def test_float64_scores(reduce: Reduce, device: torch.device) -> None:
    assert_as_by_hand(reduce, tokens_of([5, 40], device, torch.float64))


@settings(max_examples=50, deadline=None)
@given(lengths=st.lists(st.integers(0, 40), max_size=30))
def test_reference_on_any_lengths(lengths: list[int]) -> None:
    assert_as_by_hand(segment_reduce, tokens_of(lengths, "cpu"))


ROLES = torch.zeros(3, dtype=torch.int8)
REFUSED: dict[str, tuple[tuple[Any, Any, Any], str]] = {
    "roles' dtype": ((torch.ones(3), ROLES.long(), torch.tensor([0, 3])), "roles must be int8, got torch.int64"),
    "lengths": ((torch.ones(4), ROLES, torch.tensor([0, 4])), r"roles must be \[4\] as logprobs is, got \[3\]"),
    "no offset": ((torch.ones(3), ROLES, torch.ones(0).long()), r"offsets must be \[1\], statements \+ 1, got \[0\]"),
    "end": ((torch.ones(3), ROLES, torch.tensor([0, 2])), "offsets must go from 0 to 3, got 0 to 2"),
    "fall": ((torch.ones(3), ROLES, torch.tensor([0, 4, 3])), "offsets must not fall, got a step of -1"),
    "integers": ((torch.ones(3).int(), ROLES, torch.tensor([0, 3])), "logprobs must be floating, got torch.int32"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        segment_reduce(*arguments)
