"""Commands from end to end on machines that are set up otherwise: what they say, and that the numbers stay."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from calprobe.runs.run import open_scores

HERE = Path(__file__).parent
SCORE = ("score", "--model", "tiny-clm", "--probe", "mini", "--templates", "0", "--relations", "month")
ASK = ("ask", "--model", "tiny-chat", "--questions", "mini", "--as", "choice", "--draw", "2", "--collect", "labels")


def calprobe(arguments: Sequence[object], machine: str = "any", **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own; variables of the environment are added, or left out where empty."""
    merged = {**os.environ, "PYTHONSAFEPATH": "1", "CUDA_VISIBLE_DEVICES": "", **environment}
    command = [sys.executable, str(HERE / "strange_machine.py"), machine, *map(str, arguments)]
    return subprocess.run(
        command,
        env={name: value for name, value in merged.items() if value},
        capture_output=True,
        text=True,
        check=False,
    )


def scores_of(run: Path) -> bytes:
    return open_scores(run).table().scores.tobytes()


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The scores of this machine's CPU."""
    run = tmp_path_factory.mktemp("usual") / "run"
    done = calprobe([*SCORE, "--device", "cpu", "--out", run])
    assert done.returncode == 0, done.stderr
    return scores_of(run)


@pytest.fixture
def old_tools(tmp_path: Path) -> str:
    """A PATH with an nvidia-smi that tells of an old driver."""
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 550.54.14\n")
    tool.chmod(0o755)
    return f"{tool.parent}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.proof
@pytest.mark.parametrize("command", [SCORE, ASK], ids=["score", "ask"])
def test_a_driver_that_is_too_old_is_said_once(command: tuple[str, ...], old_tools: str, tmp_path: Path) -> None:
    done = calprobe([*command, "--out", tmp_path / "run"], "old-driver", PATH=old_tools)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if "computing on the CPU" in line)
    assert "a GPU with driver 550.54.14 is there" in line
    assert "too old (found version 12040)" in line
    assert "install torch's build for an older CUDA" in line


@pytest.mark.proof
def test_the_numbers_are_float32s_where_an_image_asks_for_tf32(usual: bytes, tmp_path: Path) -> None:
    for name, command in (("scored", SCORE), ("asked", ASK)):
        done = calprobe([*command, "--device", "cpu", "--out", tmp_path / name], TORCH_ALLOW_TF32_CUBLAS_OVERRIDE="1")
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines()[-1] == "products: highest inside, high outside"
    assert scores_of(tmp_path / "scored") == usual


def without_triton(folder: Path) -> dict[str, str]:
    module = folder / "triton.py"
    module.write_text("raise ImportError('no triton on this machine')\n")
    return {"PYTHONPATH": str(folder)}


def without_a_home(folder: Path) -> dict[str, str]:
    nowhere = "/proc/nowhere"  # where not even root can make a folder
    return {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "HF_HOME": "", "CALPROBE_CACHE": ""}


LACKING = {"triton": without_triton, "home": without_a_home}


@pytest.mark.proof
@pytest.mark.parametrize("lacks", LACKING)
def test_a_cpu_needs_neither_triton_nor_a_home(lacks: str, usual: bytes, tmp_path: Path) -> None:
    """What a card does without them or without a compiler, `tests/scoring/test_step_down.py` shows."""
    environment = LACKING[lacks](tmp_path)
    done = calprobe([*SCORE, "--device", "cpu", "--out", tmp_path / "scored"], **environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert scores_of(tmp_path / "scored") == usual
    done = calprobe([*ASK, "--device", "cpu", "--out", tmp_path / "asked"], **environment)
    assert done.returncode == 0, done.stderr
    assert "2 replies, complete" in done.stderr
