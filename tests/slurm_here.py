"""A Slurm cluster of this machine's own programs in a temporary folder: munged, slurmctld and one or two slurmd."""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

_PROGRAMS = {
    name: shutil.which(name, path=f"{os.defpath}:/usr/sbin:/sbin") for name in ("munged", "slurmctld", "slurmd")
}

_CGROUPS = Path("/sys/fs/cgroup")
# Memory above a job's is denied by the kernel where Slurm 22.05 can have that without systemd, else ended by looks.
_HAS_MEMORY_GROUPS = (_CGROUPS / "memory").is_dir() and os.access(_CGROUPS / "memory", os.W_OK)
CONFIG = """
ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin={task}
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
{over}
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdTimeout=10
KillWait=10
MaxArraySize=4
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(slots=True)
class SlurmHere:
    """The cluster, and the programs that run it."""

    folder: Path
    nodes: dict[str, int]  # with their ports
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *words: str, wrapped: Sequence[str] = ()) -> None:
        """Start a program in the foreground; `wrapped` goes before it."""
        program = _PROGRAMS["slurmd" if name in self.nodes else name]
        with (self.folder / f"{name}.out").open("ab") as said:
            self.running[name] = subprocess.Popen(
                [*wrapped, str(program), *words], stdout=said, stderr=said, start_new_session=True
            )

    def start_node(self, name: str, wrapped: Sequence[str] = ()) -> None:
        """Start a node's slurmd."""
        self.start(name, "-D", "-N", name, wrapped=wrapped)

    def kill(self, name: str) -> None:
        """Kill a program, as a machine that is lost: at once."""
        self.running[name].kill()
        self.running.pop(name).wait()

    def lose(self, node: str, job: str) -> None:
        """Kill a node's slurmd, and all of the job that it runs before any of that can say so."""
        self.kill(node)
        steps = [each for each in psutil.process_iter() if f"slurmstepd: [{job}." in " ".join(_words_of(each))]
        lost = [*steps, *(child for step in steps for child in step.children(recursive=True))]
        for process in lost:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def asked(self, *command: str) -> str:
        """What a command of Slurm answers; empty where it fails."""
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    def wait_for(self, states: int) -> None:
        """Wait until so many nodes are ready."""
        until = time.monotonic() + 60
        while self.asked("sinfo", "--noheader", "--Node", "--format=%t").split().count("idle") < states:
            if time.monotonic() > until:
                said = "\n".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.out"))
                raise TimeoutError(f"no {states} nodes: {said}")
            time.sleep(0.2)

    def end(self) -> None:
        """End all jobs and programs."""
        if "slurmctld" in self.running:
            self.asked("scancel", "--quiet", f"--user={getpass.getuser()}")
            until = time.monotonic() + 20
            while self.asked("squeue", "--noheader") and time.monotonic() < until:
                time.sleep(0.2)
        for name in (*self.nodes, "slurmctld", "munged"):
            if name in self.running:
                self.running[name].terminate()
                with suppress(subprocess.TimeoutExpired):
                    self.running[name].wait(10)
                    continue
                self.kill(name)
        for left in _CGROUPS.glob("*/slurm_node[0-9]"):
            for group in (*sorted(left.rglob("*/"), reverse=True), left):
                with suppress(OSError):
                    group.rmdir()


@contextmanager
def slurm_here(folder: Path, monkeypatch: pytest.MonkeyPatch, nodes: int = 1) -> Iterator[SlurmHere]:
    """The cluster, ready; skips where the programs are missing or may not run."""
    if missing := [name for name, path in _PROGRAMS.items() if path is None]:
        pytest.skip(f"no {', '.join(missing)}")
    if os.getuid():
        pytest.skip("slurmd needs root")
    folder.mkdir(parents=True)
    named = {f"node{number}": _free_port() for number in range(nodes)}
    cores, host = os.cpu_count() or 1, socket.gethostname()
    lines = [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cores} RealMemory=8000"
        for name, port in named.items()
    ]
    config = CONFIG.format(
        host=host,
        port=_free_port(),
        user=getpass.getuser(),
        folder=folder,
        nodes="\n".join(lines),
        task="task/cgroup" if _HAS_MEMORY_GROUPS else "task/none",
        over="" if _HAS_MEMORY_GROUPS else "JobAcctGatherParams=OverMemoryKill",
    )
    (folder / "slurm.conf").write_text(config)
    cgroups = f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={_CGROUPS}\nConstrainRAMSpace=yes\nConstrainSwapSpace=yes\n"
    (folder / "cgroup.conf").write_text(cgroups)
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    cluster = SlurmHere(folder, named)
    try:
        places = {"key-file": key, "socket": folder / "munge.socket", "pid-file": folder / "munge.pid"}
        places |= {"log-file": folder / "munge.log", "seed-file": folder / "munge.seed"}
        cluster.start("munged", "--foreground", "--force", *(f"--{name}={path}" for name, path in places.items()))
        while not (folder / "munge.socket").exists() and cluster.running["munged"].poll() is None:
            time.sleep(0.05)
        cluster.start("slurmctld", "-D")
        for name in named:
            cluster.start_node(name)
        cluster.wait_for(nodes)
        yield cluster
    finally:
        cluster.end()


def _words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
