"""The examples in the docstrings run, and give what they say."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
from importlib import import_module

import pytest

WITH_EXAMPLES = (
    *("calprobe.answers", "calprobe.confidence", "calprobe.metrics", "calprobe.probes", "calprobe.prompts"),
    "calprobe.confidence.samples",
    "calprobe.statements",
)
REPORTS = ("calprobe.analysis", *(f"calprobe.analysis.{part}" for part in ("curves", "html", "plots", "tables")))
PACKAGES = (*WITH_EXAMPLES, "calprobe.kernels", "calprobe.planning", *REPORTS)
MODULES = [
    "calprobe.cli.report_plots",
    "calprobe.cli.labels",
    "calprobe.cli.output",
    "calprobe.models.exposures",
    "calprobe.analysis.rank",
    "calprobe.runs.extent",
    "calprobe.runs.manifest_text",
    "calprobe.scoring.budget",
    "calprobe.scoring.engine",
    "calprobe.scoring.options",
    "calprobe.scoring.scheduling",
    "calprobe.scoring.score",
    "calprobe.training.callback",
    "calprobe.messages",
    *(
        f"{package}.{module.name}"
        for package in PACKAGES
        for module in pkgutil.iter_modules(import_module(package).__path__)
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    if name.endswith("_triton"):
        pytest.importorskip("triton", reason="Triton exists for Linux on x86-64 only")
    failed, _ = doctest.testmod(import_module(name))
    assert failed == 0


@pytest.mark.parametrize("package", WITH_EXAMPLES)
def test_public_functions_have_an_example(package: str) -> None:
    public = import_module(package)
    functions = [getattr(public, name) for name in public.__all__ if inspect.isfunction(getattr(public, name))]
    assert functions
    assert [function.__name__ for function in functions if ">>>" not in (function.__doc__ or "")] == []
