"""What the commands print, where stdout cannot take it: a reader that went away, a full disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from proofs import few_of
from run_samples import write_run

COMMANDS = [
    ["report", "RUN", "--bootstrap", "0"],
    ["report", "RUN", "--bootstrap", "0", "--json"],
    ["models"],
    ["probes"],
]


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "complete")


def calprobe(arguments: list[str], run_path: Path, stdout: int) -> subprocess.CompletedProcess[str]:
    filled = [str(run_path) if argument == "RUN" else argument for argument in arguments]
    command = [sys.executable, "-P", "-m", "calprobe", *filled]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=300, check=False)


@pytest.mark.parametrize("arguments", few_of(COMMANDS, lambda own: "--json" not in own), ids=" ".join)
def test_a_closed_pipe_ends_quietly_like_any_filter(run_path: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = calprobe(arguments, run_path, writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", few_of(COMMANDS, lambda own: "--json" not in own), ids=" ".join)
def test_a_full_disk_is_said_in_one_line(run_path: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = calprobe(arguments, run_path, full.fileno())
    assert done.returncode == 1
    said = "calprobe: cannot write to stdout: No space left on device; free disk space or write elsewhere\n"
    assert done.stderr == said
