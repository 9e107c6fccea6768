"""Every kernel compiles for sm_80 and sm_90 without a card, spills nothing, fits, and uses the tensor cores."""

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
def test_every_kernel_compiles_for_both_architectures() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(SCRIPT), "--json"]
    done = subprocess.run(
        command, env=environment | {"PYTHONSAFEPATH": "1"}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        print({name: value for name, value in row.items() if name != "faults"})
    assert [row for row in rows if row["faults"]] == []
    assert done.returncode == 0, done.stderr
    assert {row["arch"] for row in rows} == {80, 90}
    assert {row["kernel"] for row in rows} == {
        "_partial_lse_kernel",
        "_target_logprob_kernel",
        "_gather_reduce_kernel",
    }
    large = [row for row in rows if row["dtype"] == "bf16" and row["label"].startswith("128x256")]
    assert all(row["wgmma"] > 0 if row["arch"] == 90 else row["mma"] > 0 for row in large)
    tiles = sum(len(choices) for choices in _TILES.values())
    assert len({row["label"].split(" BIAS")[0] for row in rows if row["kernel"] == "_partial_lse_kernel"}) == tiles
