"""Which attention function the layers of a network look up, at each call, by the name in their config."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


class AttentionNames:
    """The names in a network's configs, as they are and as they are set while a block lasts."""

    def __init__(self, network: nn.Module) -> None:
        configs: Iterator[Any] = (getattr(module, "config", None) for module in network.modules())
        # A module and its parts mostly share one config.
        self._configs = list({id(c): c for c in configs if hasattr(c, "_attn_implementation")}.values())

    def own(self) -> list[str]:
        """Of each config, as transformers chose it."""
        return [config._attn_implementation for config in self._configs]

    @contextmanager
    def set_to(self, name: str) -> Iterator[None]:
        """All of them that name inside; the network is then its thread's alone."""
        own = self.own()
        try:
            for config in self._configs:
                config._attn_implementation = name
            yield
        finally:
            for config, own_name in zip(self._configs, own, strict=True):
                config._attn_implementation = own_name
