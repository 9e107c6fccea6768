"""Makes `side_by_side` and `peers` importable: bench/ is no package, and must not be on the path (its docstring)."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_SPEC = spec_from_file_location("side_by_side", Path(__file__).resolve().parents[2] / "bench" / "side_by_side.py")
assert _SPEC is not None
assert _SPEC.loader is not None
sys.modules["side_by_side"] = module_from_spec(_SPEC)
_SPEC.loader.exec_module(sys.modules["side_by_side"])
