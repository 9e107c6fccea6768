"""The structure that the design promises: one direction of data flow, light imports, a quick command line."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT

# Stage -> the stages that it may know. `errors` is everybody's; the package's own names are the user's entrance.
KNOWS: dict[str, set[str]] = {
    "errors": set(),
    "kernels": set(),
    "probes": set(),
    "statements": {"probes"},
    "planning": {"statements"},
    "models": {"statements", "kernels"},
    "runs": {"statements", "probes"},
    "scoring": {"probes", "statements", "planning", "models", "kernels", "runs"},
    "metrics": set(),
    "confidence": {"runs", "statements"},
    "report": {"runs", "confidence", "metrics", "statements"},
}
NO_TORCH = ("probes", "statements", "planning", "runs", "confidence", "metrics", "report")


def imported_stages(file: Path) -> set[str]:
    """The stages of calprobe that a module imports anywhere, inside functions too."""
    modules = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    parts = [module.split(".") for module in modules if module.startswith("calprobe.")]
    return {part[1] for part in parts}


@pytest.mark.parametrize("stage", KNOWS)
def test_each_stage_knows_only_the_stages_before_it(stage: str) -> None:
    folder = ROOT / "kernels" / "fused" if stage == "kernels" else ROOT / "calprobe" / stage
    files = [ROOT / "calprobe" / "errors.py"] if stage == "errors" else sorted(folder.rglob("*.py"))
    assert files
    for file in files:
        unknown = imported_stages(file) - KNOWS[stage] - {stage, "errors", "templates"}
        assert not unknown, f"{file.relative_to(ROOT)} imports {', '.join(sorted(unknown))}"


def fresh_python(code: str, *, folder: Path = ROOT, safe_path: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    if safe_path:
        environment["PYTHONSAFEPATH"] = "1"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("stage", NO_TORCH)
def test_reading_and_analysing_never_import_torch(stage: str) -> None:
    code = f"import sys, calprobe.{stage}; print(sorted({{'torch', 'transformers', 'triton'}} & set(sys.modules)))"
    result = fresh_python(code)
    assert result.stdout.strip() == "[]", result.stderr


def test_the_package_itself_imports_nothing_heavy() -> None:
    code = "import sys, calprobe, calprobe.cli; print(sorted({'torch', 'numpy', 'pandas', 'rich'} & set(sys.modules)))"
    result = fresh_python(code)
    assert result.stdout.strip() == "[]", result.stderr


@pytest.mark.parametrize("safe_path", [True, False])
def test_transformers_works_from_the_repositorys_root(safe_path: bool) -> None:
    # transformers looks for a Hub package named `kernels`, which the folder of that name must not be taken for.
    result = fresh_python("import transformers; transformers.LlamaForCausalLM", safe_path=safe_path)
    assert result.returncode == 0, result.stderr


def test_help_takes_well_under_half_a_second() -> None:
    seconds = []
    for _ in range(5):
        started = time.monotonic()
        subprocess.run([sys.executable, "-m", "calprobe", "--help"], check=True, capture_output=True)
        seconds.append(time.monotonic() - started)
    assert min(seconds) < 0.5, f"fastest of five: {min(seconds):.2f} s"


def test_every_command_has_help_with_an_example_or_its_options() -> None:
    from click.testing import CliRunner

    from calprobe.cli.app import COMMANDS, cli

    for name in COMMANDS:
        result = CliRunner().invoke(cli, [name, "--help"])
        assert result.exit_code == 0
        assert "Usage: " in result.output
        assert len(result.output.splitlines()) > 5
