"""The examples in the docstrings run, and give what they say."""

from __future__ import annotations

import doctest
import inspect
import linecache
from importlib import import_module
from pathlib import Path

import pytest

import calprobe
import calprobe.kernels

WITH_EXAMPLES = (
    *("calprobe.answers", "calprobe.confidence", "calprobe.metrics", "calprobe.probes", "calprobe.prompts"),
    "calprobe.confidence.samples",
    "calprobe.statements",
)
PACKAGE = Path(calprobe.__file__).parent
FOLDERS = {"calprobe": PACKAGE, "calprobe.kernels": Path(calprobe.kernels.__file__).parent}
MODULES = sorted(
    ".".join((package, *path.relative_to(folder).with_suffix("").parts))
    for package, folder in FOLDERS.items()
    for path in folder.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


def test_examples_are_found() -> None:
    some = {"calprobe.metrics.calibration", "calprobe.asking.replacing", "calprobe.kernels.linear_logprob"}
    assert some <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    if name.endswith("_triton"):
        pytest.importorskip("triton", reason="Triton exists for Linux on x86-64 only")
    if name in ("calprobe.integrations.inspect_ai", "calprobe.integrations.lm_eval"):
        pytest.importorskip(name.rpartition(".")[2], reason="make test-integrations has the tools")
    module = import_module(name)
    linecache.clearcache()  # of which doctest compares every file with the disk
    failed, _ = doctest.testmod(module)
    assert failed == 0


@pytest.mark.parametrize("package", WITH_EXAMPLES)
def test_public_functions_have_an_example(package: str) -> None:
    public = import_module(package)
    functions = [getattr(public, name) for name in public.__all__ if inspect.isfunction(getattr(public, name))]
    assert functions
    assert [function.__name__ for function in functions if ">>>" not in (function.__doc__ or "")] == []
