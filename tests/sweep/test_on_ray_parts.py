"""What a sweep on Ray is made of, without Ray: needs of jobs, run folders in pieces, the tether of a job's process."""

from __future__ import annotations

import importlib.util
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sweep_script import planned

from calprobe.errors import CalprobeError
from calprobe.runs.lock import SweepStart
from calprobe.sweep import Attempt, OnRayCluster, tether
from calprobe.sweep.job_record import log_path
from calprobe.sweep.on_ray import OnRay, ray_engine, sent_folders
from calprobe.sweep.on_ray.driver import Driver, _Job
from calprobe.sweep.on_ray.needs import Needs, Node, misfits_of, needs_of, places
from calprobe.sweep.on_ray.task import Order, _own_folder

GIB = 2**30
SMALL, LARGE = Node("a", 2, 0, 4 * GIB), Node("b", 64, 0, 256 * GIB)
CARDS = Node("c", 32, 4, 128 * GIB, 80 * GIB)


def needs(size: int = GIB, nodes: tuple[Node, ...] = (SMALL, LARGE), cpus: int | None = None, **options: Any) -> Needs:
    job = planned("a", Path("out"), size=size, **{name.replace("_", "-"): value for name, value in options.items()})
    return needs_of(job, nodes, cpus)


def test_a_job_takes_cores_and_the_memory_of_its_model() -> None:
    assert needs() == Needs(2, 0, GIB)
    assert needs(nodes=(LARGE,)) == Needs(8, 0, GIB)
    assert needs(cpus=5) == Needs(5, 0, GIB)
    assert needs(nodes=(Node("head", 0, 0, GIB), LARGE)).cpus == 8
    assert (places((SMALL, LARGE)), places((SMALL, LARGE), 16), places((SMALL, CARDS))) == (33, 4, 4)


def test_a_job_takes_one_gpu_or_as_many_as_its_model_fills() -> None:
    nodes = (SMALL, CARDS)
    assert needs(40 * GIB, nodes) == Needs(8, 1, 8 * GIB)
    assert needs(GIB, nodes).bytes == GIB
    assert needs(nodes=nodes, device="cpu") == needs(nodes=nodes, base_url="http://x/v1") == Needs(2, 0, GIB)
    assert [needs(size * GIB, nodes, device_map="auto").gpus for size in (60, 130, 200)] == [1, 3, 4]
    assert needs(130 * GIB, (Node("d", 32, 8, GIB),), device_map="auto").gpus == 8  # no one knows its cards
    assert needs(nodes=nodes, tensor_parallel=2, pipeline_parallel=2).gpus == 4


def test_a_job_that_fits_nowhere_is_named_with_what_there_is() -> None:
    jobs = [planned("small", Path("out")), planned("large", Path("out"), size=99 * GIB)]
    (found,) = misfits_of(jobs, [needs(), needs(99 * GIB, (SMALL,))], [SMALL, SMALL])
    assert (found.job.name, found.why) == (
        "m/large",
        "needs 2 cores and 99.0 GiB of memory, and no node of the Ray cluster has them: 2 x 2 cores, 0 GPUs, 4.0 GiB",
    )
    assert Needs(8, 2, GIB).shown == "8 cores, 2 GPUs and 1.0 GiB of memory"


def next_given(waiting: list[Needs], given: list[Needs], running: int, at_once: int | None = None) -> int | None:
    """What Ray is given next on a node of 8 GPUs and sixty of one, where the first of `given` run."""
    jobs = [_Job(None, its) for its in (*waiting, *given)]  # type: ignore[arg-type]
    for job in jobs[len(waiting) : len(waiting) + running]:
        job.runs = True
    driver = Driver(None, jobs[: len(waiting)], at_once, [], dict(enumerate(jobs[len(waiting) :])))
    driver.nodes = [Node("large", 64, 8, 99 * GIB), *(60 * [Node("small", 8, 1, 9 * GIB)])]
    return driver._next()


def test_large_jobs_that_wait_hold_up_no_small_ones() -> None:
    large, small = Needs(8, 8, GIB), Needs(8, 1, GIB)
    assert next_given([large, small], 17 * [large], running=1) == 1
    assert next_given([large, small], 16 * [large], running=1) == 0
    assert next_given([large, large], 17 * [large], running=1) is None
    assert next_given([large, small], 76 * [small] + [large], running=60) == 0
    # A bound on all: what waits would take a place of what could run.
    assert next_given([large, small], [large], running=1, at_once=20) == 1
    assert next_given([small], 19 * [small], running=0, at_once=20) == 0
    assert next_given([small], 20 * [small], running=20, at_once=20) is None
    assert Needs(2, 0, 3 * GIB).times_on(SMALL) == 1


def test_a_job_that_never_begins_has_none_of_the_words_of_an_earlier_call(tmp_path: Path) -> None:
    job = planned("a", tmp_path)
    path = log_path(tmp_path, job.job)
    path.parent.mkdir()
    path.write_text("calprobe: the error of an earlier call\n")
    heard = queue.SimpleQueue[dict[str, Any]]()
    for message in (
        {"started": job.job.name},
        {"ended": job.job.name, "exit_code": 1, "seconds": 0.0, "why": "no node is left"},
        {"over": True},
    ):
        heard.put(message)
    line: Any = SimpleNamespace(heard=heard, tell=lambda what: None, close=lambda: None)
    attempts: list[Attempt] = []
    OnRay("x", (SMALL,), line).run([job], tmp_path, lambda job: None, lambda job, attempt: attempts.append(attempt))
    assert [attempt.said for attempt in attempts] == ["no node is left"]


def test_a_node_s_own_folder_is_no_other_user_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    order = Order("m/a", SweepStart("s", 1), "m", ("a",), *("out", "log", "token", "."), {}, has_earlier=False)
    made = _own_folder(order)
    assert made == _own_folder(order)
    assert [path.stat().st_mode & 0o777 for path in (made, made.parent)] == [0o700, 0o700]
    made.parent.chmod(0o777)
    with pytest.raises(CalprobeError, match="is no folder that only this user can write to; remove it, or"):
        _own_folder(order)
    shutil.rmtree(made.parent)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    made.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CalprobeError, match="is no folder"):
        _own_folder(order)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_folder_travels_in_pieces(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "inner").mkdir(parents=True)
    contents = {"manifest.json": b"{}", "inner/a": os.urandom(1000), "inner/empty": b"", "z": os.urandom(7)}
    for name, content in contents.items():
        (run / name).write_bytes(content)
    for left in (".lock", ".owner", ".z.1-ab.tmp"):
        (run / left).write_text("stays")
    files = sent_folders.files_of(run)
    for most in (1, 7, 333, 5000):
        place = tmp_path / str(most) / "run"
        with sent_folders.arriving(place) as new:
            for piece in sent_folders.pieces_of(files, most):
                assert sum(size for _, _, size in piece) <= most
                sent_folders.write_piece(new, piece, sent_folders.read_piece(str(run), piece))
            assert not place.exists()
        assert {name: (place / name).read_bytes() for name, _ in sent_folders.files_of(place)} == contents
        assert [path.name for path in place.parent.iterdir()] == ["run"]
    (run / "z").write_bytes(b"less")
    with pytest.raises(OSError, match="z became shorter"):
        sent_folders.read_piece(str(run), [("z", 0, 7)])


def test_what_has_not_arrived_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "run"
    place.mkdir()
    (place / "a").write_text("before")
    coming = sent_folders.arriving(place)
    (coming.__enter__() / "a").write_text("half")
    with pytest.raises(OSError, match="lost"):
        coming.gen.throw(OSError("lost"))
    assert (place / "a").read_text() == "before"
    # Killed after the former folder was moved aside, before the new one took its place.
    place.rename(tmp_path / ".run.former")
    (tmp_path / ".run.arriving").mkdir()
    sent_folders.settle(place)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    with sent_folders.arriving(place) as new:
        (new / "b").write_text("after")
    assert [(path.name, path.read_text()) for path in place.iterdir()] == [("b", "after")]


WAITS = """
import sys, time
try:
    print("there", sys.argv[1:], sys.stdin.read(), flush=True); time.sleep(60)
except KeyboardInterrupt:
    print("kept", flush=True)
    if sys.argv[1] == "stays": time.sleep(60)
    sys.exit(130)
"""


@pytest.mark.parametrize("stays", [False, True])
def test_a_process_ends_with_the_one_that_holds_its_tether(tmp_path: Path, stays: bool) -> None:
    """Also where the signal is blocked, as in all that Ray starts; what does not end is ended."""
    (tmp_path / "waits.py").write_text(WAITS)
    source = Path(tether.__file__).read_text(encoding="utf-8").replace("GRACE_S = 30", "GRACE_S = 0.2")
    (tmp_path / "tether.py").write_text(source)
    words = [sys.executable, "-P", str(tmp_path / "tether.py"), "waits", "stays" if stays else "ends"]
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline().split() == [b"there", f"['{words[-1]}']".encode()]
    began = time.monotonic()
    process.stdin.close()
    assert process.wait(10) == 130
    assert process.stdout.read() == b"kept\n"
    assert time.monotonic() - began < 5
    process.stdout.close()


@pytest.mark.parametrize(("place", "why"), [("a..b:6379", "that is no address"), ("[::1]:1", "")])
def test_an_address_that_nothing_is_at_is_an_error_in_a_line(place: str, why: str) -> None:
    with pytest.raises(CalprobeError, match=f"^no Ray cluster at {re.escape(place)}: {why}") as said:
        ray_engine._refuse_closed(place)
    assert "Name or service" not in str(said.value)  # of the brackets


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(ray_engine, "find_spec", lambda name: None if name == "ray" else find(name))
    with pytest.raises(CalprobeError, match=r"--on ray needs the package ray: pip install 'calprobe\[ray\]'"):
        OnRayCluster().engine()
