"""rotary: kernel and reference give the bits of the steps in which models write it, over every block edge and rule."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode

from calprobe.kernels import RotaryRule, rotary, rotary_reference
from calprobe.kernels.rotary_triton import rotary_sizes, rotary_triton

Turn = Callable[[Tensor, Tensor, Tensor, RotaryRule], Tensor]
BOTH = pytest.mark.parametrize("turn", [rotary_reference, rotary_triton])
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
RULES = [RotaryRule(*flags) for flags in product((False, True), repeat=3)]
HALVES = RotaryRule()


def heads_and_angles(
    batch: int,
    n_heads: int,
    places: int,
    width: int,
    turned: int,
    *,
    dtype: torch.dtype = torch.float32,
    angles: torch.dtype | None = None,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, Tensor, Tensor]:
    """Random heads as attention layers have them ([B, N, H, D] in memory), and an angle of its own for each value."""
    rng = torch.Generator().manual_seed(width + places)
    x = torch.randn(batch, places, n_heads, width, generator=rng).transpose(1, 2)
    phi = 7 * torch.randn(batch, places, turned, generator=rng)
    return x.to(device, dtype), *(f(phi).to(device, angles or dtype) for f in (torch.cos, torch.sin))


def as_models(x: Tensor, cos: Tensor, sin: Tensor, rule: RotaryRule) -> Tensor:
    """The plain path: each value times its cosine, and its signed partner times its sine."""
    turned = cos.shape[-1]
    place = torch.arange(turned, device=x.device)
    half = turned // 2
    if rule.neighbours:
        partner, sign, pair = place ^ 1, place % 2 * 2 - 1, place // 2
    else:
        partner, sign, pair = (place + half) % turned, torch.where(place < half, -1, 1), place % half
    if rule.angle_of_pair:
        cos, sin = cos[..., pair], sin[..., pair]
    head = x[..., :turned].float() if rule.rounds_last else x[..., :turned]
    swapped = head[..., partner] * sign.to(head.dtype)
    found = (head * cos[:, None] + swapped * sin[:, None]).to(x.dtype)
    return torch.cat([found, x[..., turned:]], -1)


@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize(("width", "turned"), [(64, 64), (80, 32), (10, 6)])
def test_the_bits_are_those_of_a_model_s_steps(
    turn: Turn, rule: RotaryRule, width: int, turned: int, dtype: torch.dtype, device: torch.device
) -> None:
    angles = torch.float32 if rule.rounds_last and width == 80 else dtype
    given = heads_and_angles(2, 3, 7, width, turned, dtype=dtype, angles=angles, device=device)
    got = turn(*given, rule)
    assert (got.shape, got.dtype) == (given[0].shape, dtype)
    assert torch.equal(got, as_models(*given, rule))


@BOTH
@DTYPES
@pytest.mark.parametrize("width", [64, 96, 128, 256, 258])
def test_over_widths_of_heads(turn: Turn, width: int, dtype: torch.dtype, device: torch.device) -> None:
    x, cos, sin = heads_and_angles(1, 2, 3, width, width, dtype=dtype, device=device)
    got, plain = turn(x, cos, sin, HALVES), as_models(x, cos, sin, HALVES)
    assert torch.equal(got, plain)
    truth = as_models(x.double(), cos.double(), sin.double(), HALVES)
    assert (got.double() - truth).abs().max() <= (plain.double() - truth).abs().max()


@BOTH
@pytest.mark.parametrize(("n_heads", "places"), [(1, 1), (1, 31), (1, 32), (1, 33), (8, 9), (33, 2), (71, 1)])
def test_over_heads_and_places(turn: Turn, n_heads: int, places: int, device: torch.device) -> None:
    assert rotary_sizes(n_heads, 64, 64)["BLOCK_ROWS"] == 32
    given = heads_and_angles(2, n_heads, places, 64, 64, dtype=torch.float16, device=device)
    assert torch.equal(turn(*given, HALVES), as_models(*given, HALVES))


@BOTH
def test_a_quarter_turn_by_hand(turn: Turn, device: torch.device) -> None:
    x = torch.arange(1.0, 7.0, device=device).view(1, 1, 1, 6)
    cos, sin = torch.zeros(1, 1, 4, device=device), torch.ones(1, 1, 4, device=device)
    expected = {False: [-3.0, -4.0, 1.0, 2.0, 5.0, 6.0], True: [-2.0, 1.0, -4.0, 3.0, 5.0, 6.0]}
    for neighbours, values in expected.items():
        assert turn(x, cos, sin, RotaryRule(neighbours)).flatten().tolist() == values
    cos, sin = (torch.tensor(values, device=device).view(1, 1, 4) for values in ([1.0, 0, 9, 9], [0.0, 1, 9, 9]))
    by_pair = turn(x, cos, sin, RotaryRule(angle_of_pair=True))  # only the second pair is turned
    assert by_pair.flatten().tolist() == [1.0, -4.0, 3.0, 2.0, 5.0, 6.0]


@DTYPES
def test_a_head_has_the_same_bits_in_every_batch(dtype: torch.dtype, device: torch.device) -> None:
    x, cos, sin = heads_and_angles(3, 5, 9, 64, 48, dtype=dtype, device=device)
    together = rotary_triton(x, cos, sin, HALVES)
    for i in range(3):
        one = slice(i, i + 1)
        assert torch.equal(rotary_triton(x[one], cos[one], sin[one], HALVES), together[one])
        cut = rotary_triton(x[one, 1:3, i:], cos[one, i:], sin[one, i:], HALVES)
        assert torch.equal(cut, together[one, 1:3, i:])


def test_one_row_of_angles_for_all(device: torch.device) -> None:
    x, cos, sin = heads_and_angles(3, 2, 5, 64, 64, device=device)
    for turn in (rotary_triton, rotary_reference):
        each = turn(x, cos[:1].expand(3, -1, -1), sin[:1].expand(3, -1, -1), HALVES)
        assert torch.equal(turn(x, cos[:1], sin[:1], HALVES), each)


def test_heads_lie_in_memory_as_before_and_may_have_gaps(device: torch.device) -> None:
    x, cos, sin = heads_and_angles(2, 3, 5, 64, 64, device=device)
    expected = rotary_triton(x, cos, sin, HALVES)
    assert expected.stride() == x.stride() != x.contiguous().stride()
    gaps = torch.cat([x, x], -1).transpose(1, 2).contiguous().transpose(1, 2)[..., :64]  # a part of one product
    for heads in (x.contiguous(), gaps, x.mT.contiguous().mT, torch.stack([x, x], -1)[..., 0]):
        assert torch.equal(rotary_triton(heads, cos, sin, HALVES), expected)


@BOTH
def test_nan_and_infinity_stay_in_their_pair(turn: Turn, device: torch.device) -> None:
    x, cos, sin = heads_and_angles(1, 1, 2, 8, 6, device=device)
    x[0, 0, 0, 1], x[0, 0, 1, 7] = torch.nan, torch.inf
    assert turn(x, cos, sin, HALVES).isfinite().logical_not().nonzero()[:, 2:].tolist() == [[0, 1], [0, 4], [1, 7]]


@BOTH
def test_no_places(turn: Turn, device: torch.device) -> None:
    x, cos, sin = heads_and_angles(2, 3, 0, 8, 8, device=device)
    assert turn(x, cos, sin, HALVES).shape == (2, 3, 0, 8)


def test_a_cuda_tensor_goes_to_the_kernel() -> None:
    with FakeTensorMode():  # tensors that say they are on a card, and need none
        x, cos, sin = (torch.empty(*shape, device="cuda") for shape in ((1, 2, 3, 8), (1, 3, 8), (1, 3, 8)))
        launch = "calprobe.kernels.rotary_triton.rotary_triton"
        with patch(launch) as kernel, patch("torch.cuda.get_device_capability", return_value=(8, 0)):
            assert rotary(x, cos, sin, HALVES) is kernel.return_value


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "axes": ({"x": torch.ones(2, 3, 8)}, r"x must have 4 axes, got shape \[2, 3, 8\]"),
    "float64": ({"x": torch.ones(2, 2, 3, 8).double()}, "x must be float32, bfloat16 or float16, got torch.float64"),
    "places": ({"cos": torch.ones(1, 4, 8)}, r"cos must be \[2 or 1, 3, R\] as x's places are, got \[1, 4, 8\]"),
    "odd": ({"cos": torch.ones(1, 3, 5)}, r"cos must have 2 to 8 values, in pairs, got \[1, 3, 5\]"),
    "wide": ({"cos": torch.ones(1, 3, 10)}, r"cos must have 2 to 8 values, in pairs, got \[1, 3, 10\]"),
    "sin": ({"sin": torch.ones(1, 3, 6)}, r"sin must be \[1, 3, 8\] as cos is, got \[1, 3, 6\]"),
    "dtypes": ({"cos": torch.ones(1, 3, 8).half()}, "cos must have the dtype torch.float32, got torch.float16"),
    "of sin": ({"sin": torch.ones(1, 3, 8).half()}, "sin must have cos's dtype torch.float32, got torch.float16"),
    "rounds first": (
        {"x": torch.ones(2, 2, 3, 8).half(), "rule": HALVES},
        "cos must have the dtype torch.float16, got torch.float32",
    ),
    "device": ({"sin": torch.ones(1, 3, 8, device="meta")}, "sin must be on x's device cpu, got meta"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    angles = torch.ones(1, 3, 8)
    given = {"x": torch.ones(2, 2, 3, 8), "cos": angles, "sin": angles, "rule": RotaryRule(rounds_last=True)}
    with pytest.raises(ValueError, match=message):
        rotary(**given | change)
