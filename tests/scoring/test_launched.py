"""Real processes under torch's launcher, which accelerate uses too: equal bytes, and every way to end early."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tiny_models import save_tiny_model

from calprobe.cli import main
from calprobe.runs import open_run

TORCHRUN = ("torch.distributed.run", "--standalone", "--nproc-per-node={count}")
# On CPUs too; a port that is free is taken, so that two test processes do not meet.
ACCELERATE = (
    *("accelerate.commands.launch", "--multi_gpu", "--num_processes={count}", "--num_machines=1"),
    *("--mixed_precision=no", "--dynamo_backend=no", "--main_process_port=0"),
)

# The command line, with something amiss in one process when it writes its first piece. The first process waits for
# that, so that it does not score everything before another has imported torch.
DRIVER = """
import os, signal, sys, time
from pathlib import Path
from calprobe.cli import main
from calprobe.errors import CalprobeError
from calprobe.runs.folder import RunFolder
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
rank, fault, gate = int(os.environ["RANK"]), os.environ["FAULT"], Path(os.environ["GATE"])
write_piece = RunFolder.write_piece
def write(folder, piece):
    if rank == 0:
        end = time.monotonic() + 120
        while not gate.exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.1 if fault else 0)
    write_piece(folder, piece)
    if rank:
        gate.touch()
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "fail":
            raise CalprobeError("the disk is full")
RunFolder.write_piece = write
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


def arguments(model: Path, out: Path) -> list[str]:
    asked = ["--probe", "mini", "--limit", "2", "--templates", "0,1", "--batch-tokens", "64", "--save-tokens"]
    return ["score", "--model", str(model), *asked, "--out", str(out)]


@pytest.fixture(scope="module")
def alone(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("alone") / "run"
    main([*arguments(model, out), "--quiet"])
    return out


class Launch:
    """A run of several processes under way. The launcher's own words go the way of stderr as well."""

    def __init__(self, model: Path, out: Path, count: int, fault: str = "", launcher: Sequence[str] = TORCHRUN) -> None:
        self.gate = out.with_name(f"gate-{fault}")
        driver = out.with_name("driver.py")
        driver.write_text(DRIVER)
        start = [part.format(count=count) for part in launcher]
        self.process = subprocess.Popen(
            [sys.executable, "-m", *start, str(driver), *arguments(model, out)],
            env=os.environ | {"OMP_NUM_THREADS": "1", "FAULT": fault, "GATE": str(self.gate)},
            stderr=subprocess.PIPE,
            text=True,
        )

    def stderr(self) -> str:
        """All that was said, when all processes have ended."""
        return self.process.communicate(timeout=240)[1]


def assert_equal_exports(run: Path, other: Path) -> None:
    for what in ("candidates", "tokens"):
        files = [folder.with_name(f"{folder.name}-{what}.csv") for folder in (run, other)]
        for folder, file in zip((run, other), files, strict=True):
            main(["export", str(folder), "--what", what, "--out", str(file)])
        assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(("launcher", "count"), [(TORCHRUN, 3), (ACCELERATE, 2)], ids=["torchrun", "accelerate"])
def test_several_processes_give_the_bytes_of_one(
    model: Path, alone: Path, tmp_path: Path, launcher: Sequence[str], count: int
) -> None:
    launch = Launch(model, tmp_path / "run", count, launcher=launcher)
    said = launch.stderr()
    assert launch.process.returncode == 0, said
    assert said.count("complete; next: calprobe report") == 1
    total = sum(relation.n_statements for relation in open_run(alone).manifest.relations) * 2
    assert f"{total:,} of {total:,} statements" in said  # of all processes together
    assert_equal_exports(tmp_path / "run", alone)
    one, several = open_run(alone).manifest, open_run(tmp_path / "run").manifest
    assert (one.timings.processes, several.timings.processes) == (1, count)
    assert several.timings.score_s > several.timings.wall_s > 0
    counted = ("pieces", "statements", "tokens")
    assert [getattr(one.timings, n) for n in counted] == [getattr(several.timings, n) for n in counted]


def test_what_a_killed_process_leaves_is_scored_by_the_next_run(model: Path, alone: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    killed = Launch(model, out, 2, "kill")
    said = killed.stderr()
    assert killed.process.returncode != 0
    assert said.count("pieces are left.\nRun the same command again to go on in") == 1
    assert open_run(out).partial
    main([*arguments(model, out), "--quiet"])
    assert not open_run(out).partial
    assert_equal_exports(out, alone)


def test_an_error_in_one_process_ends_all(model: Path, tmp_path: Path) -> None:
    failed = Launch(model, tmp_path / "run", 2, "fail")
    said = failed.stderr()
    assert failed.process.returncode == 1
    assert said.count("calprobe: process 1: the disk is full\n") == 1
    assert said.count("calprobe: ") == 2
    assert said.count("pieces are left.\nRun the same command again to go on in") == 1


def test_ctrl_c_on_the_launcher_loses_nothing(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    launch = Launch(model, out, 2, "slow")
    end = time.monotonic() + 120
    while not launch.gate.exists() and time.monotonic() < end:
        time.sleep(0.1)
    launch.process.send_signal(signal.SIGINT)
    said = launch.stderr()
    assert launch.process.returncode != 0
    assert said.count("interrupted;") == 1
    assert said.count("pieces are left.\nRun the same command again to go on in") == 1
    run = open_run(out)
    assert run.partial
    assert run.manifest.timings.pieces == len(run.pieces) > 0  # those of both processes, counted
