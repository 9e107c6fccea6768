"""Errors made in the engine of asked rows, each of which its check must refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.ragged_engine import Engine
from calprobe.models import LoadedModel

Patch = pytest.MonkeyPatch


def rows_see_their_padding(monkeypatch: Patch) -> None:
    def all_seen(self: Engine, positions: torch.Tensor, n_slots: int) -> torch.Tensor:
        return self._additive(torch.ones(*positions.shape, n_slots, dtype=torch.bool, device=positions.device))

    monkeypatch.setattr(Engine, "_masks", all_seen)


def positions_are_one_too_large(monkeypatch: Patch) -> None:
    right = Engine._hidden

    def shifted(self: Engine, cache: Any, tokens: Any, positions: torch.Tensor, masks: Any) -> torch.Tensor:
        return right(self, cache, tokens, positions + (positions > 6), masks)

    monkeypatch.setattr(Engine, "_hidden", shifted)


def a_prefix_is_not_copied(monkeypatch: Patch) -> None:
    monkeypatch.setattr(RaggedCache, "copy", lambda *_: None)


def the_head_has_another_scale(monkeypatch: Patch) -> None:
    right = Engine.__init__

    def scaled(self: Engine, model: LoadedModel) -> None:
        right(self, model)
        assert self.head is not None
        self.head = replace(self.head, rule=replace(self.head.rule, scale=1.1))

    monkeypatch.setattr(Engine, "__init__", scaled)


def windows_are_ignored(monkeypatch: Patch) -> None:
    """An error of models that have some."""

    def seen_from_everywhere(self: Engine, seen: torch.Tensor, *_: torch.Tensor) -> Any:
        mask = self._additive(seen)
        return {"full_attention": mask, "sliding_attention": mask} if self.windows.mixed else mask

    monkeypatch.setattr(Engine, "_windowed", seen_from_everywhere)


ERRORS = (rows_see_their_padding, positions_are_one_too_large, a_prefix_is_not_copied, the_head_has_another_scale)
