"""rms_norm: kernel and reference against float64, over every block edge; a row's bits, whatever is beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode

from calprobe.kernels import rms_norm, rms_norm_reference
from calprobe.kernels.rms_norm_triton import rms_norm_triton
from calprobe.kernels.tiles import WIDEST_NORM, row_tiles

Norm = Callable[..., Tensor]
BOTH = pytest.mark.parametrize("norm", [rms_norm_reference, rms_norm_triton])
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
RULES: dict[str, dict[str, bool]] = {
    "Llama": {"rounds_first": True},
    "OLMo 2": {},
    "Gemma": {"one_plus": True},
}
EPS = 1e-5


def rows_of(*shape: int, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> tuple[Tensor, ...]:
    """Random rows of very different sizes, and a weight near 1."""
    rng = torch.Generator().manual_seed(sum(shape))
    sizes = 10.0 ** torch.linspace(-3, 3, shape[0]).view(-1, *[1] * (len(shape) - 1))
    x = torch.randn(shape, generator=rng) * sizes
    return x.to(device, dtype), (1 + torch.randn(shape[-1], generator=rng) / 4).to(device, dtype)


def in_float64(x: Tensor, weight: Tensor, one_plus: bool = False, rounds_first: bool = False) -> Tensor:
    wide = x.double()
    normed = wide / (wide.square().mean(-1, keepdim=True) + EPS).sqrt()
    return normed * (weight.double() + 1 if one_plus else weight.double())


def as_transformers(x: Tensor, weight: Tensor, one_plus: bool = False, rounds_first: bool = False) -> Tensor:
    """The steps of its classes: the plain path."""
    wide = x.to(torch.float32)
    normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)
    if rounds_first:
        return weight * normed.to(x.dtype)
    return (normed * (1.0 + weight.float() if one_plus else weight.float())).to(x.dtype)


def assert_as_exact_as_plain(norm: Norm, x: Tensor, weight: Tensor, **rule: bool) -> None:
    truth, got = in_float64(x, weight, **rule), norm(x, weight, EPS, **rule)
    assert (got.shape, got.dtype) == (x.shape, x.dtype)
    errors = [(found.double() - truth).abs() for found in (got, as_transformers(x, weight, **rule))]
    # Two float32 roundings apart: one in a mean of other order, one in the root.
    near = 2.0**-22 * truth.abs().max()
    assert errors[0].max() <= 1.01 * errors[1].max() + near
    assert errors[0].mean() <= 1.01 * errors[1].mean() + near


@BOTH
@DTYPES
@pytest.mark.parametrize("width", [1, 127, 128, 2304, 2 * WIDEST_NORM + 5])
def test_over_widths(norm: Norm, width: int, dtype: torch.dtype, device: torch.device) -> None:
    assert_as_exact_as_plain(norm, *rows_of(3, width, dtype=dtype, device=device), rounds_first=True)


@BOTH
@pytest.mark.parametrize("n", [1, 31, 32, 67])
def test_over_rows(norm: Norm, n: int, device: torch.device) -> None:
    assert row_tiles(64, WIDEST_NORM).rows == 32
    assert_as_exact_as_plain(norm, *rows_of(n, 64, device=device))


@BOTH
@DTYPES
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_where_it_rounds(norm: Norm, rule: dict[str, bool], dtype: torch.dtype, device: torch.device) -> None:
    x, weight = rows_of(37, 96, dtype=dtype, device=device)
    assert_as_exact_as_plain(norm, x, weight, **rule)
    if dtype != torch.float32:  # another mean moves a value over an edge of rounding now and then
        assert (norm(x, weight, EPS, **rule) == as_transformers(x, weight, **rule)).double().mean() > 0.998


@BOTH
def test_a_case_computed_by_hand(norm: Norm, device: torch.device) -> None:
    x = torch.tensor([[3.0, -4.0], [0.0, 0.0]], device=device)  # the mean of the squares is 12.5
    weight = torch.tensor([1.0, 0.5], device=device)
    torch.testing.assert_close(norm(x, weight, 1.0).cpu() * 13.5**0.5, torch.tensor([[3.0, -2.0], [0.0, 0.0]]))
    one_plus = norm(x, weight, 1.0, one_plus=True).cpu()
    torch.testing.assert_close(one_plus * 13.5**0.5, torch.tensor([[6.0, -6.0], [0.0, 0.0]]))


@DTYPES
@pytest.mark.parametrize("width", [8, 100, 3072, WIDEST_NORM + 1])
def test_a_row_has_the_same_bits_in_every_batch(width: int, dtype: torch.dtype, device: torch.device) -> None:
    x, weight = rows_of(40 if width < 3072 else 4, width, dtype=dtype, device=device)
    together = rms_norm_triton(x, weight, EPS, rounds_first=True)
    for i in (0, 1, len(x) - 1):
        unaligned = torch.empty(width + 1, dtype=dtype, device=device)[1:].copy_(x[i])
        for alone in (x[i], x[i : i + 1], x[max(i - 1, 0) : i + 1], unaligned):
            assert torch.equal(rms_norm_triton(alone, weight, EPS, rounds_first=True).view(-1, width)[-1], together[i])
    turned = rms_norm_triton(x.flip(0), weight, EPS, rounds_first=True)
    assert torch.equal(turned.flip(0), together)


def test_heads_lie_in_memory_as_before(device: torch.device) -> None:
    x, weight = rows_of(2, 5, 3, 64, device=device)
    heads = x.transpose(1, 2)
    normed = rms_norm_triton(heads, weight, EPS)
    assert normed.stride() == heads.stride()
    assert torch.equal(normed, rms_norm_triton(heads.contiguous(), weight, EPS))


@pytest.mark.parametrize("cut", [lambda x: x[..., ::2], lambda x: x[:, :, :32], lambda x: x.mT, lambda x: x[:, ::2]])
def test_arrays_with_gaps(cut: Callable[[Tensor], Tensor], device: torch.device) -> None:
    x = cut(rows_of(2, 5, 64, device=device)[0])
    weight = rows_of(1, x.shape[-1], device=device)[1]
    assert_as_exact_as_plain(rms_norm_triton, x, weight)
    whole = x.clone(memory_format=torch.contiguous_format)
    assert torch.equal(rms_norm_triton(x, weight, EPS), rms_norm_triton(whole, weight, EPS))


@BOTH
def test_nan_and_infinity_stay_in_their_row(norm: Norm, device: torch.device) -> None:
    x, weight = rows_of(3, 8, device=device)
    x[0, 3], x[1, 4] = torch.nan, torch.inf
    assert norm(x, weight, EPS).isnan().sum(1).tolist() == [8, 1, 0]


@BOTH
def test_no_rows(norm: Norm, device: torch.device) -> None:
    assert norm(torch.empty(2, 0, 8, device=device), torch.ones(8, device=device), EPS).shape == (2, 0, 8)


def test_a_cuda_tensor_goes_to_the_kernel() -> None:
    with FakeTensorMode():  # tensors that say they are on a card, and need none
        x, weight = (torch.empty(*shape, device="cuda") for shape in ((2, 8), (8,)))
        launch = "calprobe.kernels.rms_norm_triton.rms_norm_triton"
        with patch(launch) as kernel, patch("torch.cuda.get_device_capability", return_value=(8, 0)):
            assert rms_norm(x, weight, EPS) is kernel.return_value


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no axis": ({"x": torch.tensor(1.0)}, r"x must have rows of at least one value, got shape \[\]"),
    "no value": ({"x": torch.ones(2, 0)}, r"x must have rows of at least one value, got shape \[2, 0\]"),
    "float64": ({"x": torch.ones(2, 8).double()}, "x must be float32, bfloat16 or float16, got torch.float64"),
    "width": ({"weight": torch.ones(7)}, r"weight must be \[8\] as x's rows are, got \[7\]"),
    "dtypes": ({"weight": torch.ones(8).half()}, "weight must have x's dtype torch.float32, got torch.float16"),
    "eps": ({"eps": -1e-6}, "eps must be finite and >= 0, got -1e-06"),
    "eps is NaN": ({"eps": float("nan")}, "eps must be finite and >= 0, got nan"),
    "device": ({"weight": torch.ones(8, device="meta")}, "weight must be on x's device cpu, got meta"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rms_norm(**{"x": torch.ones(2, 8), "weight": torch.ones(8), "eps": EPS} | change)
