"""Rotary positions of decoders as one kernel for queries and one for keys, on a card.

transformers turns heads by a function in each model's file, `apply_rotary_pos_emb`, in ten element-wise steps. Their
attention layers look it up by name at each call. So a layer here runs the same forward, with one name more that stands
for the kernel: the file, other networks and other threads keep theirs.

Which of the kernel's rules such a function follows is tried, not listed: the one that gives its bits on a few random
heads of the same dtypes. Where none does, the function itself is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor, nn

from calprobe.kernels import RotaryRule, rotary, rotary_reference
from calprobe.kernels.arguments import FLOATS
from calprobe.models.forwards import has_own_forward

NAME = "apply_rotary_pos_emb"
_FILES = "transformers.models."
# What such functions take: queries and keys together, or one of the two.
_BOTH, _EACH = ("q", "k", "cos", "sin", "unsqueeze_dim"), ("x", "cos", "sin", "unsqueeze_dim")
_POSITIONS = "position_ids"  # before the last in transformers 4, and seldom given: rules are of calls without it
_RENAMES = "transformers.utils.deprecation"
_RULES = [RotaryRule(*flags) for flags in product((False, True), repeat=3)]
Turn = Callable[[Tensor, Tensor, Tensor, RotaryRule], Tensor]


@dataclass(frozen=True, slots=True)
class _Call:
    """What the rule of a function may depend on."""

    heads_axis: int  # 1: [B, H, N, D], 2: [B, N, H, D]
    is_partial: bool  # a head has values that are not turned
    dtype: torch.dtype
    angles: torch.dtype

    @classmethod
    def of(cls, x: Tensor, cos: Tensor, heads_axis: int) -> _Call:
        return cls(heads_axis, cos.shape[-1] < x.shape[-1], x.dtype, cos.dtype)


def rotary_layers_among(modules: Iterable[nn.Module]) -> list[Any]:
    """The attention layers whose heads are turned as the kernel does, in the dtype of their weights."""
    return [module for module in modules if _is_taken(module)]


def rotary_forward(layer: nn.Module, turn: Turn = rotary) -> Callable[..., Any]:
    """The forward of such a layer, in which `turn(heads, cos, sin, rule)` computes what its file's function does."""
    own = _forward_of(layer)
    names = {**own.__globals__, NAME: _by_rule(own.__globals__[NAME], turn)}
    forward = FunctionType(own.__code__, names, own.__name__, own.__defaults__, own.__closure__)
    forward.__kwdefaults__ = own.__kwdefaults__
    return MethodType(forward, layer)


def _forward_of(layer: nn.Module) -> Any:
    """The forward of its class, without what transformers 4 wraps around it to rename an argument that calls here name
    as it is."""
    own = type(layer).forward
    while isinstance(own, FunctionType) and own.__globals__.get("__name__") == _RENAMES:
        own = own.__wrapped__  # type: ignore[attr-defined]
    return own


def _is_taken(layer: nn.Module) -> bool:
    own = _forward_of(layer)
    if has_own_forward(layer) or not isinstance(own, FunctionType) or NAME not in own.__code__.co_names:
        return False
    of_file = own.__globals__.get(NAME)
    if not own.__module__.startswith(_FILES) or not callable(of_file) or _names_of(of_file) not in (_BOTH, _EACH):
        return False
    dtype = next((weight.dtype for weight in layer.parameters() if weight.dtype in FLOATS), None)
    if dtype is None:
        return False
    kinds = product((1, 2), (False, True), (dtype, torch.float32))
    return any(_rule_of(of_file, _Call(axis, partial, dtype, angles)) is not None for axis, partial, angles in kinds)


def _by_rule(of_file: Callable[..., Any], turn: Turn) -> Callable[..., Any]:
    """That function, by the kernel wherever a rule gives its bits."""

    def turned(x: Tensor, cos: Tensor, sin: Tensor, heads_axis: int) -> Tensor | None:
        if x.dim() != 4 or cos.dim() != 3 or heads_axis not in (1, 2) or x.dtype not in FLOATS:
            return None
        rule = _rule_of(of_file, _Call.of(x, cos, heads_axis))
        heads = x if heads_axis == 1 else x.transpose(1, 2)
        fits = cos.shape[0] in (1, len(x)) and cos.shape[1] == heads.shape[2] and cos.shape == sin.shape
        if rule is None or not fits:
            return None
        found = turn(heads, cos, sin, rule)
        return found if heads_axis == 1 else found.transpose(1, 2)

    def each(x: Tensor, cos: Tensor, sin: Tensor, unsqueeze_dim: int = 1) -> Tensor:
        found = turned(x, cos, sin, unsqueeze_dim)
        own: Tensor = of_file(x, cos, sin, unsqueeze_dim=unsqueeze_dim) if found is None else found
        return own

    def both(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, unsqueeze_dim: int = 1) -> tuple[Tensor, Tensor]:
        query, key = (turned(x, cos, sin, unsqueeze_dim) for x in (q, k))
        if query is None or key is None:
            query, key = of_file(q, k, cos, sin, unsqueeze_dim=unsqueeze_dim)
        return query, key

    def both_of_4(
        q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, position_ids: Tensor | None = None, unsqueeze_dim: int = 1
    ) -> tuple[Tensor, Tensor]:
        if position_ids is None:
            return both(q, k, cos, sin, unsqueeze_dim)
        query, key = of_file(q, k, cos, sin, position_ids, unsqueeze_dim)  # which may choose angles by them
        return query, key

    if _names_of(of_file) == _EACH:
        return each
    return both_of_4 if _POSITIONS in inspect.signature(of_file).parameters else both


def _names_of(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(function).parameters if name != _POSITIONS)


@lru_cache(maxsize=256)
def _rule_of(of_file: Callable[..., Any], call: _Call) -> RotaryRule | None:
    """The rule that gives the bits of that function for such a call; None if no rule does, or it takes no such call."""
    rng = torch.Generator().manual_seed(0)
    shape = (2, 3, 5, 12 if call.is_partial else 8)
    heads = [torch.randn(shape, generator=rng).to(call.dtype) for _ in range(2)]
    angles = [torch.randn(2, 5, 8, generator=rng).to(call.angles) for _ in range(2)]
    given = heads if call.heads_axis == 1 else [x.transpose(1, 2) for x in heads]
    both = _names_of(of_file) == _BOTH
    try:
        called = partial(of_file, unsqueeze_dim=call.heads_axis)
        found = called(*given, *angles) if both else [called(x, *angles) for x in given]
    except (RuntimeError, TypeError, ValueError, IndexError):  # it takes no such call
        return None
    own = [x if call.heads_axis == 1 else x.transpose(1, 2) for x in found]
    return next((rule for rule in _RULES if _gives(rule, heads, angles, own)), None)


def _gives(rule: RotaryRule, heads: list[Tensor], angles: list[Tensor], own: list[Tensor]) -> bool:
    if not rule.rounds_last and heads[0].dtype != angles[0].dtype:
        return False
    return all(
        x.dtype == found.dtype and torch.equal(rotary_reference(x, *angles, rule), found)
        for x, found in zip(heads, own, strict=True)
    )
