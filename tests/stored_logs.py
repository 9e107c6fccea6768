"""The logs of inspect_ai in tests/data/inspect, as objects with the attributes that the package's own have."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = Path(__file__).resolve().parent / "data" / "inspect"
_MAPPINGS = {"metadata", "packages", "params", "value"}  # dictionaries in the package's objects, too


class Logged(SimpleNamespace):
    """An object of a log; what the file leaves out is None, as there."""

    def __getattr__(self, name: str) -> Any:
        if name == "text":  # of a message
            parts = self.content
            return parts if isinstance(parts, str) else "\n".join(p.text for p in parts if p.type == "text")
        return None


def stored_log(name: str) -> Any:
    """The log of a task: capitals (multiple choice, one of six samples failed), sums (open, two epochs)."""
    return _object(json.loads((FOLDER / f"{name}.json").read_text("utf-8")))


def _object(value: Any, key: str = "") -> Any:
    if isinstance(value, list):
        return [_object(each) for each in value]
    if not isinstance(value, dict) or key in _MAPPINGS:
        return value
    if key == "scores":
        return {name: _object(each) for name, each in value.items()}
    return Logged(**{name: _object(each, name) for name, each in value.items()})
