"""gather_reduce: kernel and reference against loops over float64, over every block edge."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tolerances import rounding
from torch import Tensor
from torch._subclasses import FakeTensorMode

from calprobe.kernels import StatementScores, gather_reduce, gather_reduce_reference
from calprobe.kernels.arguments import ANSWER
from calprobe.kernels.gather_reduce_triton import BLOCK_STATEMENTS, gather_reduce_triton
from calprobe.words import Role

Reduce = Callable[[Tensor, Tensor, Tensor, Tensor], StatementScores]
BOTH = pytest.mark.parametrize("reduce", [gather_reduce_reference, gather_reduce_triton])


class Tokens(NamedTuple):
    """The arguments of one call."""

    edge_logprobs: Tensor
    edge_of_token: Tensor
    roles: Tensor
    offsets: Tensor


def tokens_of(
    lengths: list[int],
    device: torch.device | str = "cpu",
    n_edges: int = 37,
    roles: int = 3,
    dtype: torch.dtype = torch.int32,
) -> Tokens:
    """Random edge scores of all sizes, random edges and roles, as many tokens a statement as `lengths` says."""
    rng = torch.Generator().manual_seed(sum(lengths) * 31 + len(lengths))
    n_tokens = sum(lengths)
    return Tokens(
        (-torch.logspace(-6, 3, n_edges)[torch.randperm(n_edges, generator=rng)]).to(device),
        torch.randint(n_edges, (n_tokens,), generator=rng).to(device, dtype),
        torch.randint(3 - roles, 3, (n_tokens,), generator=rng, dtype=torch.int8).to(device),
        torch.tensor([0, *lengths]).cumsum(0).to(device),
    )


def by_loops(tokens: Tokens) -> StatementScores:
    """The six outputs, each sum a Python loop from a statement's first token to its last."""
    edge_logprobs, edge_of_token, all_roles, bounds = (array.tolist() for array in tokens)
    rows: list[tuple[float, ...]] = []
    for start, end in pairwise(bounds):
        scores, roles = [edge_logprobs[edge] for edge in edge_of_token[start:end]], all_roles[start:end]
        total = total_answer = 0.0
        for score, role in zip(scores, roles, strict=True):
            total += score
            total_answer += score if role == ANSWER else 0.0
        first = (scores[0], roles[0]) if scores else (float("nan"), -1)
        rows.append((total, total_answer, len(scores), roles.count(ANSWER), *first))
    dtypes = (torch.float64, torch.float64, torch.int32, torch.int32, torch.float64, torch.int8)
    columns = list(zip(*rows, strict=True)) or [()] * len(dtypes)
    return StatementScores(*(torch.tensor(column, dtype=of) for column, of in zip(columns, dtypes, strict=True)))


def assert_same_bits(got: StatementScores, expected: StatementScores) -> None:
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=0, atol=0, equal_nan=True)


def assert_same_sums(reduce: Reduce, tokens: Tokens) -> None:
    """As the loops, to the bit; torch's own sums on a card go in another order, all of whose terms have one sign."""
    got, expected = reduce(*tokens), by_loops(tokens)
    if reduce is gather_reduce_reference and tokens.edge_logprobs.is_cuda:
        relative = rounding(torch.float64, 1 + len(tokens.edge_of_token))
        for one, other in zip(got, expected, strict=True):
            torch.testing.assert_close(one.cpu(), other, rtol=relative, atol=0, equal_nan=True)
    else:
        assert_same_bits(got, expected)


def test_the_answers_role_is_that_of_the_statements() -> None:
    assert int(Role.ANSWER) == ANSWER


@BOTH
@pytest.mark.parametrize("n", [1, BLOCK_STATEMENTS - 1, BLOCK_STATEMENTS, 2 * BLOCK_STATEMENTS + 5])
def test_over_statements(reduce: Reduce, n: int, device: torch.device) -> None:
    tokens = tokens_of([(i * 7) % 20 for i in range(n)], device)
    assert_same_sums(reduce, tokens)


@BOTH
@pytest.mark.parametrize("length", [1, 2, 15, 67, 300])
def test_over_tokens(reduce: Reduce, length: int, device: torch.device) -> None:
    tokens = tokens_of([length, 0, length, 3, 1], device)
    assert_same_sums(reduce, tokens)


@BOTH
@pytest.mark.parametrize("n_edges", [1, 127, 128, 70_000])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_over_edges(reduce: Reduce, n_edges: int, dtype: torch.dtype, device: torch.device) -> None:
    tokens = tokens_of([5, 1, 0, 9], device, n_edges, dtype=dtype)
    tokens.edge_of_token[:2] = torch.tensor([n_edges - 1, 0])
    assert_same_sums(reduce, tokens)


@BOTH
@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0], [0] * (BLOCK_STATEMENTS + 1)], ids=len)
@pytest.mark.parametrize("n_edges", [0, 3])
def test_over_no_tokens(reduce: Reduce, lengths: list[int], n_edges: int, device: torch.device) -> None:
    tokens = tokens_of(lengths, device)._replace(edge_logprobs=torch.zeros(n_edges, device=device))
    assert_same_sums(reduce, tokens)


@BOTH
@pytest.mark.parametrize("role", list(Role), ids=lambda role: role.label)
def test_every_role_alone(reduce: Reduce, role: Role, device: torch.device) -> None:
    tokens = tokens_of([4, 0, 1, 12], device)
    tokens.roles.fill_(int(role))
    scores = reduce(*tokens)
    assert_same_bits(scores, by_loops(tokens))
    assert scores.first_role.tolist() == [role, -1, role, role]
    assert scores.n_answer.tolist() == ([4, 0, 1, 12] if role == Role.ANSWER else [0] * 4)


@BOTH
def test_a_case_computed_by_hand(reduce: Reduce, device: torch.device) -> None:
    edges = torch.tensor([-1.0, -0.25, -8.0], device=device)
    edge_of_token = torch.tensor([0, 2, 2, 1], dtype=torch.int32, device=device)
    roles = torch.tensor([1, 0, 2, 2], dtype=torch.int8, device=device)
    got = reduce(edges, edge_of_token, roles, torch.tensor([0, 3, 4], device=device))
    assert [column.tolist() for column in got] == [[-17, -0.25], [-8, -0.25], [3, 1], [1, 1], [-1, -0.25], [1, 2]]


@BOTH
def test_nan_and_infinity_stay_where_they_belong(reduce: Reduce, device: torch.device) -> None:
    edges = torch.tensor([-1.0, torch.nan, -torch.inf], device=device)
    edge_of_token = torch.tensor([0, 1, 0, 2, 0], dtype=torch.int32, device=device)
    roles = torch.tensor([2, 0, 2, 2, 2], dtype=torch.int8, device=device)
    got = reduce(edges, edge_of_token, roles, torch.tensor([0, 2, 4, 5], device=device))
    assert got.sum.isnan().tolist() == [True, False, False]
    assert got.sum_answer.tolist() == [-1.0, -torch.inf, -1.0]


def test_an_edge_outside_gives_nan_in_its_statement_alone(device: torch.device) -> None:
    tokens = tokens_of([2, 2, 1], device)
    tokens.edge_of_token[:4] = torch.tensor([0, 37, 1, 2])
    tokens.edge_of_token[4] = -1
    assert gather_reduce_triton(*tokens).sum.isnan().tolist() == [True, False, True]


@BOTH
def test_arrays_with_gaps(reduce: Reduce, device: torch.device) -> None:
    tokens = tokens_of([3, 8, 0, 5], device)
    assert_same_sums(reduce, Tokens(*(torch.stack([array, array], 1)[:, 0] for array in tokens)))


@given(
    lengths=st.lists(st.integers(0, 40), max_size=30),
    n_edges=st.integers(1, 50),
    roles=st.integers(1, 3),
    data=st.data(),
)
def test_any_statements_in_any_order(lengths: list[int], n_edges: int, roles: int, data: st.DataObject) -> None:
    tokens = tokens_of(lengths, n_edges=n_edges, roles=roles)
    scores = gather_reduce(*tokens)
    assert_same_bits(scores, by_loops(tokens))
    order = data.draw(st.permutations(range(len(lengths))))
    bounds = tokens.offsets.tolist()
    place = torch.tensor([i for s in order for i in range(bounds[s], bounds[s + 1])], dtype=torch.int64)
    offsets = torch.tensor([0, *(lengths[s] for s in order)]).cumsum(0)
    moved = gather_reduce(tokens.edge_logprobs, tokens.edge_of_token[place], tokens.roles[place], offsets)
    expected = StatementScores(*(column[torch.tensor(order, dtype=torch.int64)] for column in scores))
    assert_same_bits(moved, expected)


def test_a_cuda_tensor_goes_to_the_kernel() -> None:
    with FakeTensorMode():  # tensors that say they are on a card, and need none
        dtypes = (torch.float32, torch.int32, torch.int8, torch.int64)
        tokens = [torch.empty(n, dtype=dtype, device="cuda") for n, dtype in zip((0, 0, 0, 1), dtypes, strict=True)]
        launch = "calprobe.kernels.gather_reduce_triton.gather_reduce_triton"
        with patch(launch) as kernel, patch("torch.cuda.get_device_capability", return_value=(8, 0)):
            assert gather_reduce(*tokens) is kernel.return_value


def test_the_environment_chooses_between_kernel_and_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = tokens_of([2])
    with patch("calprobe.kernels.gather_reduce_triton.gather_reduce_triton") as kernel:
        assert gather_reduce(*tokens) is not kernel.return_value
        monkeypatch.setenv("CALPROBE_KERNELS", "triton")
        assert gather_reduce(*tokens) is kernel.return_value
        monkeypatch.setenv("CALPROBE_KERNELS", "reference")
        assert gather_reduce(*tokens) is not kernel.return_value
        monkeypatch.setenv("CALPROBE_KERNELS", "Triton")
        with pytest.raises(ValueError, match="CALPROBE_KERNELS must be triton or reference, got 'Triton'"):
            gather_reduce(*tokens)


def test_a_choice_of_the_kernels_without_triton_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_KERNELS", "triton")
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(ValueError, match=r"CALPROBE_KERNELS=triton needs Triton: pip install triton \(on Linux\)"):
        gather_reduce(*tokens_of([2]))


GOOD = Tokens(torch.ones(2), torch.tensor([0, 1, 1]), torch.zeros(3, dtype=torch.int8), torch.tensor([0, 3]))
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "axes": ({"edge_logprobs": torch.ones(1, 2)}, r"edge_logprobs must have 1 axes, got shape \[1, 2\]"),
    "float64": ({"edge_logprobs": torch.ones(2).double()}, "edge_logprobs must be float32, got torch.float64"),
    "edges' dtype": ({"edge_of_token": torch.ones(3)}, "edge_of_token must be int32 or int64, got torch.float32"),
    "edge too high": ({"edge_of_token": torch.tensor([0, 2, 1])}, r"edge_of_token must lie in \[0, 2\), got 0 to 2"),
    "edge too low": ({"edge_of_token": torch.tensor([0, -1, 1])}, r"edge_of_token must lie in \[0, 2\), got -1 to 1"),
    "roles' dtype": ({"roles": torch.zeros(3).long()}, "roles must be int8, got torch.int64"),
    "lengths": ({"roles": GOOD.roles[:2]}, r"roles must be \[3\] as edge_of_token is, got \[2\]"),
    "no offset": ({"offsets": torch.ones(0).long()}, r"offsets must be \[1\], statements \+ 1, got \[0\]"),
    "offsets' dtype": ({"offsets": torch.tensor([0, 3]).int()}, "offsets must be int64, got torch.int32"),
    "end": ({"offsets": torch.tensor([0, 2])}, "offsets must go from 0 to 3, got 0 to 2"),
    "fall": ({"offsets": torch.tensor([0, 4, 3])}, "offsets must not fall, got a step of -1"),
    "device": ({"roles": GOOD.roles.to("meta")}, "roles must be on edge_logprobs's device cpu, got meta"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gather_reduce(*GOOD._replace(**change))
