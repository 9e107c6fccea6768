"""Every kernel compiles for four architectures without a card, spills nothing, fits, and uses the tensor cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from calprobe.kernels.tiles import _TILES

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "aot.py"


@pytest.mark.skipif(Version(version("triton")) < Version("3.3"), reason="Triton 3.2 names what is divisible otherwise")
def test_every_kernel_compiles_for_each_architecture() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(SCRIPT), "--json"]
    done = subprocess.run(
        command, env=environment | {"PYTHONSAFEPATH": "1"}, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.stdout, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        print({name: value for name, value in row.items() if name != "faults"})
    assert [row for row in rows if row["faults"]] == []
    assert done.returncode == 0, done.stderr
    kernels = {"_partial_lse_kernel", "_target_logprob_kernel", "_gather_reduce_kernel"}
    for arch, limit in {80: 166_912, 86: 101_376, 89: 101_376, 90: 232_448}.items():
        own = [row for row in rows if row["arch"] == arch]
        assert {row["kernel"] for row in own} == kernels
        too_large = {row["label"].split()[0] for row in own if row["shared"] > limit}
        # Known: bf16 and fp16 need smaller tiles there, and are scored on the plain path until there are some.
        assert too_large == ({"16x128x128", "64x256x64", "128x256x64"} if arch in (86, 89) else set())
    large = [row for row in rows if row["dtype"] == "bf16" and row["label"].startswith("128x256")]
    assert len(large) == 6
    assert all(row["wgmma"] > 0 if row["arch"] == 90 else row["mma"] > 0 for row in large)
    tiles = sum(len(choices) for choices in _TILES.values())
    assert len({row["label"].split(" BIAS")[0] for row in rows if row["kernel"] == "_partial_lse_kernel"}) == tiles
