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
from functools import lru_cache
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
    own = type(layer).forward
    names = {**own.__globals__, NAME: _by_rule(own.__globals__[NAME], turn)}
    forward = FunctionType(own.__code__, names, own.__name__, own.__defaults__, own.__closure__)
    forward.__kwdefaults__ = own.__kwdefaults__
    return MethodType(forward, layer)


def _is_taken(layer: nn.Module) -> bool:
    own = type(layer).forward
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
        own: Tensor = of_file(x, cos, sin, unsqueeze_dim) if found is None else found
        return own

    def both(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, unsqueeze_dim: int = 1) -> tuple[Tensor, Tensor]:
        query, key = (turned(x, cos, sin, unsqueeze_dim) for x in (q, k))
        if query is None or key is None:
            query, key = of_file(q, k, cos, sin, unsqueeze_dim=unsqueeze_dim)
        return query, key

    return each if _names_of(of_file) == _EACH else both


def _names_of(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


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
        found = (
            of_file(*given, *angles, call.heads_axis) if both else [of_file(x, *angles, call.heads_axis) for x in given]
        )
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
