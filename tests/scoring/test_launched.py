"""Processes that `accelerate launch` starts, with torch's launcher behind it: equal bytes.

A proof, and part of `make test-faults`. Three processes of torch's launcher, and their ways to end early, are in the
suite: see tests/faults/test_processes_lost.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import exports_of
from gated_process import PROCESS, free_port
from tiny_models import save_tiny_model

from calprobe.cli import main
from calprobe.runs import open_run

# On CPUs too; the port is added, a free one, so that two test processes do not meet.
ACCELERATE = (
    *("accelerate.commands.launch", "--multi_gpu", "--num_processes=2", "--num_machines=1"),
    *("--mixed_precision=no", "--dynamo_backend=no"),
)


@pytest.mark.proof
def test_two_processes_give_the_bytes_of_one(tmp_path: Path) -> None:
    model, process = save_tiny_model(tmp_path / "tiny"), tmp_path / "process.py"
    process.write_text(PROCESS)
    asked = ["--probe", "mini", "--limit", "2", "--templates", "0,1", "--batch-tokens", "64", "--save-tokens"]
    command = ["score", "--model", str(model), *asked, "--relations", "capital,continent,month,opposite", "--out"]
    alone, launched = tmp_path / "alone", tmp_path / "launched"
    main([*command, str(alone), "--quiet"])
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            *ACCELERATE,
            f"--main_process_port={free_port()}",
            str(process),
            *command,
            str(launched),
        ],
        env=os.environ | {"OMP_NUM_THREADS": "1", "GATE": str(tmp_path / "gate")},
        stderr=subprocess.PIPE,
        text=True,
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("complete; next: calprobe report") == 1
    assert exports_of(launched) == exports_of(alone)
    progress = open_run(launched).progress
    assert (progress.processes, progress.pieces) == (2, 8)
