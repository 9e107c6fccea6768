"""gated_unit: kernel and reference against float64, over every block edge; a row's bits, whatever is beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch.nn import functional as F

from calprobe.kernels import gated_unit, gated_unit_reference
from calprobe.kernels.arguments import Gate
from calprobe.kernels.gated_unit_triton import gated_unit_triton
from calprobe.kernels.tiles import WIDEST_GATE, row_tiles

Unit = Callable[[Tensor, Tensor, Gate], Tensor]
BOTH = pytest.mark.parametrize("unit", [gated_unit_reference, gated_unit_triton])
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
GATES = pytest.mark.parametrize("activation", get_args(Gate))
ENDS = (0.0, -0.0, 1e-20, 90.0, -90.0, 3e4, -3e4)  # of what float16 holds, and where exponentials overflow


def gate_and_up(
    *shape: int, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(sum(shape))
    gate, up = (torch.randn(shape, generator=rng).to(device, dtype) for _ in range(2))
    return gate.mul_(3), up


def in_float64(gate: Tensor, up: Tensor, activation: Gate) -> Tensor:
    wide = gate.double()
    bent = wide if activation == "silu" else (8 / torch.pi) ** 0.5 * (wide + 0.044715 * wide**3)
    return wide * torch.sigmoid(bent) * up.double()


def plain(gate: Tensor, up: Tensor, activation: Gate) -> Tensor:
    """As models write it: two kernels, each rounding to the dtype."""
    return (F.silu(gate) if activation == "silu" else F.gelu(gate, approximate="tanh")) * up


def assert_as_exact_as_plain(unit: Unit, gate: Tensor, up: Tensor, activation: Gate) -> None:
    truth, got = in_float64(gate, up, activation), unit(gate, up, activation)
    assert (got.shape, got.dtype) == (gate.shape, gate.dtype)
    errors = [(found.double() - truth).abs() for found in (got, plain(gate, up, activation))]
    near = 2.0**-22 * truth.abs().clamp(min=1e-6)  # two float32 roundings: of the exponential, and of the quotient
    assert (errors[0] - near).max() <= 1.01 * errors[1].max()
    assert (errors[0] - near).mean() <= 1.01 * errors[1].mean()
    if gate.dtype != torch.float32:  # below, torch's 1 + tanh has lost digits
        same = (got == plain(gate, up, activation))[gate > -2]
        assert same.double().sum() >= 0.998 * same.numel()


@BOTH
@DTYPES
@GATES
@pytest.mark.parametrize("width", [1, WIDEST_GATE - 1, WIDEST_GATE, 2 * WIDEST_GATE + 5])
def test_over_widths(unit: Unit, width: int, activation: Gate, dtype: torch.dtype, device: torch.device) -> None:
    assert_as_exact_as_plain(unit, *gate_and_up(3, width, dtype=dtype, device=device), activation)


@BOTH
@GATES
@pytest.mark.parametrize("n", [1, 31, 32, 67])
def test_over_rows(unit: Unit, n: int, activation: Gate, device: torch.device) -> None:
    assert row_tiles(64, WIDEST_GATE).rows == 32
    assert_as_exact_as_plain(unit, *gate_and_up(n, 64, device=device), activation)


@BOTH
@DTYPES
@GATES
def test_far_from_zero(unit: Unit, activation: Gate, dtype: torch.dtype, device: torch.device) -> None:
    gate = torch.cat([torch.linspace(-30, 30, 1001), torch.tensor(ENDS)]).to(device, dtype)
    assert_as_exact_as_plain(unit, gate, torch.ones_like(gate), activation)


@BOTH
def test_a_case_computed_by_hand(unit: Unit, device: torch.device) -> None:
    gate = torch.tensor([0.0, torch.tensor(3.0).log(), -torch.tensor(3.0).log()], device=device)  # 1/2, 3/4, 1/4
    up = torch.tensor([7.0, 4.0, -4.0], device=device)
    torch.testing.assert_close(unit(gate, up, "silu") / gate[1], torch.tensor([0.0, 3.0, 1.0], device=device))
    one = torch.ones(1, device=device)
    torch.testing.assert_close(unit(one, 2 * one, "gelu_tanh").cpu(), torch.tensor([1.6823840]))


@GATES
@DTYPES
def test_a_row_has_the_same_bits_in_every_batch(activation: Gate, dtype: torch.dtype, device: torch.device) -> None:
    gate, up = gate_and_up(9, 2 * WIDEST_GATE + 8, dtype=dtype, device=device)
    together = gated_unit_triton(gate, up, activation)
    for i in (0, 4, 8):
        assert torch.equal(gated_unit_triton(gate[i], up[i], activation), together[i])
        assert torch.equal(gated_unit_triton(gate[i:], up[i:], activation), together[i:])
    assert torch.equal(gated_unit_triton(gate.flip(0), up.flip(0), activation).flip(0), together)


@GATES
def test_halves_of_one_array_and_arrays_with_gaps(activation: Gate, device: torch.device) -> None:
    gate, up = gate_and_up(2, 5, 100, device=device)
    expected = gated_unit_triton(gate, up, activation)
    halves = torch.cat([gate, up], 2).chunk(2, dim=-1)
    apart = torch.stack([gate, up], 3).unbind(3)
    for gates, ups in (halves, apart, (halves[0], up), (gate.mT.contiguous().mT, up)):
        got = gated_unit_triton(gates, ups, activation)
        assert got.is_contiguous()
        assert torch.equal(got, expected)


@BOTH
@GATES
def test_nan_stays_at_its_place(unit: Unit, activation: Gate, device: torch.device) -> None:
    gate, up = (
        torch.tensor(values, device=device) for values in ([torch.nan, 1.0, 1.0, 1.0], [1.0, torch.nan, 1.0, 2])
    )
    assert unit(gate, up, activation).isnan().tolist() == [True, True, False, False]


@BOTH
def test_no_rows(unit: Unit, device: torch.device) -> None:
    assert unit(*(torch.empty(2, 0, 8, device=device) for _ in range(2)), "silu").shape == (2, 0, 8)


def test_a_cuda_tensor_goes_to_the_kernel() -> None:
    with FakeTensorMode():  # tensors that say they are on a card, and need none
        gate, up = (torch.empty(2, 8, device="cuda") for _ in range(2))
        launch = "calprobe.kernels.gated_unit_triton.gated_unit_triton"
        with patch(launch) as kernel, patch("torch.cuda.get_device_capability", return_value=(8, 0)):
            assert gated_unit(gate, up, "silu") is kernel.return_value


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no axis": ({"gate": torch.tensor(1.0)}, r"gate must have rows of at least one value, got shape \[\]"),
    "float64": ({"gate": torch.ones(2, 8).double()}, "gate must be float32, bfloat16 or float16, got torch.float64"),
    "shape": ({"up": torch.ones(2, 7)}, r"up must be \[2, 8\] as gate is, got \[2, 7\]"),
    "dtypes": ({"up": torch.ones(2, 8).half()}, "up must have gate's dtype torch.float32, got torch.float16"),
    "activation": ({"activation": "relu"}, "activation must be silu or gelu_tanh, got 'relu'"),
    "device": ({"up": torch.ones(2, 8, device="meta")}, "up must be on gate's device cpu, got meta"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gated_unit(**{"gate": torch.ones(2, 8), "up": torch.ones(2, 8), "activation": "silu"} | change)
