from collections.abc import Callable

import pytest
import torch
from tolerances import product_rounding, rounding
from torch.nn import functional as F

from calprobe.kernels import onednn
from calprobe.kernels.linear_logprob import _logsumexp_
from calprobe.kernels.onednn import (
    STRETCH,
    cut,
    linear,
    linear_in_stretches,
    linear_of_cut,
    onednn_takes,
    stretches_pay,
)

needs_onednn = pytest.mark.skipif(not onednn._there(), reason="torch has no oneDNN here")


@pytest.fixture(autouse=True)
def any_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "_maker", lambda: "")


Linear = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]


def products(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return F.linear(x.double(), weight.double(), None if bias is None else bias.double())


@pytest.mark.parametrize("rows", [(), (0,), (1,), (37,), (2, 3), (2, 0, 3)])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize(
    ("product", "width"),
    [(linear, 72), (linear_in_stretches, 72), (linear_in_stretches, STRETCH), (linear_in_stretches, 2 * STRETCH + 8)],
)
def test_is_the_product_to_float32_rounding(rows: tuple[int, ...], has_bias: bool, product: Linear, width: int) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(*rows, width), torch.randn(40, width)
    bias = torch.randn(40) if has_bias else None
    found = product(x, weight, bias)
    assert found.dtype == torch.float32
    tolerance = product_rounding(x, weight, bias)
    torch.testing.assert_close(found.double(), products(x, weight, bias), rtol=0, atol=tolerance)


@pytest.mark.parametrize("product", [linear, linear_in_stretches])
def test_strides_do_not_matter(product: Linear) -> None:
    torch.manual_seed(1)
    x, weight = torch.randn(9, 2, 400)[:, 1], torch.randn(400, 16).T
    tolerance = product_rounding(x, weight)
    torch.testing.assert_close(product(x, weight, None).double(), products(x, weight, None), rtol=0, atol=tolerance)


def test_long_sums_in_stretches_are_as_exact_as_torchs() -> None:
    torch.manual_seed(3)
    x, weight = torch.randn(256, 1536), torch.randn(64, 1536)
    right = products(x, weight, None)

    def error(found: torch.Tensor) -> float:
        return float((found - right).abs().mean())

    assert error(linear_in_stretches(x, weight)) < 1.1 * error(F.linear(x, weight))


@needs_onednn
@pytest.mark.parametrize(
    ("maker", "family", "isa", "pays"),
    [
        ("AuthenticAMD", 26, "AVX512", True),  # Zen 5
        ("AuthenticAMD", 25, "AVX512", False),  # Zen 4
        ("AuthenticAMD", 25, "AVX2", False),  # Zen 3
        ("AuthenticAMD", 26, "AVX2", False),
        ("GenuineIntel", 26, "AVX512", False),
        ("", 0, "AVX512", False),
    ],
)
def test_stretches_are_for_processors_that_torch_serves_badly(
    maker: str, family: int, isa: str, pays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onednn, "_maker", lambda: maker)
    monkeypatch.setattr(onednn, "_family", lambda: family)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: isa)
    assert stretches_pay(torch.zeros(1)) == pays


@pytest.mark.parametrize(
    ("text", "family"), [("vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 17\n", 26), ("", 0)]
)
def test_the_family_is_read_from_what_linux_says(text: str, family: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "_cpu_info", lambda: text)
    assert onednn._family.__wrapped__() == family


def test_a_processor_of_intel_keeps_torchs_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "_maker", lambda: "GenuineIntel")
    x, weight = torch.randn(70, 200), torch.randn(5, 200)
    assert not onednn_takes(weight)
    assert torch.equal(linear(x, weight), F.linear(x, weight))
    assert torch.equal(linear_in_stretches(x, weight), F.linear(x, weight))


@needs_onednn
@pytest.mark.parametrize("transposed", [False, True])
def test_a_weight_that_was_cut_gives_the_same_bits(transposed: bool) -> None:
    x, weight = torch.randn(70, 2 * STRETCH + 8), torch.randn(24, 2 * STRETCH + 8)
    weight = weight.T.contiguous().T if transposed else weight
    parts = cut(weight)
    assert [part.shape[1] for part in parts] == [STRETCH, STRETCH, 8]
    shares = [part.untyped_storage().data_ptr() == weight.untyped_storage().data_ptr() for part in parts]
    assert shares == [transposed] * 3
    assert torch.equal(linear_of_cut(x, parts), linear_in_stretches(x, weight))


def test_large_and_small_values_keep_float32s_precision() -> None:
    """A product that went through bfloat16 would be off by 0.4 %."""
    torch.manual_seed(2)
    x = torch.randn(256, 576) * torch.logspace(-3, 3, 576)
    weight = torch.randn(128, 576)
    right = products(x, weight, None)
    assert ((linear(x, weight) - right).abs() / right.abs().amax()).max() < 1e-6


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_dtypes_go_to_torch(dtype: torch.dtype) -> None:
    x, weight = torch.randn(3, 8, dtype=dtype), torch.randn(5, 8, dtype=dtype)
    assert not onednn_takes(weight)
    assert torch.equal(linear(x, weight), F.linear(x, weight))


def test_a_torch_needs_onednn_is_served_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    x, weight = torch.randn(3, 8), torch.randn(5, 8)
    assert not onednn_takes(weight)
    assert torch.equal(linear(x, weight), F.linear(x, weight))


@needs_onednn
def test_numbers_of_rows_come_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()

    def product(x: torch.Tensor, weight: torch.Tensor, *_: object) -> torch.Tensor:
        seen.add(len(x))
        return x @ weight.T

    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", product)
    weight = torch.randn(5, 8)
    for rows in range(130):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(linear(x, weight), x @ weight.T, rtol=0, atol=product_rounding(x, weight))
    assert seen == {0, 64, 128, 192}
    for rows in range(1, 4097):
        linear(torch.zeros(rows, 8), weight)
    assert len(seen) == 1 + 16 + 8 + 8
    assert {960, 1024, 1152, 2048, 2304} < seen


@pytest.mark.parametrize("maker", ["", "GenuineIntel"])
def test_both_sums_of_exponentials_are_as_exact_as_torchs(maker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "_maker", lambda: maker)
    logits = torch.randn(64, 2048, generator=torch.Generator().manual_seed(0)) * 8
    logits[0, :2000], logits[1], logits[2, 5] = -torch.inf, -torch.inf, torch.nan
    right = logits.double().logsumexp(1)
    # The sum has 2,048 exponentials of at most 1 and is at least 1 itself; the largest logit is added to its logarithm.
    tolerance = rounding(torch.float32, 2048) + rounding(torch.float32, 1, largest=float(logits[3:].max()))
    torch.testing.assert_close(_logsumexp_(logits.clone()).double(), right, rtol=0, atol=tolerance, equal_nan=True)
