"""A sweep on real Ray clusters of several simulated nodes: jobs, failures, lost nodes, other storage, Ctrl-C."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import sweep_script
from sweep_script import planned

from calprobe.errors import CalprobeError
from calprobe.interrupts import Interrupted
from calprobe.sweep import Attempt, Planned
from calprobe.sweep.job_record import log_path
from calprobe.sweep.on_ray import OnRay, connected

pytest.importorskip("ray")
pytestmark = pytest.mark.proof  # a cluster takes seconds to start

Events = list[tuple[str, str, int]]


class Cluster:
    """Nodes of one core each, as processes of this machine."""

    def __init__(self) -> None:
        self.nodes: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def start(self, *before: str, head: bool = False, cpus: int = 1, port: int = 0) -> subprocess.Popen[bytes]:
        """Start a node; `before` stands before its command."""
        where = ("--head", f"--port={port}", "--include-dashboard=false") if head else (f"--address={self.address}",)
        words = [sys.executable, "-P", "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats", *where]
        process = subprocess.Popen(
            [*before, *words, f"--num-cpus={cpus}", "--object-store-memory=80000000"],
            stdout=(said := tempfile.TemporaryFile()),  # noqa: SIM115 - the node's, for as long as it lives
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.nodes.append(process)
        # Nodes that start together on one machine take each other's ports.
        end = time.monotonic() + 60
        while b"Ray runtime started" not in os.pread(said.fileno(), 1_000_000, 0):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        return process

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """All processes of a node at once, as if its machine had lost power; the jobs on it stay."""
        inside = [psutil.Process(node.pid), *psutil.Process(node.pid).children(recursive=True)]
        jobs = {process.pid for process in inside if "tether.py" in _words(process)}
        for process in inside:
            if process.pid not in jobs:
                with suppress(psutil.Error):
                    process.kill()
        node.wait()
        self.nodes.remove(node)


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # a zombie has none
        return ""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster with a head without cores, and two nodes."""
    # The clock of a cluster that has lost a node.
    monkeypatch.setenv("RAY_health_check_initial_delay_ms", "1000")
    monkeypatch.setenv("RAY_health_check_period_ms", "500")
    monkeypatch.setenv("RAY_health_check_failure_threshold", "3")
    monkeypatch.setenv("PYTHONPATH", str(sweep_script.FOLDER))
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = Cluster()
    found.address = f"127.0.0.1:{port}"
    found.start(head=True, cpus=0, port=port)
    try:
        yield found
    finally:
        for node in list(found.nodes):
            found.kill(node)


def reached(address: str, nodes: int, **options: Any) -> OnRay:
    """The engine, once so many nodes with cores are there."""
    end = time.monotonic() + 60
    while True:
        try:
            engine = connected(address, **options)
            if sum(node.cpus > 0 for node in engine.nodes) >= nodes:
                return OnRay(engine.address, engine.nodes, engine.line, engine.jobs, engine.cpus, module="sweep_script")
            engine.line.close()
        except CalprobeError:
            pass
        assert time.monotonic() < end
        time.sleep(0.5)


def run(engine: OnRay, jobs: list[Planned], out: Path) -> tuple[Events, dict[str, Attempt]]:
    events: Events = []
    attempts: dict[str, Attempt] = {}

    def ended(job: Any, attempt: Attempt) -> None:
        events.append(("ends", job.name, attempt.exit_code))
        attempts[job.name] = attempt

    engine.run(jobs, out, lambda job: events.append(("begins", job.name, 0)), ended)
    return events, attempts


def meanwhile(condition: Callable[[], bool], then: Callable[[], object]) -> threading.Thread:
    """Do something as soon as the condition holds."""

    def wait() -> None:
        end = time.monotonic() + 60
        while not condition() and time.monotonic() < end:
            time.sleep(0.05)
        then()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


# Says that it is there and which start it is; waits until told to go; leaves a result.
WAITS = """
import os, signal, sys, time
def end(*_): print("kept", flush=True); (OUT / "kept").write_text("1"); sys.exit(130)
signal.signal(signal.SIGINT, end)
OUT.mkdir(parents=True, exist_ok=True); (OUT / f"start{START}").write_text(str(os.getpid()))
while not os.path.exists(GO): time.sleep(.02)
(OUT / "result").write_text("done")
"""


def waits(go: Path) -> str:
    return f"GO = {str(go)!r}\n{WAITS}"


def test_jobs_on_a_cluster_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(sweep_script.FOLDER))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    jobs = [
        planned("bad", tmp_path, "import sys; print('begins'); print('calprobe: why\\nfix'); sys.exit(3)", 4),
        planned("killed", tmp_path, "import os; os.kill(os.getpid(), 9)", 3),
        planned("good", tmp_path, "print('fine'); OUT.mkdir(parents=True); (OUT / 'a').write_text('1')", 2),
        planned("last", tmp_path, units=1),
    ]
    engine = reached("local", 1, jobs=1)
    events, attempts = run(engine, jobs, tmp_path)
    assert [name for what, name, _ in events if what == "begins"] == [each.job.name for each in jobs]
    assert {name: attempt.exit_code for name, attempt in attempts.items()} == {
        "m/bad": 3,
        "m/killed": -9,
        "m/good": 0,
        "m/last": 0,
    }
    assert attempts["m/bad"].said == "calprobe: why\nfix"
    assert attempts["m/good"].arguments == jobs[2].job.arguments
    assert log_path(tmp_path, jobs[2].job).read_text() == "fine\n"
    assert (tmp_path / "m/good/a").read_text() == "1"
    assert engine.line.process.returncode == 0
    assert capfd.readouterr() == ("", "")


def test_no_cluster_and_a_job_that_fits_on_no_node(tmp_path: Path, cluster: Cluster) -> None:
    with pytest.raises(CalprobeError, match=r"^no Ray cluster at 127.0.0.1:9: Connection refused\nStart one with `ray"):
        connected("127.0.0.1:9")
    cluster.start()
    engine = reached(cluster.address, 1)
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("RAY_AUTH_TOKEN", "0" * 64)
        with pytest.raises(CalprobeError, match="it wants its token: set RAY_AUTH_MODE=token"):
            connected(cluster.address)
    assert engine.at_once == 1
    (found,) = engine.misfits([planned("small", tmp_path), planned("large", tmp_path, size=10**15)])
    assert (found.job.name, found.why[:27]) == ("m/large", "needs 1 core and 931,322.6 ")
    engine.line.close()


def test_a_job_of_a_lost_node_begins_again_elsewhere(tmp_path: Path, cluster: Cluster) -> None:
    lost, _ = cluster.start(), cluster.start()
    engine = reached(cluster.address, 2)
    jobs = [planned(name, tmp_path, waits(tmp_path / "go")) for name in ("a", "b", "c")]

    def lose_one() -> None:
        cluster.kill(lost)
        (tmp_path / "go").touch()

    thread = meanwhile(lambda: len(list(tmp_path.glob("m/*/start*"))) == 2, lose_one)
    events, attempts = run(engine, jobs, tmp_path)
    thread.join()
    assert sorted((name, attempt.exit_code) for name, attempt in attempts.items()) == [
        *(("m/a", 0), ("m/b", 0), ("m/c", 0)),
    ]
    assert len(events) == 6
    starts = sorted(path.name for path in tmp_path.glob("m/*/start*"))
    assert starts == ["start1000", "start1000", "start1000", "start1001"]


def test_a_cluster_whose_head_is_lost(tmp_path: Path, cluster: Cluster) -> None:
    """The sweep says so; on the next cluster it does what is missing, when no process of the former is left."""
    head = cluster.nodes[0]
    cluster.start()
    engine = reached(cluster.address, 1)
    jobs = [planned(name, tmp_path, waits(tmp_path / "go")) for name in ("a", "b")]
    thread = meanwhile(lambda: bool(list(tmp_path.glob("m/*/start*"))), lambda: cluster.kill(head))
    with pytest.raises(CalprobeError, match=r"was lost.*, with 2 jobs left to do: "):
        run(engine, jobs, tmp_path)
    thread.join()
    for node in list(cluster.nodes):
        cluster.kill(node)
    port = int(cluster.address.split(":")[1])
    cluster.start(head=True, port=port)
    (tmp_path / "go").touch()
    _, attempts = run(reached(cluster.address, 1), jobs, tmp_path)
    assert [attempt.exit_code for attempt in attempts.values()] == [0, 0]
    pids = [int(path.read_text()) for path in tmp_path.glob("m/*/start1000")]
    assert pids
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_ctrl_c_lets_jobs_keep_what_they_have(tmp_path: Path, cluster: Cluster) -> None:
    cluster.start(cpus=2)
    jobs = [planned(name, tmp_path, waits(tmp_path / "never")) for name in ("a", "b", "c")]
    engine = reached(cluster.address, 1, cpus=1)
    events: Events = []
    thread = meanwhile(
        lambda: sum(what == "begins" for what, _, _ in events) == 2 and len(list(tmp_path.glob("m/*/start*"))) == 2,
        lambda: os.kill(os.getpid(), signal.SIGINT),
    )
    with pytest.raises(Interrupted, match="interrupted; 3 jobs left to do"):
        engine.run(
            *(jobs, tmp_path),
            lambda job: events.append(("begins", job.name, 0)),
            lambda job, attempt: events.append(("ends", job.name, attempt.exit_code)),
        )
    thread.join()
    begun = sorted(name for what, name, _ in events if what == "begins")  # any two: Ray keeps no order
    assert len(set(begun)) == 2
    assert sorted((name, code) for what, name, code in events if what == "ends") == [(name, 130) for name in begun]
    assert len(list(tmp_path.glob("m/*/kept"))) == 2


# A sweep in a process of its own, which can be killed.
SWEEP = "import sys, runpy; runpy.run_path(sys.argv[1])['sweep_one'](*sys.argv[2:])"


def sweep_one(address: str, folder: str) -> None:
    """One job that waits."""
    out = Path(folder)
    run(reached(address, 1), [planned("a", out, waits(out / "go"))], out)


def test_a_sweep_that_is_killed_leaves_nothing_that_writes(tmp_path: Path, cluster: Cluster) -> None:
    cluster.start()
    reached(cluster.address, 1).line.close()
    sweep = subprocess.Popen([sys.executable, "-c", SWEEP, __file__, cluster.address, str(tmp_path)])
    started = meanwhile(lambda: (tmp_path / "m/a/start1000").exists(), sweep.kill)
    started.join()
    sweep.wait()
    (tmp_path / "m/a/kept").unlink(missing_ok=True)
    engine = reached(cluster.address, 1)
    thread = meanwhile(lambda: (tmp_path / "m/a/start2000").exists(), (tmp_path / "go").touch)
    _, attempts = run(engine, [planned("a", tmp_path, waits(tmp_path / "go"))], tmp_path)
    thread.join()
    assert attempts["m/a"].exit_code == 0
    assert (tmp_path / "m/a/kept").exists()  # the former was interrupted, and has kept what it had
    former = int((tmp_path / "m/a/start1000").read_text())
    assert not Path(f"/proc/{former}").exists()


GROWS = """
import os
OUT.mkdir(parents=True, exist_ok=True)
(OUT / "seen").write_text(" ".join(sorted(p.name for p in OUT.iterdir())))
(OUT / "large").write_bytes(bytes(40_000_000)); (OUT / "in").mkdir(exist_ok=True); (OUT / "in" / "b").write_text("b")
print("on other storage" if not os.path.exists(SEEN) else "on the same", flush=True)
if "a" in OUT.parts[-1:] and START < 2000: raise SystemExit(7)
"""


def test_runs_come_home_from_nodes_with_other_storage(tmp_path: Path, cluster: Cluster) -> None:
    """The node does not see the sweep's folder: another file system lies over it there."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces of mounts here")
    out = tmp_path / "out"
    out.mkdir()
    (out / "here").touch()
    cluster.start("unshare", "-m", "sh", "-c", f'mount -t tmpfs none {out} && exec "$0" "$@"')
    script = f"SEEN = {str(out / 'here')!r}\n{GROWS}"
    job = planned("run", out, script)
    engine = reached(cluster.address, 1)
    _, attempts = run(engine, [job], out)
    assert attempts["m/run"].exit_code == 0
    assert log_path(out, job.job).read_text() == "on other storage\n"
    assert (out / "m/run/seen").read_text() == ""
    assert (out / "m/run/large").stat().st_size == 40_000_000
    assert (out / "m/run/in/b").read_text() == "b"
    # What is there is sent along, and comes back with what was added; nothing is left on the node.
    (out / "m/run/mine").write_text("mine")
    _, attempts = run(reached(cluster.address, 1), [job], out)
    assert (out / "m/run/seen").read_text().split() == ["in", "large", "mine", "seen"]
    assert (out / "m/run/mine").read_text() == "mine"
    identity = json.loads((out / ".on-ray/sweep.json").read_text())
    assert identity["calls"] == 2
    assert sorted(path.name for path in (out / "m").iterdir()) == ["run"]


def test_a_full_disk_fails_the_job_alone(tmp_path: Path, cluster: Cluster) -> None:
    out = tmp_path / "out"
    out.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(out)], check=False).returncode:
        pytest.skip("no small file system can be mounted here")
    try:
        cluster.start("unshare", "-m", "sh", "-c", f'umount {out} && exec "$0" "$@"')
        fill = "OUT.mkdir(parents=True); (OUT / 'a').write_bytes(bytes({0}))"
        jobs = [planned("large", out, fill.format(9_000_000), 2), planned("small", out, fill.format(1000))]
        _, attempts = run(reached(cluster.address, 1), jobs, out)
        assert {name: attempt.exit_code for name, attempt in attempts.items()} == {"m/large": 1, "m/small": 0}
        assert "No space left on device; make room" in attempts["m/large"].said
        assert [path.name for path in (out / "m").iterdir()] == ["small"]
    finally:
        subprocess.run(["umount", "-l", str(out)], check=True)
