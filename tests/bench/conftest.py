"""Makes bench/'s scripts and their packages importable: bench/ is no package, and must not be on the path."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

for _name in (
    "asking",
    "confidence",
    "first_contact",
    "gpu",
    "paper_figures",
    "samples",
    "schedule",
    "side_by_side",
    "sweep_schedule",
    "template_forms",
    "timeline",
    "train_tiny",
    "train_tiny_chat",
):
    _spec = spec_from_file_location(_name, Path(__file__).resolve().parents[2] / "bench" / f"{_name}.py")
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules[_name] = module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_name])
