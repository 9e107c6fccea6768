"""tree_attention: kernel and reference against dense attention in float64, over trees, heads and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from proofs import few_of
from random_trees import layout_of, random_parents, seen_in
from tolerances import rounding
from torch import Tensor

from calprobe.kernels import tree_attention, tree_attention_reference
from calprobe.kernels.tree_attention_triton import tree_attention_triton
from calprobe.kernels.tree_layout import AttentionRule, TreeLayout

HALVES = (torch.bfloat16, torch.float16)
# Beside the plain path's own error: two roundings of the output, near 4. In float32 a card sums three products of
# shorter numbers, in another order.
EPSILON = {torch.bfloat16: 2.0**-6, torch.float16: 2.0**-9}
PATH, TREE, BUSH = 0.02, 0.4, 0.8


@dataclass(frozen=True)
class Case:
    """The arguments of one call; scores have a standard deviation of about 2."""

    query: Tensor
    key: Tensor
    value: Tensor
    layout: TreeLayout
    rule: AttentionRule

    def run(self, function: Callable[..., Tensor]) -> Tensor:
        return function(self.query, self.key, self.value, self.layout, self.rule)


def case(
    n_places: int = 100,
    climbs: float = TREE,
    heads: tuple[int, int] = (1, 1),
    dim: int = 64,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    rows: int = 1,
    **rule: Any,
) -> Case:
    rng = torch.Generator().manual_seed(n_places * 1009 + dim)
    layout = layout_of([random_parents(n_places, climbs, seed) for seed in range(rows)], device)
    n_heads, n_key_heads = heads
    query, key, value = (
        # As projections give them: places before heads.
        (torch.randn(rows, n_places, n, dim, generator=rng) * 2**0.5).to(device, dtype).transpose(1, 2)
        for n in (n_heads, n_key_heads, n_key_heads)
    )
    return Case(query, key, value, layout, AttentionRule(**{"scale": dim**-0.5, **rule}))


def dense(given: Case, dtype: torch.dtype) -> Tensor:
    """The same under a mask of all places by all, in `dtype` throughout."""
    group = given.query.shape[1] // given.key.shape[1]
    query = given.query.to(dtype)
    key, value = (each.to(dtype).repeat_interleave(group, 1) for each in (given.key, given.value))
    scores = query @ key.mT * given.rule.scale
    if given.rule.softcap is not None:
        scores = given.rule.softcap * torch.tanh(scores / given.rule.softcap)
    seen = seen_in(given.layout, given.rule.window)
    return (scores.masked_fill(~seen[:, None], -torch.inf).softmax(-1) @ value).transpose(1, 2)


def assert_as_exact_as_plain(given: Case, out: Tensor) -> None:
    truth = dense(given, torch.float64)
    assert (out.shape, out.dtype) == (truth.shape, given.query.dtype)
    plain_error = (dense(given, given.query.dtype).double() - truth).abs().max()
    terms = given.query.shape[-1] + given.query.shape[2]
    in_float32 = rounding(torch.float32, terms, largest=float(given.value.abs().max()))
    assert (out.double() - truth).abs().max() <= plain_error + EPSILON.get(given.query.dtype, in_float32)


SHAPES: dict[str, dict[str, Any]] = {
    "one place": {"n_places": 1},
    "one block": {"n_places": 64},
    "a block and one": {"n_places": 65, "climbs": PATH},
    "a path, more ancestors than a chunk": {"n_places": 130, "climbs": PATH},
    "a bush": {"n_places": 130, "climbs": BUSH},
    "grouped heads": {"heads": (4, 2), "n_places": 66},
    "one key head, two rows": {"heads": (3, 1), "n_places": 70, "rows": 2},
    "soft-cap": {"softcap": 3.0},
    "window": {"window": 3, "climbs": PATH},
    "window longer than a chunk, soft-cap": {"window": 40, "softcap": 5.0, "climbs": PATH},
    "scale": {"scale": 0.5},
    "head of 80": {"dim": 80, "dtype": torch.bfloat16},
    "head of 8": {"dim": 8},
    "head of 128": {"dim": 128, "n_places": 70},
    "head of 128 in bf16": {"dim": 128, "n_places": 70, "dtype": torch.bfloat16},
    "head of 256": {"dim": 256, "n_places": 70},
    "head of 256 in fp16": {"dim": 256, "n_places": 70, "dtype": torch.float16},
    "bf16, soft-cap, window, groups": {
        "dtype": torch.bfloat16, "softcap": 4.0, "window": 20, "heads": (4, 2), "climbs": PATH
    },
    "fp16 over four blocks": {"n_places": 200, "dtype": torch.float16, "climbs": 0.2},
}  # fmt: skip


QUICK = (
    "one place", "a block and one", "a path, more ancestors than a chunk", "a bush", "one key head, two rows",
    "head of 80", "head of 256 in fp16", "bf16, soft-cap, window, groups",
)  # fmt: skip


@pytest.mark.parametrize("name", few_of(SHAPES, QUICK.__contains__))
def test_kernel_against_dense_attention(name: str, device: torch.device) -> None:
    given = case(device=device, **SHAPES[name])
    assert_as_exact_as_plain(given, given.run(tree_attention_triton))


@pytest.mark.parametrize("name", SHAPES)
def test_reference_against_dense_attention(name: str) -> None:
    given = case(**SHAPES[name])
    assert_as_exact_as_plain(given, given.run(tree_attention_reference))


SWEEP = [
    (n_places, climbs, dim, dtype)
    for n_places in (63, 129, 321)
    for climbs in (PATH, TREE, BUSH)
    for dim in (64, 96, 128, 256)
    for dtype in (torch.float32, *HALVES)
]


@pytest.mark.parametrize(("n_places", "climbs", "dim", "dtype"), few_of(SWEEP, lambda *case: case == SWEEP[1]), ids=str)
def test_kernel_over_depths_widths_and_heads(
    n_places: int, climbs: float, dim: int, dtype: torch.dtype, device: torch.device
) -> None:
    given = case(n_places, climbs, (4, 2), dim, dtype, device)
    assert_as_exact_as_plain(given, given.run(tree_attention_triton))


@pytest.mark.parametrize("function", [tree_attention_triton, tree_attention_reference])
def test_nothing_outside_the_path_changes_a_place(function: Callable[..., Tensor], device: torch.device) -> None:
    given = case(climbs=0.7, device=device)
    out = given.run(function)
    place = 90
    unseen = ~seen_in(given.layout, None)[0, place]
    key, value = given.key.clone(), given.value.clone()
    key[:, :, unseen], value[:, :, unseen] = 1e4, torch.inf
    again = replace(given, key=key, value=value.nan_to_num(posinf=1e4)).run(function)
    assert torch.equal(out[:, place], again[:, place])
    assert not torch.equal(out, again)


def test_slices_of_a_fused_projection_are_read_in_place(device: torch.device) -> None:
    given = case(70, heads=(2, 2), device=device)
    fused = torch.cat([given.query, given.key, given.value], 3).transpose(1, 2).contiguous().transpose(1, 2)
    query, key, value = fused.split(64, 3)
    assert not query.is_contiguous()
    out = replace(given, query=query, key=key, value=value).run(tree_attention_triton)
    assert torch.equal(out, given.run(tree_attention_triton))


def test_a_case_computed_by_hand() -> None:
    # Root with two children: each sees the root and itself, with equal scores.
    layout = layout_of([[-1, 0, 0]])
    value = torch.tensor([1.0, 2.0, 6.0]).view(1, 1, 3, 1).expand(1, 1, 3, 8)
    zeros = torch.zeros(1, 1, 3, 8)
    out = tree_attention(zeros, zeros, value, layout, AttentionRule(scale=1.0))
    assert out[0, :, 0, 0].tolist() == [1.0, 1.5, 3.5]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "dtype": ({"query": torch.ones(1, 2, 3, 8).double()}, "query must be float32, bfloat16 or float16"),
    "no places": ({"query": torch.ones(1, 2, 0, 8)}, "query must have at least one place, got none"),
    "head of 12": ({"query": torch.ones(1, 2, 3, 12)}, "heads must have 8, 16, .. 256 values, got 12"),
    "head of 264": ({"query": torch.ones(1, 2, 3, 264)}, "heads must have 8, 16, .. 256 values, got 264"),
    "groups": ({"query": torch.ones(1, 3, 3, 8)}, "2 key heads do not divide 3 heads"),
    "value": ({"value": torch.ones(1, 2, 4, 8)}, r"value must be \[1, 2, 3, 8\], got \[1, 2, 4, 8\]"),
    "key's dtype": ({"key": torch.ones(1, 2, 3, 8).half()}, "key must have query's dtype torch.float32"),
    "layout of other places": ({"layout": layout_of([[-1, 0]])}, r"end must be \[1, 3\], got \[1, 2\]"),
}


@pytest.mark.parametrize("change", REFUSED)
def test_arguments_that_are_refused(change: str) -> None:
    changed, message = REFUSED[change]
    ones = torch.ones(1, 2, 3, 8)
    good = Case(ones, ones, ones, layout_of([[-1, 0, 0]]), AttentionRule(scale=1.0))
    with pytest.raises(ValueError, match=message):
        replace(good, **changed).run(tree_attention)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0.0}, "scale must be finite and > 0, got 0.0"),
        ({"scale": 1.0, "softcap": -1.0}, "softcap must be finite and > 0, got -1.0"),
        ({"scale": 1.0, "window": 0}, "window must be at least 1, got 0"),
    ],
)
def test_rules_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AttentionRule(**options)
