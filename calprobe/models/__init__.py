"""Models: names and aliases, loading, identity, and tokenisation with roles. torch loads with the first model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calprobe.models.loaded_model import LoadedModel, LoadOptions
from calprobe.models.token_roles import tokenise

if TYPE_CHECKING:
    from calprobe.models.load import load_model as load_model

__all__ = ["LoadOptions", "LoadedModel", "load_model", "tokenise"]


def __getattr__(name: str) -> Any:
    if name == "load_model":
        from calprobe.models.load import load_model

        return load_model
    raise AttributeError(f"module 'calprobe.models' has no attribute {name!r}")
