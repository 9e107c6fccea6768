import pytest
import torch
from torch.nn import functional as F

from calprobe.kernels.onednn import linear, onednn_takes


def products(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return F.linear(x.double(), weight.double(), None if bias is None else bias.double())


@pytest.mark.parametrize("rows", [(), (0,), (1,), (37,), (2, 3), (2, 0, 3)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_is_the_product_to_float32_rounding(rows: tuple[int, ...], has_bias: bool) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(*rows, 72), torch.randn(40, 72)
    bias = torch.randn(40) if has_bias else None
    found = linear(x, weight, bias)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), products(x, weight, bias), rtol=1e-5, atol=2e-5)


def test_strides_do_not_matter() -> None:
    torch.manual_seed(1)
    x, weight = torch.randn(9, 2, 24)[:, 1], torch.randn(24, 16).T
    torch.testing.assert_close(linear(x, weight).double(), products(x, weight, None), rtol=1e-5, atol=1e-5)


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


def test_a_torch_without_onednn_is_served_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    x, weight = torch.randn(3, 8), torch.randn(5, 8)
    assert not onednn_takes(weight)
    assert torch.equal(linear(x, weight), F.linear(x, weight))


@pytest.mark.skipif(not onednn_takes(torch.zeros(1)), reason="torch has no oneDNN here")
def test_numbers_of_rows_come_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()

    def product(x: torch.Tensor, weight: torch.Tensor, *_: object) -> torch.Tensor:
        seen.add(len(x))
        return x @ weight.T

    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", product)
    weight = torch.randn(5, 8)
    for rows in range(130):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(linear(x, weight), x @ weight.T)
    assert seen == {0, 64, 128, 192}
