"""The kernels compile for every supported card without one, spill nothing, fit, and use the tensor cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from calprobe.kernels.tiles import _FLOAT32, _HALF, TileSet

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "aot.py"
TABLES: dict[int | str, TileSet] = {
    80: "wide", 86: "narrow", 89: "narrow", 90: "wide", 100: "tensor_memory", 103: "tensor_memory",
    110: "tensor_memory", 120: "narrow", 121: "narrow", "gfx90a": "hip", "gfx942": "hip",
}  # fmt: skip
QUICK = (80, 86, 90, 100, 110, 120, "gfx942")
LIMITS: dict[int | str, int] = {
    80: 166_912, 86: 101_376, 89: 101_376, 90: 232_448, 100: 232_448, 103: 232_448, 110: 232_448, 120: 101_376,
    121: 101_376, "gfx90a": 65_536, "gfx942": 65_536,
}  # fmt: skip
pytestmark = pytest.mark.skipif(
    Version(version("triton")) < Version("3.3"), reason="Triton 3.2 names what is divisible otherwise"
)


def compiled(*options: str) -> list[dict[str, Any]]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(SCRIPT), "--json", *options]
    done = subprocess.run(
        command, env=environment | {"PYTHONSAFEPATH": "1"}, capture_output=True, text=True, timeout=3000, check=False
    )
    assert done.stdout, done.stderr
    rows: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        print({name: value for name, value in row.items() if name != "faults"})
    assert [row for row in rows if row["faults"]] == []
    assert done.returncode == 0, done.stderr
    assert all(row["shared"] <= LIMITS[row["arch"]] for row in rows)
    return rows


def block(tiles: Any) -> str:
    return f"{tiles.rows}x{tiles.vocab}x{tiles.dim}"


def test_the_largest_tile_compiles_for_every_kind_of_card() -> None:
    rows = compiled("--few", "--arch", *map(str, QUICK))
    assert {row["arch"] for row in rows if row["kernel"] == "_tree_attention_kernel"} == set(QUICK)
    assert {row["arch"]: row["label"].split()[0] for row in rows if row["kernel"] == "_partial_lse_kernel"} == {
        arch: block(_HALF[TABLES[arch]][-1]) for arch in QUICK
    }
    instructions = {90: "wgmma", 100: "tcgen05", 110: "tcgen05"}
    positions = [row for row in rows if row["kernel"] == "_rotary_kernel"]
    assert {row["arch"]: row["fused"] for row in positions} == dict.fromkeys(QUICK, 0)
    assert all(row[instructions.get(row["arch"], "mma")] > 0 for row in rows if row not in positions)


@pytest.mark.proof
def test_every_kernel_compiles_for_every_card() -> None:
    rows = compiled("--arch", *map(str, TABLES))
    for arch, table in TABLES.items():
        own = [row for row in rows if row["arch"] == arch]
        assert {row["kernel"] for row in own} == {
            "_partial_lse_kernel", "_target_logprob_kernel", "_gather_reduce_kernel", "_tree_attention_kernel",
            "_rms_norm_kernel", "_gated_unit_kernel", "_rotary_kernel",
        }  # fmt: skip
        blocks = {(row["dtype"], row["label"].split()[0]) for row in own if row["kernel"] == "_partial_lse_kernel"}
        wanted = {("bf16", block(tiles)) for tiles in _HALF[table]}
        precise = _FLOAT32["ieee"] if table == "hip" else (*_FLOAT32["ieee"], *_FLOAT32["tf32x3"])
        wanted |= {("fp32", block(tiles)) for tiles in precise}
        assert blocks >= wanted
