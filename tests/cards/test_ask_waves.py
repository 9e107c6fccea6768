"""A wave of 255 asked prompts on a card: launches that grow by layers alone, and a host that waits for chosen tokens.

Copied row by row, with places moved once a layer and labels ranked one after another, the same wave had 943 launches
and 20 waiting uploads a layer, and 3,030 launches, 1,066 waiting uploads and 267 waits beside them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="Triton exists for Linux on x86-64 only")

from fake_cards import COMPILER

HERE = Path(__file__).parent
STEPS = 4
PASSES = 10  # six of them for beginnings that prompts share, and for prompts


def waves(guard: Path, *n_layers: int) -> dict[int, dict[str, Any]]:
    """Numbers of a wave by the count of layers, from a process of its own: Triton must not interpret."""
    paths = os.pathsep.join([str(HERE.parent), str(HERE)])
    environment = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "CALPROBE_KERNELS")}
    command = [sys.executable, "-W", "ignore", str(HERE / "ask_waves.py"), str(guard), *map(str, n_layers)]
    done = subprocess.run(command, env=environment | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return {int(count): numbers for count, numbers in found.items()}


@pytest.mark.proof
@pytest.mark.skipif(COMPILER is None, reason="the device guard of fake cards needs a C++ compiler")
def test_a_wave_waits_for_nothing_but_its_tokens(pytestconfig: pytest.Config) -> None:
    found = waves(pytestconfig.cache.mkdir("fake-cards"), 2, 4)
    for numbers in found.values():
        assert numbers["waiting uploads"] == 0, numbers["where"]
        assert numbers["waits"] == STEPS  # each for all that is chosen and looked at in a step
        assert numbers["free memory"] == 1
        assert numbers["uploads"] <= 21
    a_layer = (found[4]["launches"] - found[2]["launches"]) / 2
    beside = found[2]["launches"] - 2 * a_layer
    assert a_layer <= 212
    assert beside <= 282
    a_layer_and_step = (found[4]["a step"] - found[2]["a step"]) / 2
    assert a_layer_and_step <= 17
    assert found[2]["a step"] - 2 * a_layer_and_step <= 36
    assert found[4]["of kernels"] - found[2]["of kernels"] == 2 * 5 * PASSES  # two norms, a unit, queries and keys
