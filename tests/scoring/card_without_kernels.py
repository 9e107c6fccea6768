"""A child process of `test_step_down.py`: a run scored as on a card where Triton fails; prints what became of it.

It scores on the CPU, where kernels have nothing to launch on. Triton is told that a driver is there, and then does what
it does on a card first: it calls a C compiler for a helper of its own, and keeps that in the user's cache folder.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from calprobe.models import load_model
from calprobe.scoring import ScoreOptions, path_choice, score_in_memory

KERNELS = ("linear_logprob", "rms_norm", "gated_unit", "rotary", "tree_attention")


def as_on_a_card() -> None:
    """All that asks whether kernels are to be launched is told so, but for sums, which follow the scores to the CPU."""
    modules: list[Any] = [importlib.import_module(f"calprobe.kernels.{name}") for name in KERNELS]
    modules += [path_choice, importlib.import_module("calprobe.models.fused_layers")]
    for module in modules:
        patch.object(module, "triton_takes", lambda array: True).start()
    patch.object(path_choice, "_compiles", lambda device: True).start()


def main(folder: str, without: str) -> None:
    from scored_samples import PROBE

    if without == "triton":
        sys.modules["triton"] = None  # type: ignore[assignment]
    else:
        from triton.backends import backends

        backends["nvidia"].driver.is_active = staticmethod(lambda: True)
    options = ScoreOptions(templates="0", batch_tokens=200)
    right = score_in_memory(load_model(folder), PROBE, options)
    as_on_a_card()
    warnings: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("calprobe").addHandler(handler)
    model = load_model(folder)
    run = score_in_memory(model, PROBE, options)
    settings = run.manifest.settings
    difference = float(abs(run.table().scores - right.table().scores).max())
    found = {"fused": model.fused, "path": settings.path, "layers": settings.layers, "head": settings.head}
    print(json.dumps(found | {"difference": difference, "warnings": warnings, "name": Path(folder).name}))


if __name__ == "__main__":
    main(*sys.argv[1:])
