"""No lane of a kernel reads or writes past an array: the kernels' tests, with arrays beside pages nobody may touch."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton exists for Linux on x86-64 only")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KERNELS = {name for file in (ROOT / "kernels" / "fused").glob("*_triton.py") for name in re.findall(
    r"^def (_\w+_kernel)\(", file.read_text(), re.MULTILINE
)}  # fmt: skip
# A call of each kernel, over edges of blocks.
QUICK = (
    "_triton and (test_over_rows or over_statements or over_heads or infinite_logits or nothing_outside) and not 261"
)
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect as Linux has it")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(HERE), "TRITON_INTERPRET": "1", "PYTHONSAFEPATH": "1"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-X", "faulthandler", *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("chosen", [QUICK, pytest.param("not aot", marks=pytest.mark.proof)], ids=["quick", "all"])
def test_every_kernel_stays_within_its_arrays(chosen: str) -> None:
    done = run("-m", "pytest", "-q", "-p", "guard_pages", "-p", "no:cacheprovider", "tests/kernels", "-k", chosen)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("guarded launches: "))
    counts = dict(re.findall(r"(_\w+) (\d+)", line))
    assert counts.keys() == KERNELS
    print(line)


@pytest.mark.parametrize("shift", ["1", pytest.param("-1", marks=pytest.mark.proof)])
def test_a_kernel_without_a_mask_is_caught(shift: str) -> None:
    assert run(str(HERE / "guard_pages.py"), shift, "plain").returncode == -signal.SIGSEGV


@pytest.mark.proof
def test_a_kernel_with_a_mask_is_not() -> None:
    done = run(str(HERE / "guard_pages.py"), "1", "masked")
    assert (done.returncode, done.stdout) == (0, "15\n"), done.stderr
