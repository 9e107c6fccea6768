"""linear_logprob: kernels and reference against float64, every axis and flag, and what it refuses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, get_args
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from proofs import few_of
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from calprobe.kernels import LogitRule, linear_logprob, linear_logprob_reference
from calprobe.kernels.arguments import triton_takes
from calprobe.kernels.linear_logprob import CARD_TILES, CPU_TILES, ReferenceTiles
from calprobe.kernels.linear_logprob_triton import linear_logprob_triton
from calprobe.kernels.tiles import TileSet, choose_tiles, tile_choices

# Two roundings of a float32 near 64: what summing in another order may add to the plain path's own error.
EPSILON = 2 * 2.0**-18
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
HALVES_AND_IEEE = [tile_choices(dtype, "ieee")[-1] for dtype in (torch.bfloat16, torch.float32)]
SOFTCAP = 9.0


@dataclass(frozen=True)
class Head:
    """The arguments of one call; logits have a standard deviation of about 4 at any D."""

    hidden: Tensor
    weight: Tensor
    targets: Tensor
    offsets: Tensor
    rule: LogitRule = field(default_factory=LogitRule)

    def run(self, function: Callable[..., tuple[Tensor, Tensor]], **options: Any) -> tuple[Tensor, Tensor]:
        return function(self.hidden, self.weight, self.targets, self.offsets, self.rule, **options)


def head(n: int, v: int, d: int, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> Head:
    """Random rows with 0 to 3 targets each, the first row with none when there are others."""
    rng = torch.Generator().manual_seed(n * 1_000_003 + v * 1009 + d)
    hidden = torch.randn(n, d, generator=rng) * 2
    weight = torch.randn(v, d, generator=rng) * 2 / d**0.5
    counts = torch.randint(0, 4, (n,), generator=rng)
    counts[0] = 0 if n > 1 else 2
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    targets = torch.randint(0, v, (int(offsets[-1]),), generator=rng, dtype=torch.int32)
    return Head(hidden.to(device, dtype), weight.to(device, dtype), targets.to(device), offsets.to(device))


def with_flags(case: Head, bias: bool, scale: bool, softcap: bool) -> Head:
    values = torch.linspace(-3, 3, len(case.weight), device=case.weight.device).to(case.weight.dtype)
    rule = LogitRule(values if bias else None, 0.625 if scale else 1.0, SOFTCAP if softcap else None)
    return replace(case, rule=rule)


def plain(case: Head, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The same by materialised logits, in `dtype` throughout: what torch gives who writes the formula down."""
    bias = None if case.rule.bias is None else case.rule.bias.to(dtype)
    logits = F.linear(case.hidden.to(dtype), case.weight.to(dtype), bias) * case.rule.scale
    if case.rule.softcap is not None:
        logits = case.rule.softcap * torch.tanh(logits / case.rule.softcap)
    rows = torch.arange(len(logits), device=logits.device).repeat_interleave(case.offsets.diff())
    return logits.logsumexp(1), logits.log_softmax(1)[rows, case.targets.long()]


def assert_as_exact_as_float32(case: Head, results: tuple[Tensor, Tensor]) -> None:
    """Error against float64 no more than the plain path's in *float32*: stricter than in the inputs' own dtype."""
    truth, peer = plain(case, torch.float64), plain(case, torch.float32)
    for got, true, other in zip(results, truth, peer, strict=True):
        assert got.dtype == torch.float32
        assert got.shape == true.shape
        if len(true):
            assert (got - true).abs().max() <= (other - true).abs().max() + EPSILON
    assert (results[1] <= 0).all()


def axis_sizes(block: int) -> list[int]:
    return [1, block - 1, block, 2 * block + 3]


def test_a_case_computed_by_hand() -> None:
    hidden, weight = torch.zeros(2, 8), torch.zeros(3, 8)
    hidden[1, 0], weight[0, 0] = 1.0, 2.0
    lse, logprobs = linear_logprob(hidden, weight, torch.tensor([1, 0, 2]), torch.tensor([0, 1, 3]))
    total = torch.tensor(2.0).exp() + 2
    torch.testing.assert_close(lse, torch.stack([torch.tensor(3.0).log(), total.log()]))
    torch.testing.assert_close(logprobs, torch.stack([-torch.tensor(3.0).log(), 2 - total.log(), -total.log()]))


def shapes() -> list[tuple[torch.dtype, int, int, int]]:
    """Each axis over 1 block's edges, the other two at two blocks and a rest; D in steps of 8."""
    found = []
    for dtype, tiles in zip((torch.bfloat16, torch.float32), HALVES_AND_IEEE, strict=True):
        n, v, d = 2 * tiles.rows + 3, 2 * tiles.vocab + 3, 2 * tiles.dim + 8
        row_counts = sorted({size for choice in tile_choices(dtype, "ieee") for size in axis_sizes(choice.rows)})
        found += [(dtype, rows, v, d) for rows in row_counts]
        found += [(dtype, n, vocab, d) for vocab in axis_sizes(tiles.vocab)]
        found += [(dtype, n, v, dim) for dim in (8, tiles.dim - 8, tiles.dim, d)]
    return list(dict.fromkeys(found))


def at_a_corner(dtype: torch.dtype, n: int, v: int, d: int) -> bool:
    """One row, a vocabulary of one, the least D, or a rest on every axis."""
    tiles = dict(zip((torch.bfloat16, torch.float32), HALVES_AND_IEEE, strict=True))[dtype]
    rests = (n == 2 * tiles.rows + 3) + (v == 2 * tiles.vocab + 3) + (d == 2 * tiles.dim + 8)
    return rests == 3 or (rests == 2 and 1 in (n, v)) or (rests == 2 and d == 8)


@pytest.mark.parametrize(("dtype", "n", "v", "d"), few_of(shapes(), at_a_corner), ids=str)
def test_kernel_over_each_axis(dtype: torch.dtype, n: int, v: int, d: int, device: torch.device) -> None:
    case = head(n, v, d, dtype, device)
    assert_as_exact_as_float32(case, case.run(linear_logprob_triton))


FLAGS = [(dtype, *flags) for dtype in DTYPES for flags in product((False, True), repeat=3)]


@pytest.mark.parametrize(
    ("dtype", "bias", "scale", "softcap"),
    few_of(FLAGS, lambda dtype, *flags: all(flags) or (dtype == torch.float32 and sum(flags) <= 1)),
    ids=str,
)
def test_kernel_with_every_flag(
    dtype: torch.dtype, bias: bool, scale: bool, softcap: bool, device: torch.device
) -> None:
    tiles = tile_choices(dtype, "ieee")[-1]
    case = head(tiles.rows + 3, 2 * tiles.vocab + 3, 2 * tiles.dim + 8, dtype, device)
    case = with_flags(case, bias, scale, softcap)
    assert_as_exact_as_float32(case, case.run(linear_logprob_triton))


def test_kernel_in_three_tf32_products(device: torch.device) -> None:
    case = head(130, 259, 72, torch.float32, device)
    lse, logprobs = case.run(linear_logprob_triton, precision="tf32x3")
    true_lse, true_logprobs = plain(case, torch.float64)
    # What the split drops is 2**-22 of each product; 72 products of logits below 20 add up to less than 1e-4.
    torch.testing.assert_close(lse.double(), true_lse, rtol=0, atol=1e-4)
    torch.testing.assert_close(logprobs.double(), true_logprobs, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "function", few_of([linear_logprob_triton, linear_logprob_reference], lambda own: own is linear_logprob_reference)
)
def test_a_vocabulary_over_16_bits(function: Callable[..., tuple[Tensor, Tensor]], device: torch.device) -> None:
    case = head(17, 66_001, 8, torch.bfloat16, device)  # more than 16 rows: interpreted, larger tiles are quicker
    case = replace(case, targets=torch.full_like(case.targets, 66_000))
    assert_as_exact_as_float32(case, case.run(function))


def test_hidden_states_that_are_a_slice_or_transposed(device: torch.device) -> None:
    case = head(5, 130, 16, device=device)
    expected = case.run(linear_logprob_triton)
    sliced = torch.cat([case.hidden, case.hidden[:, :3]], dim=1)[:, :16]  # rows 19 apart
    for hidden in (sliced, case.hidden.T.contiguous().T):
        got = replace(case, hidden=hidden).run(linear_logprob_triton)
        assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))


@pytest.mark.parametrize("wide", ["hidden", "weight"])
def test_offsets_past_32_bits(wide: str, device: torch.device) -> None:
    n, v = (131, 5) if wide == "hidden" else (3, 131)  # more than one tile of either
    case = head(n, v, 8, torch.bfloat16, device)
    stride = 2**24 + 8  # row 128 starts past 2**31 elements; untouched pages of the array take no memory
    values = getattr(case, wide)
    apart = torch.empty(len(values) * stride, dtype=torch.bfloat16, device=device).as_strided(
        (len(values), 8), (stride, 1)
    )
    apart.copy_(values)
    expected = case.run(linear_logprob_triton)
    got = replace(case, **{wide: apart}).run(linear_logprob_triton)
    assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, from the interpreter: log2(0), NaN
@pytest.mark.parametrize("function", [linear_logprob_triton, linear_logprob_reference])
def test_infinite_logits_and_nan(function: Callable[..., tuple[Tensor, Tensor]], device: torch.device) -> None:
    case = with_flags(head(4, 600, 16, device=device), bias=True, scale=False, softcap=False)
    assert case.rule.bias is not None
    case.rule.bias[:520] = -torch.inf  # the first tiles hold nothing else
    case = replace(case, targets=torch.full_like(case.targets, 599))
    assert_as_exact_as_float32(case, case.run(function))
    case.rule.bias[:] = -torch.inf
    assert (case.run(function)[0] == -torch.inf).all()
    case.rule.bias[:] = 0.0
    case.hidden[1] = torch.nan
    lse, logprobs = case.run(function)
    assert lse.isnan().tolist() == [False, True, False, False]
    assert logprobs.isnan().sum() == case.offsets.diff()[1]


def test_kernel_gives_nan_for_a_target_outside_the_vocabulary(device: torch.device) -> None:
    case = head(1, 5, 8, device=device)
    targets = torch.tensor([-1, 4, 5], device=device)
    _, logprobs = linear_logprob_triton(case.hidden, case.weight, targets, torch.tensor([0, 3], device=device))
    assert logprobs.isnan().tolist() == [True, False, True]


@pytest.mark.parametrize("function", [linear_logprob_triton, linear_logprob_reference, linear_logprob])
def test_nothing_to_score(function: Callable[..., tuple[Tensor, Tensor]], device: torch.device) -> None:
    none = torch.empty(0, dtype=torch.int64, device=device)
    weight = torch.ones(5, 8, device=device)
    lse, logprobs = function(
        torch.ones(0, 8, device=device), weight, none, torch.zeros(1, dtype=torch.int64, device=device)
    )
    assert (lse.shape, logprobs.shape) == ((0,), (0,))
    lse, logprobs = function(
        torch.ones(2, 8, device=device), weight, none, torch.zeros(3, dtype=torch.int64, device=device)
    )
    assert (lse.shape, logprobs.shape) == ((2,), (0,))


@given(
    n=st.integers(1, 1100),
    v=st.integers(1, 4200),
    d=st.integers(1, 5).map(lambda eighths: eighths * 8),
    dtype=st.sampled_from(DTYPES),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_reference_against_float64(n: int, v: int, d: int, dtype: torch.dtype, flags: tuple[bool, bool, bool]) -> None:
    case = with_flags(head(n, v, d, dtype), *flags)
    assert_as_exact_as_float32(case, case.run(linear_logprob_reference))


class Largest(TorchDispatchMode):
    """Remembers the most elements that a result of any torch operation had."""

    elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and not result._is_view():
            self.elements = max(self.elements, result.numel())
        return result


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reference_never_holds_rows_by_vocabulary(dtype: torch.dtype) -> None:
    case = head(1500, 9000, 16, dtype)  # 13.5 M logits
    with Largest() as largest:
        case.run(linear_logprob_reference)
    assert largest.elements <= CPU_TILES.rows * CPU_TILES.vocab


@pytest.mark.parametrize("wide", [False, True], ids=["upcast", "wide products"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reference_in_the_tiles_and_products_of_a_card(
    dtype: torch.dtype, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules[linear_logprob_reference.__module__]
    monkeypatch.setattr(module, "CPU_TILES", ReferenceTiles(64, 100, 32))  # as few tiles of another size
    monkeypatch.setattr(module, "gives_float32", lambda operand: wide and operand.dtype != torch.float32)
    products: list[torch.Size] = []

    def product(rows: Tensor, words: Tensor) -> Tensor:  # torch.mm(.., out_dtype=torch.float32) is for cards
        products.append(words.shape)
        assert rows.dtype == words.dtype == dtype
        return rows.float() @ words.float().T

    monkeypatch.setattr(module, "wide_products", product)
    case = with_flags(head(150, 330, 16, dtype), True, True, False)
    assert_as_exact_as_float32(case, case.run(linear_logprob_reference))
    assert len(products) == (12 if wide and dtype != torch.float32 else 0)  # three tiles of rows, four of words


def test_a_card_s_head_takes_few_launches() -> None:
    rows, vocab = 8192, 256_000  # a batch of gemma-7b
    tiles = -(-rows // CARD_TILES.rows) * -(-vocab // CARD_TILES.vocab)
    assert (tiles, CARD_TILES.rows * CARD_TILES.vocab * 4) == (16, 512 * 2**20)
    assert -(-rows // CPU_TILES.rows) * -(-vocab // CPU_TILES.vocab) == 2000


@pytest.mark.parametrize("error", [TypeError, RuntimeError])
def test_a_torch_that_gives_no_float32_of_short_operands_is_found_out(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules[linear_logprob_reference.__module__]

    def fail(rows: Tensor, words: Tensor) -> Tensor:
        raise error("out_dtype: no such argument, or not in this build")

    module._gives_float32.cache_clear()
    monkeypatch.setattr(module, "wide_products", fail)
    assert module._gives_float32(torch.bfloat16, torch.device("cpu")) is False
    module._gives_float32.cache_clear()
    monkeypatch.setattr(module, "wide_products", lambda rows, words: rows.float() @ words.float().T)
    assert module._gives_float32(torch.bfloat16, torch.device("cpu")) is True
    module._gives_float32.cache_clear()


def test_the_switch_for_bf16_products_is_put_back() -> None:
    switch = getattr(torch.backends.mkldnn, "matmul", None)
    if switch is None:
        pytest.skip("torch before 2.9 has no such switch")
    case = head(3, 9, 8, torch.bfloat16)
    before = switch.fp32_precision
    case.run(linear_logprob_reference)
    assert switch.fp32_precision == before
    with pytest.raises(RuntimeError):
        replace(case, hidden=case.hidden[:, :4]).run(linear_logprob_reference)
    assert switch.fp32_precision == before


def test_a_cuda_tensor_goes_to_the_kernels() -> None:
    with FakeTensorMode():  # tensors that say they are on a card, and need none
        rows = torch.empty(0, 8, device="cuda")
        none, offsets = (torch.empty(n, dtype=torch.int64, device="cuda") for n in (0, 1))
        arguments = (rows, torch.empty(5, 8, device="cuda"), none, offsets)
        launch = "calprobe.kernels.linear_logprob_triton.linear_logprob_triton"
        with patch(launch) as kernels, patch("torch.cuda.get_device_capability") as capability:
            capability.return_value = (8, 6)
            assert linear_logprob(*arguments) is kernels.return_value
            capability.return_value = (7, 5)  # no tensor cores by Triton
            assert not triton_takes(rows)


def test_weights_that_require_gradients_are_taken() -> None:
    case = head(3, 9, 8)
    lse, _ = replace(case, weight=torch.nn.Parameter(case.weight)).run(linear_logprob)
    assert not lse.requires_grad
    assert torch.equal(lse, case.run(linear_logprob)[0])


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "dtypes differ": (
        {"weight": torch.ones(5, 8).half()},
        "weight must have hidden's dtype torch.float32, got torch.float16",
    ),
    "float64": (
        {"hidden": torch.ones(2, 8).double()},
        "hidden must be float32, bfloat16 or float16, got torch.float64",
    ),
    "three axes": ({"hidden": torch.ones(1, 2, 8)}, r"hidden must have 2 axes, got shape \[1, 2, 8\]"),
    "D": ({"hidden": torch.ones(2, 9)}, "hidden's last axis must be a multiple of 8, got 9"),
    "D of weight": ({"weight": torch.ones(5, 16)}, r"weight must be \[vocab, 8\] as hidden is, got \[5, 16\]"),
    "no vocabulary": ({"weight": torch.ones(0, 8)}, "weight must have at least one row, got none"),
    "transposed": ({"weight": torch.ones(8, 5).T}, r"weight's last axis must be contiguous, got strides \(1, 5\)"),
    "rows off 16 bytes": (
        {"weight": torch.ones(5, 9)[:, :8]},
        "weight's rows must be a multiple of 8 apart, got 9",
    ),
    "far apart": ({"hidden": torch.ones(1).expand(8).as_strided((0, 8), (2**23, 1))}, r"less than 2\*\*23 apart"),
    "bias": ({"rule": LogitRule(torch.ones(4))}, r"bias must be \[5\], one a row of weight, got \[4\]"),
    "float targets": ({"targets": torch.ones(3)}, "targets must be int32 or int64, got torch.float32"),
    "target outside": ({"targets": torch.tensor([0, 5, 1])}, r"targets must lie in \[0, 5\), got 0 to 5"),
    "offsets short": (
        {"offsets": torch.tensor([0, 3])},
        r"target_offsets must be \[3\], hidden's rows \+ 1, got \[2\]",
    ),
    "offsets end": ({"offsets": torch.tensor([0, 1, 2])}, "target_offsets must go from 0 to 3, got 0 to 2"),
    "offsets fall": ({"offsets": torch.tensor([0, 4, 3])}, "target_offsets must not fall, got a step of -1"),
    "device": ({"weight": torch.ones(5, 8, device="meta")}, "weight must be on hidden's device cpu, got meta"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    good = Head(torch.ones(2, 8), torch.ones(5, 8), torch.tensor([0, 4, 1]), torch.tensor([0, 1, 3]))
    with pytest.raises(ValueError, match=message):
        replace(good, **change).run(linear_logprob)


@pytest.mark.parametrize(
    ("options", "name"), [({"scale": float("nan")}, "scale"), ({"scale": -1.0}, "scale"), ({"softcap": 0.0}, "softcap")]
)
def test_rules_that_are_refused(options: dict[str, float], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be finite"):
        LogitRule(**options)


def test_small_batches_take_small_tiles() -> None:
    for chosen in get_args(TileSet):
        rows = [choose_tiles(torch.bfloat16, "ieee", n, chosen).rows for n in (1, 16, 17, 64, 65, 10**7)]
        assert rows == [16, 16, 64, 64, 128, 128]


@pytest.mark.parametrize("chosen", ["narrow", "tensor_memory"])
@pytest.mark.parametrize("rows", [5, 40, 200])
def test_every_table_of_tiles_gives_the_same(
    chosen: TileSet, rows: int, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = with_flags(head(rows, 300, 72, torch.bfloat16, device), bias=True, scale=True, softcap=rows > 100)
    monkeypatch.setattr("calprobe.kernels.linear_logprob_triton._tile_set", lambda device: chosen)
    assert_as_exact_as_float32(case, case.run(linear_logprob_triton))
