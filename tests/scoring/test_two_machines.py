"""A run of two machines, one of which is lost: network namespaces with names of their own, where root may make them.

Elsewhere the same two processes run on this machine, and nothing is known of the network between.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from commands import exports_of
from gated_process import PROCESS, free_port
from tiny_models import save_tiny_model

from calprobe.cli import main
from calprobe.runs import open_run
from calprobe.runs.lock import OWNER_NAME

# The lost process is given up after seconds. Before it is lost it says whom it sees as the owner of the folder.
IMPATIENT = """
import calprobe.scoring.workers
calprobe.scoring.workers.LOST_S = 8.0
"""
LOST = """gate.touch()
        print(Path(sys.argv[-1], ".owner").read_text(), file=sys.stderr, flush=True)
        os.kill(os.getpid(), 9)"""


class Machine(NamedTuple):
    host: str
    address: str
    start: tuple[str, ...]  # goes before a command that runs there


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def namespaces(names: tuple[str, str]) -> list[Machine]:
    """Two machines with a cable between them. Raises OSError or CalledProcessError where that is not allowed."""
    ip("link", "add", names[0], "type", "veth", "peer", "name", names[1])
    machines = []
    for name, address in zip(names, ("10.213.7.1", "10.213.7.2"), strict=True):
        ip("netns", "add", name)
        ip("link", "set", name, "netns", name)
        ip("-n", name, "addr", "add", f"{address}/30", "dev", name)
        for device in (name, "lo"):
            ip("-n", name, "link", "set", device, "up")
        named = ("sh", "-c", f'echo {name} >/proc/sys/kernel/hostname && exec "$0" "$@"')
        machines.append(Machine(name, address, ("ip", "netns", "exec", name, "unshare", "--uts", *named)))
    for machine in machines:
        subprocess.run([*machine.start, "true"], check=True, capture_output=True)
    return machines


@pytest.fixture
def machines() -> Iterator[list[Machine]]:
    names = (f"cpa{os.getpid()}", f"cpb{os.getpid()}")
    try:
        yield namespaces(names)
    except (OSError, subprocess.CalledProcessError):
        yield [Machine(socket.gethostname(), "127.0.0.1", ())] * 2
    finally:
        if shutil.which("ip"):
            for end in (*(("netns", "del", name) for name in names), ("link", "del", names[0])):
                with suppress(subprocess.CalledProcessError):
                    ip(*end)


@pytest.mark.proof
def test_what_a_lost_machine_had_taken_is_scored_by_the_first(machines: list[Machine], tmp_path: Path) -> None:
    model, out, alone, driver = (tmp_path / name for name in ("tiny", "run", "alone", "driver.py"))
    save_tiny_model(model)
    asked = ["--probe", "mini", "--limit", "2", "--templates", "0,1", "--batch-tokens", "64", "--save-tokens"]
    command = ["score", "--model", str(model), *asked, "--relations", "capital,continent,month,opposite", "--out"]
    main([*command, str(alone), "--quiet"])
    driver.write_text(IMPATIENT + PROCESS.replace("gate.touch()", LOST))
    environment = {
        "MASTER_ADDR": machines[0].address,
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
        "GATE": str(tmp_path / "gate"),
        "OMP_NUM_THREADS": "1",
    }
    processes = [
        subprocess.Popen(
            [*machine.start, sys.executable, str(driver), *command, str(out)],
            env=os.environ | environment | {"RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, machine in enumerate(machines)
    ]
    said = [process.communicate(timeout=90)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, -9], said
    assert f'"host": "{machines[0].host}"' in said[1]
    assert "a process of the run was lost; scoring its groups" in said[0]
    assert not (out / OWNER_NAME).exists()
    run = open_run(out)
    assert len(run.pieces) == len(run.manifest.pieces)
    # A piece that the lost machine finished is kept; what it cost was never recorded.
    assert len(run.pieces) - 1 <= run.progress.pieces <= len(run.pieces)
    assert exports_of(out) == exports_of(alone)
