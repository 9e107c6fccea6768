"""A wave of 255 asked prompts on a card: launches that grow by layers alone, and a host that waits for chosen tokens.

Copied row by row, with places moved once a layer and labels ranked one after another, the same wave had 943 launches
and 20 waiting uploads a layer, and 3,030 launches, 1,066 waiting uploads and 267 waits beside them. Noise that is
computed two rows at a time, as on a CPU, adds 2,966 launches to a step.
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
A_LAYER_AND_STEP, A_STEP = 17, 36  # launches of a further token: of each layer, and beside them
PASSES = 10  # six of them for beginnings that prompts share, and for prompts


def waves(guard: Path, *n_layers: int, temperature: float = 0, top_p: float = 1) -> dict[int, dict[str, Any]]:
    """Numbers of a wave by the count of layers, from a process of its own: Triton must not interpret."""
    paths = os.pathsep.join([str(HERE.parent), str(HERE)])
    environment = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "CALPROBE_KERNELS")}
    arguments = map(str, (HERE / "ask_waves.py", guard, temperature, top_p, *n_layers))
    command = [sys.executable, "-W", "ignore", *arguments]
    done = subprocess.run(command, env=environment | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return {int(count): numbers for count, numbers in found.items()}


needs_a_compiler = pytest.mark.skipif(COMPILER is None, reason="the device guard of fake cards needs a C++ compiler")


@pytest.mark.proof
@needs_a_compiler
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
    assert a_layer_and_step <= A_LAYER_AND_STEP
    assert found[2]["a step"] - 2 * a_layer_and_step <= A_STEP
    assert found[4]["of kernels"] - found[2]["of kernels"] == 2 * 5 * PASSES  # two norms, a unit, queries and keys


@pytest.mark.proof
@needs_a_compiler
@pytest.mark.parametrize(("top_p", "most", "waits"), [(1.0, 44, STEPS), (0.9, 64, 2 * STEPS)])
def test_a_step_that_draws_tokens_has_few_launches_more(
    top_p: float, most: int, waits: int, pytestconfig: pytest.Config
) -> None:
    """A nucleus waits once more: whether the 512 most probable tokens hold it decides what is launched next."""
    numbers = waves(pytestconfig.cache.mkdir("fake-cards"), 2, temperature=1, top_p=top_p)[2]
    assert numbers["waiting uploads"] == 0, numbers["where"]
    assert numbers["waits"] == waits, numbers["where"]
    assert numbers["a step"] <= 2 * A_LAYER_AND_STEP + A_STEP + most
